import torch
import torch.nn as nn

N = 64
C = 256
H = 64
W = 64
EPS = 1e-6


class Model(nn.Module):
    """LayerNorm over the channels of an NCHW tensor (ConvNeXt style)."""

    def __init__(self, channels, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels) * 0.1 + 1.0)
        self.bias = nn.Parameter(torch.randn(channels) * 0.1)
        self.eps = eps

    def forward(self, x):
        u = x.mean(1, keepdim=True)
        s = (x - u).pow(2).mean(1, keepdim=True)
        x = (x - u) / torch.sqrt(s + self.eps)
        return self.weight[None, :, None, None] * x + self.bias[None, :, None, None]


def get_inputs():
    return [torch.randn(N, C, H, W)]


def get_init_inputs():
    return [C, EPS]
