import torch
import torch.nn as nn
import torch.nn.functional as F

N = 8
C_IN = 512
C_OUT = 512
H = 32
W = 32


class Model(nn.Module):
    """1x1 convolution with bias followed by SiLU, fp16 NCHW."""

    def __init__(self, c_in, c_out):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(c_out, c_in) / c_in ** 0.5).half())
        self.bias = nn.Parameter((torch.randn(c_out) * 0.1).half())

    def forward(self, x):
        return F.silu(F.conv2d(x, self.weight[:, :, None, None], self.bias))


def get_inputs():
    return [torch.randn(N, C_IN, H, W).half()]


def get_init_inputs():
    return [C_IN, C_OUT]
