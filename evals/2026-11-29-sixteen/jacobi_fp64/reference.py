import torch
import torch.nn as nn

ROWS = 8192
COLS = 8192
H = 0.01


class Model(nn.Module):
    """One Jacobi sweep of the 2D Poisson problem with fixed boundary values."""

    def __init__(self, h):
        super().__init__()
        self.h = h

    def forward(self, u, f):
        out = u.clone()
        out[1:-1, 1:-1] = 0.25 * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - self.h * self.h * f[1:-1, 1:-1]
        )
        return out


def get_inputs():
    u = torch.rand(ROWS, COLS, dtype=torch.float64)
    f = torch.randn(ROWS, COLS, dtype=torch.float64)
    return [u, f]


def get_init_inputs():
    return [H]
