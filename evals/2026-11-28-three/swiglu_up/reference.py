import torch
import torch.nn as nn
import torch.nn.functional as F

ROWS = 8192
IN_DIM = 8192
HIDDEN = 8192


class Model(nn.Module):
    """Gated feed-forward input projection: silu(x W_g) * (x W_u) with one packed weight."""

    def __init__(self, in_dim, hidden):
        super().__init__()
        self.w_packed = nn.Parameter((torch.randn(2 * hidden, in_dim) / in_dim ** 0.5).half())

    def forward(self, x):
        gate, up = F.linear(x, self.w_packed).chunk(2, dim=-1)
        return F.silu(gate) * up


def get_inputs():
    return [torch.randn(ROWS, IN_DIM).half()]


def get_init_inputs():
    return [IN_DIM, HIDDEN]
