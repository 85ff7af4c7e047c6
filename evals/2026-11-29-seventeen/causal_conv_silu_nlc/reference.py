import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1
SEQ = 4096
CHANNELS = 4096
WIDTH = 4


class Model(nn.Module):
    """Short causal depthwise convolution with SiLU, as in Mamba / gated-delta blocks."""

    def __init__(self, channels, width):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width, channels) * width ** -0.5)
        self.bias = nn.Parameter(torch.randn(channels) * 0.1)

    def forward(self, x):
        # x: [B, T, C]; one filter of `width` taps per channel
        w = self.weight.shape[0]
        y = F.pad(x.transpose(1, 2).float(), (w - 1, 0))
        y = F.conv1d(y, self.weight.t()[:, None, :].contiguous(), self.bias, groups=self.weight.shape[1])
        return F.silu(y).transpose(1, 2).contiguous().to(x.dtype)


def get_inputs():
    return [torch.randn(BATCH, SEQ, CHANNELS, dtype=torch.float16)]


def get_init_inputs():
    return [CHANNELS, WIDTH]
