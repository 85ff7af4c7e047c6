import torch
import torch.nn as nn

B = 64
C = 192
HH = 56
WW = 56


class Model(nn.Module):
    """LayerNorm over the channels of an NCHW map (ConvNeXt's LayerNorm2d)."""

    def __init__(self, channels, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(channels))
        self.bias = nn.Parameter(0.1 * torch.randn(channels))
        self.eps = eps

    def forward(self, x):
        u = x.mean(1, keepdim=True)
        s = (x - u).pow(2).mean(1, keepdim=True)
        x = (x - u) / torch.sqrt(s + self.eps)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


def get_inputs():
    return [torch.randn(B, C, HH, WW) * 2.0 + 0.5]


def get_init_inputs():
    return [C]
