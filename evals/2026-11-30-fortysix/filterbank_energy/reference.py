import torch
import torch.nn as nn
import torch.nn.functional as F

B = 16        # signals
T = 65536     # samples of a signal
C = 64        # band-pass filters
K = 128       # taps


class Model(nn.Module):
    """Learned FIR filter bank followed by log-compressed band energy."""

    def __init__(self, channels, taps):
        super().__init__()
        self.filters = nn.Parameter((torch.randn(channels, taps) / taps ** 0.5).half())

    def forward(self, x):
        w = self.filters.float().unsqueeze(1)
        y = F.conv1d(x.float().unsqueeze(1), w)
        return torch.log(1.0 + y * y).half()


def get_inputs():
    return [torch.randn(B, T).half()]


def get_init_inputs():
    return [C, K]
