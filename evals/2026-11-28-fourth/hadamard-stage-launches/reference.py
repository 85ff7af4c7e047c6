import math

import torch
import torch.nn as nn

ROWS = 16384
DIM = 1024


class Model(nn.Module):
    """Orthonormal Walsh-Hadamard transform of each row after a random sign flip, as rotations before quantisation do it."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim
        self.register_buffer("signs", (torch.randint(0, 2, (dim,)) * 2 - 1).float())

    def forward(self, x):
        y = x * self.signs
        half = 1
        while half < self.dim:
            y = y.view(-1, self.dim // (2 * half), 2, half)
            top, bottom = y[:, :, 0], y[:, :, 1]
            y = torch.stack((top + bottom, top - bottom), dim=2)
            half *= 2
        return y.view(x.shape) / math.sqrt(self.dim)


def get_inputs():
    return [torch.randn(ROWS, DIM)]


def get_init_inputs():
    return [DIM]
