import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
SEQ = 4096
CHANNELS = 2048
WIDTH = 4


class Model(nn.Module):
    """Short causal depthwise convolution + SiLU as used in Mamba blocks, channels last."""

    def __init__(self, channels, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(channels, width) * 0.5)
        self.bias = nn.Parameter(torch.randn(channels) * 0.1)

    def forward(self, x):
        L = x.shape[1]
        width = self.weight.shape[1]
        xp = F.pad(x.float(), (0, 0, width - 1, 0))
        y = self.bias.expand_as(x).clone()
        for k in range(width):
            y = y + xp[:, k:k + L] * self.weight[:, k]
        return F.silu(y).to(x.dtype)


def get_inputs():
    return [torch.randn(BATCH, SEQ, CHANNELS).half()]


def get_init_inputs():
    return [CHANNELS, WIDTH]
