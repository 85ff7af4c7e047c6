import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 8192
HIDDEN = 8192
INTER = 14336


class Model(nn.Module):
    """Joint gate and up projection of a feed-forward block followed by SwiGLU."""

    def __init__(self, hidden, inter):
        super().__init__()
        self.gate_up = nn.Linear(hidden, 2 * inter, bias=False, dtype=torch.float16)

    def forward(self, x):
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        return F.silu(gate) * up


def get_inputs():
    return [torch.randn(TOKENS, HIDDEN).half()]


def get_init_inputs():
    return [HIDDEN, INTER]
