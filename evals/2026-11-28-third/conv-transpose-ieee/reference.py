import torch
import torch.nn as nn
import torch.nn.functional as F

N = 8
C_IN = 256
C_OUT = 128
SIDE = 64


class Model(nn.Module):
    """Transposed convolution 2x2 with stride 2 (no overlaps), fp32 NCHW."""

    def forward(self, x, weight):
        return F.conv_transpose2d(x, weight, stride=2)


def get_inputs():
    return [torch.randn(N, C_IN, SIDE, SIDE), torch.randn(C_IN, C_OUT, 2, 2) * 0.06]


def get_init_inputs():
    return []
