import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
LENGTH = 4096
CHANNELS = 2048
TAPS = 4


class Model(nn.Module):
    """Short causal convolution of every channel over time, then SiLU, on activations of shape (batch, length, channels)."""

    def forward(self, x, weight, bias):
        taps = weight.shape[1]
        padded = F.pad(x.transpose(1, 2), (taps - 1, 0))
        y = F.conv1d(padded, weight[:, None, :], bias, groups=weight.shape[0])
        return F.silu(y).transpose(1, 2)


def get_inputs():
    x = torch.randn(BATCH, LENGTH, CHANNELS).to(torch.bfloat16)
    weight = (torch.randn(CHANNELS, TAPS) * 0.5).to(torch.bfloat16)
    bias = (torch.randn(CHANNELS) * 0.1).to(torch.bfloat16)
    return [x, weight, bias]


def get_init_inputs():
    return []
