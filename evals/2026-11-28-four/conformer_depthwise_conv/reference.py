import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 32
FRAMES = 2048
CHANNELS = 1024
TAPS = 15


class Model(nn.Module):
    """Depthwise convolution over time plus SiLU of a Conformer block, activations as (batch, frames, channels)."""

    def __init__(self, channels, taps):
        super().__init__()
        self.conv = nn.Conv1d(channels, channels, taps, padding=taps // 2, groups=channels).half()

    def forward(self, x):
        y = self.conv(x.transpose(1, 2))
        return F.silu(y).transpose(1, 2).contiguous()


def get_inputs():
    return [torch.randn(BATCH, FRAMES, CHANNELS).half()]


def get_init_inputs():
    return [CHANNELS, TAPS]
