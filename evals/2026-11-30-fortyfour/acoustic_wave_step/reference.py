"""One leapfrog step of the 2-D acoustic wave equation in double precision, with a sponge at the border."""
import torch
import torch.nn as nn
import torch.nn.functional as F

N = 8192
DT = 0.4
SPONGE = 20


class Model(nn.Module):
    def __init__(self, n, dt, sponge):
        super().__init__()
        self.dt = dt
        k = torch.arange(n, dtype=torch.float64)
        depth = torch.clamp(sponge - torch.minimum(k, n - 1 - k), min=0.0)
        self.register_buffer("taper", torch.exp(-(0.015 * depth) ** 2))

    def forward(self, u, u_prev, speed):
        p = F.pad(u, (1, 1, 1, 1))
        lap = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4.0 * u
        courant = speed * self.dt
        nxt = 2.0 * u - u_prev + courant * courant * lap
        return nxt * self.taper[:, None] * self.taper[None, :]


def get_inputs():
    u = torch.randn(N, N, dtype=torch.float64)
    u_prev = torch.randn(N, N, dtype=torch.float64)
    speed = 0.5 + torch.rand(N, N, dtype=torch.float64)
    return [u, u_prev, speed]


def get_init_inputs():
    return [N, DT, SPONGE]
