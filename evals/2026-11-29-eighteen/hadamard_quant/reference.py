import math
import torch
import torch.nn as nn

BATCH = 8
HEADS = 8
SEQ = 8192
HEAD_DIM = 64


def sylvester(d):
    h = torch.ones(1, 1)
    while h.shape[0] < d:
        h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)], 0)
    return h


class Model(nn.Module):
    """Rotate each head vector with a Hadamard matrix, then quantise it to int8 with one scale per vector."""

    def __init__(self, head_dim: int):
        super().__init__()
        self.register_buffer("had", sylvester(head_dim).half())
        self.norm = 1.0 / math.sqrt(head_dim)

    def forward(self, x):
        y = torch.matmul(x.float(), self.had.float()) * self.norm
        scale = y.abs().amax(dim=-1).clamp(min=1e-6) / 127.0
        q = torch.round(y / scale[..., None]).clamp(-127, 127).to(torch.int8)
        return q, scale


def get_inputs():
    return [torch.randn(BATCH, HEADS, SEQ, HEAD_DIM).half()]


def get_init_inputs():
    return [HEAD_DIM]
