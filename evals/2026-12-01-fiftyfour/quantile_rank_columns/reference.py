import torch
import torch.nn as nn

N = 131072
C = 39
Q = 63


class Model(nn.Module):
    """Columnar table: each numeric column to its quantile rank in [0, 1], by the column's own borders."""

    def __init__(self, columns, q):
        super().__init__()
        self.q = q
        self.register_buffer("borders", torch.sort(torch.randn(columns, q), dim=1).values)

    def forward(self, x):
        return torch.searchsorted(self.borders, x).to(torch.float32) / self.q


def get_inputs():
    return [torch.randn(C, N)]


def get_init_inputs():
    return [C, Q]
