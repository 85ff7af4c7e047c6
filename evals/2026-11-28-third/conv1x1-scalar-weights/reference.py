import torch
import torch.nn as nn
import torch.nn.functional as F

N = 8
C_IN = 256
C_OUT = 256
H = 56
W = 56


class Model(nn.Module):
    """Pointwise (1x1) convolution with a bias, fp16 NCHW."""

    def forward(self, x, weight, bias):
        return F.conv2d(x, weight, bias)


def get_inputs():
    x = torch.randn(N, C_IN, H, W).half()
    weight = (torch.randn(C_OUT, C_IN, 1, 1) * 0.06).half()
    return [x, weight, torch.randn(C_OUT).half()]


def get_init_inputs():
    return []
