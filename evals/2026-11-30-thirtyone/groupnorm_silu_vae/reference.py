import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1
CHANNELS = 256
HEIGHT = 512
WIDTH = 512
GROUPS = 32
EPS = 1e-6


class Model(nn.Module):
    """GroupNorm + SiLU of a diffusion VAE's ResNet block."""

    def __init__(self, channels, groups, eps):
        super().__init__()
        self.groups = groups
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(channels))
        self.bias = nn.Parameter(0.1 * torch.randn(channels))

    def forward(self, x):
        y = F.group_norm(x.float(), self.groups, self.weight, self.bias, self.eps)
        return F.silu(y).to(x.dtype)


def get_inputs():
    return [(torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH) + 0.2).bfloat16()]


def get_init_inputs():
    return [CHANNELS, GROUPS, EPS]
