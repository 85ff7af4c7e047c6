import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 8192
INNER = 8192


class Model(nn.Module):
    """SwiGLU on a packed [gate | up] projection."""

    def forward(self, packed):
        gate, up = packed.chunk(2, dim=-1)
        return F.silu(gate) * up


def get_inputs():
    return [torch.randn(TOKENS, 2 * INNER, dtype=torch.float16)]


def get_init_inputs():
    return []
