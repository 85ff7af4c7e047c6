import torch
import torch.nn as nn
import torch.nn.functional as F

D_MODEL = 4096
D_FF = 14336


class Model(nn.Module):
    """First half of a gated MLP for a single decoded token."""

    def __init__(self, d_model, d_ff):
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False).half()
        self.up = nn.Linear(d_model, d_ff, bias=False).half()

    def forward(self, x):
        return F.silu(self.gate(x)) * self.up(x)


def get_inputs():
    return [torch.randn(1, D_MODEL).half()]


def get_init_inputs():
    return [D_MODEL, D_FF]
