import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 8
SEQ = 4096
CHANNELS = 4096


class Model(nn.Module):
    """Causal depthwise convolution of width 4 with SiLU, as in front of a state-space layer; channels last."""

    def __init__(self, channels):
        super().__init__()
        # tap-major: (4, channels)
        self.weight = nn.Parameter(torch.randn(4, channels) * 0.5, requires_grad=False)
        self.bias = nn.Parameter(torch.randn(channels) * 0.1, requires_grad=False)

    def forward(self, x):
        T = x.shape[1]
        xp = F.pad(x, (0, 0, 3, 0))
        y = self.bias + sum(xp[:, i:i + T] * self.weight[i] for i in range(4))
        return F.silu(y)


def get_inputs():
    return [torch.randn(BATCH, SEQ, CHANNELS)]


def get_init_inputs():
    return [CHANNELS]
