import torch
import torch.nn as nn

N = 64
C = 256
H = 64
W = 64
EPS = 1e-6


class Model(nn.Module):
    """Channels-first LayerNorm (ConvNeXt / SAM LayerNorm2d)."""

    def __init__(self, num_channels, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(num_channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(num_channels) * 0.1)
        self.eps = eps

    def forward(self, x):
        xf = x.float()
        u = xf.mean(1, keepdim=True)
        s = (xf - u).pow(2).mean(1, keepdim=True)
        y = (xf - u) / torch.sqrt(s + self.eps)
        y = self.weight[:, None, None] * y + self.bias[:, None, None]
        return y.to(x.dtype)


def get_inputs():
    return [torch.randn(N, C, H, W).half()]


def get_init_inputs():
    return [C, EPS]
