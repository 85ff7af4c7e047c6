import math
import torch
import torch.nn as nn

TOKENS = 32768
Q_HEADS = 64
K_HEADS = 8
HEAD_DIM = 128
MAX_POSITION = 1048576


class Model(nn.Module):
    """Rotary embedding of q and k for contexts of up to a million tokens; the angle is reduced in float64."""

    def __init__(self, head_dim, theta=500000.0):
        super().__init__()
        exponent = torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim
        self.register_buffer("turns", theta ** -exponent / (2 * math.pi))

    def rotate(self, x, cos, sin):
        a, b = x.float().chunk(2, dim=-1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1).to(x.dtype)

    def forward(self, q, k, positions):
        phase = positions.double()[:, None] * self.turns[None, :]
        angle = (phase - phase.floor()).float() * (2 * math.pi)
        cos, sin = angle.cos()[:, None, :], angle.sin()[:, None, :]
        return self.rotate(q, cos, sin), self.rotate(k, cos, sin)


def get_inputs():
    q = torch.randn(TOKENS, Q_HEADS, HEAD_DIM).bfloat16()
    k = torch.randn(TOKENS, K_HEADS, HEAD_DIM).bfloat16()
    positions = torch.randint(0, MAX_POSITION, (TOKENS,))
    return [q, k, positions]


def get_init_inputs():
    return [HEAD_DIM]
