import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
LENGTH = 4096
CHANNELS = 2048
KERNEL = 4


class Model(nn.Module):
    """Causal depthwise short convolution + SiLU over channels-last sequences (Mamba / linear-attention blocks)."""

    def __init__(self, channels, kernel_size):
        super().__init__()
        self.channels = channels
        self.kernel_size = kernel_size
        self.weight = nn.Parameter(torch.randn(channels, kernel_size) * 0.5)
        self.bias = nn.Parameter(torch.randn(channels) * 0.1)

    def forward(self, x):
        h = F.pad(x.transpose(1, 2), (self.kernel_size - 1, 0))
        h = F.conv1d(h, self.weight[:, None, :], self.bias, groups=self.channels)
        return F.silu(h).transpose(1, 2).contiguous()


def get_inputs():
    return [torch.randn(BATCH, LENGTH, CHANNELS)]


def get_init_inputs():
    return [CHANNELS, KERNEL]
