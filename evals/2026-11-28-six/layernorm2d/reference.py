import torch
import torch.nn as nn

N = 8
C = 96
H = 56
W = 56


class Model(nn.Module):
    """ConvNeXt-style LayerNorm over the channels of an NCHW tensor."""

    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(channels) * 0.1)
        self.eps = 1e-6

    def forward(self, x):
        u = x.mean(1, keepdim=True)
        s = (x - u).pow(2).mean(1, keepdim=True)
        x = (x - u) / torch.sqrt(s + self.eps)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


def get_inputs():
    return [torch.randn(N, C, H, W)]


def get_init_inputs():
    return [C]
