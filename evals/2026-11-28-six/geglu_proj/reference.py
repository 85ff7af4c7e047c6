import torch
import torch.nn as nn
import torch.nn.functional as F

TOKENS = 256
D_MODEL = 4096
D_FF = 4096


class Model(nn.Module):
    """GEGLU feed-forward input projection (fp16)."""

    def __init__(self):
        super().__init__()

    def forward(self, x, weight):
        gate, up = F.linear(x, weight).chunk(2, dim=-1)
        return F.gelu(gate) * up


def get_inputs():
    x = torch.randn(TOKENS, D_MODEL).half()
    weight = (torch.randn(2 * D_FF, D_MODEL) * D_MODEL ** -0.5).half()
    return [x, weight]


def get_init_inputs():
    return []
