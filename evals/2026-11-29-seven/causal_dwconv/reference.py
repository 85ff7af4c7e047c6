import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 4
SEQ = 2048
DIM = 1024
TAPS = 4


class Model(nn.Module):
    """Causal depthwise convolution over a (batch, time, channel) sequence, followed by SiLU."""

    def __init__(self, dim, taps):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim, taps) * 0.3)
        self.bias = nn.Parameter(torch.randn(dim) * 0.1)

    def forward(self, x):
        taps = self.weight.shape[1]
        seq = x.shape[1]
        padded = F.pad(x.float(), (0, 0, taps - 1, 0))
        acc = self.bias.view(1, 1, -1)
        for k in range(taps):
            acc = acc + padded[:, k:k + seq] * self.weight[:, k]
        return F.silu(acc).to(x.dtype)


def get_inputs():
    return [torch.randn(BATCH, SEQ, DIM).half()]


def get_init_inputs():
    return [DIM, TAPS]
