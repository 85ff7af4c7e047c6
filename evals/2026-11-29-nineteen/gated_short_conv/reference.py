import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 1
SEQ = 2048
CHANNELS = 2048
TAPS = 4


class Model(nn.Module):
    """Causal depthwise convolution of a Mamba-like block, SiLU, then the SiLU gate."""

    def __init__(self, channels, taps):
        super().__init__()
        self.weight = nn.Parameter((torch.randn(channels, taps) * 0.4).half())
        self.bias = nn.Parameter((torch.randn(channels) * 0.1).half())

    def forward(self, x, gate):
        # x, gate: [B, L, C]
        taps = self.weight.shape[1]
        xt = F.pad(x.transpose(1, 2), (taps - 1, 0))
        y = F.conv1d(xt, self.weight[:, None, :], self.bias, groups=x.shape[2])
        y = y.transpose(1, 2)
        return (F.silu(y) * F.silu(gate)).contiguous()


def get_inputs():
    x = torch.randn(BATCH, SEQ, CHANNELS, dtype=torch.float16)
    gate = torch.randn(BATCH, SEQ, CHANNELS, dtype=torch.float16)
    return [x, gate]


def get_init_inputs():
    return [CHANNELS, TAPS]
