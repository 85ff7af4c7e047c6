import torch
import torch.nn as nn

N = 32
C = 256
H = 56
W = 56
EPS = 1e-6


class Model(nn.Module):
    """ConvNeXt style LayerNorm over the channels of an NCHW map."""

    def __init__(self, channels, eps):
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(channels))
        self.bias = nn.Parameter(0.1 * torch.randn(channels))
        self.eps = eps

    def forward(self, x):
        mu = x.mean(1, keepdim=True)
        var = (x - mu).pow(2).mean(1, keepdim=True)
        x = (x - mu) / torch.sqrt(var + self.eps)
        return self.weight[:, None, None] * x + self.bias[:, None, None]


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    return [torch.randn(N, C, H, W, device=dev)]


def get_init_inputs():
    return [C, EPS]
