import torch
import torch.nn as nn

BATCH = 2
SEQ = 2048
HEADS = 32
HEAD_DIM = 64


class Model(nn.Module):
    """Per-head RMS norm of the queries (as in QK-norm attention)."""

    def __init__(self, head_dim):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(0.5, 1.5, head_dim).half())
        self.eps = 1e-6

    def forward(self, q):
        qf = q.float()
        inv = torch.rsqrt(qf.pow(2).mean(-1, keepdim=True) + self.eps)
        return (qf * inv * self.weight.float()).to(q.dtype)


def get_inputs():
    return [torch.randn(BATCH, SEQ, HEADS, HEAD_DIM).half()]


def get_init_inputs():
    return [HEAD_DIM]
