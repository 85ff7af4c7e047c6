"""GroupNorm + SiLU of the residual blocks of a latent diffusion UNet / VAE, NCHW half precision."""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1
CHANNELS = 128
GROUPS = 32
HEIGHT = 512
WIDTH = 512


class Model(nn.Module):
    def __init__(self, groups, channels, eps=1e-5):
        super().__init__()
        self.groups, self.eps = groups, eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(channels))
        self.bias = nn.Parameter(0.1 * torch.randn(channels))

    def forward(self, x):
        y = F.group_norm(x.float(), self.groups, self.weight, self.bias, self.eps)
        return F.silu(y).to(x.dtype)


def get_inputs():
    return [(torch.randn(BATCH, CHANNELS, HEIGHT, WIDTH) * 1.5 + 0.25).half()]


def get_init_inputs():
    return [GROUPS, CHANNELS]
