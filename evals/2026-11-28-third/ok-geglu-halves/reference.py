import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 8192
INNER = 5120


class Model(nn.Module):
    """GEGLU: the first half times GELU (tanh) of the second; fp16."""

    def forward(self, x):
        value, gate = x.chunk(2, dim=-1)
        return value * F.gelu(gate, approximate="tanh")


def get_inputs():
    return [torch.randn(TOKENS, 2 * INNER).half()]


def get_init_inputs():
    return []
