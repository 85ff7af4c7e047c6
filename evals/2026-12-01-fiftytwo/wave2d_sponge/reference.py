import torch
import torch.nn as nn
import torch.nn.functional as nnf

NY = 3072
NX = 2560


class Model(nn.Module):
    """One leapfrog step of the 2-D acoustic wave equation with a velocity model and absorbing sponge."""

    def __init__(self, ny, nx, width):
        super().__init__()
        self.register_buffer("damp_y", self.profile(ny, width))
        self.register_buffer("damp_x", self.profile(nx, width))

    @staticmethod
    def profile(n, width):
        i = torch.arange(n, dtype=torch.float32)
        d = torch.clamp(width - torch.minimum(i, n - 1 - i), min=0.0)
        return torch.exp(-(0.015 * d) ** 2)

    def forward(self, u, prev, c2):
        p = nnf.pad(u, (1, 1, 1, 1))
        lap = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4.0 * u
        d = self.damp_y[:, None] * self.damp_x[None, :]
        return d * (2.0 * u - d * prev + c2 * lap)


def get_inputs():
    return [torch.randn(NY, NX), torch.randn(NY, NX), torch.rand(NY, NX) * 0.4]


def get_init_inputs():
    return [NY, NX, 40]
