import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1
CHANNELS = 128
GROUPS = 32
HEIGHT = 128
WIDTH = 128


class Model(nn.Module):
    """GroupNorm followed by SiLU (diffusion U-Net / VAE block)."""

    def __init__(self, groups, channels):
        super().__init__()
        self.norm = nn.GroupNorm(groups, channels, eps=1e-6)

    def forward(self, x):
        return F.silu(self.norm(x))


def get_inputs():
    return [torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH)]


def get_init_inputs():
    return [GROUPS, CHANNELS]
