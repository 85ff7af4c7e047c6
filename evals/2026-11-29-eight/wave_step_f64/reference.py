import torch
import torch.nn as nn
import torch.nn.functional as F

NY = 5120
NX = 5120
COURANT = 0.45


class Model(nn.Module):
    """Leapfrog step of the 2-D acoustic wave equation, zero boundary, double precision."""

    def __init__(self, courant):
        super().__init__()
        self.courant = courant

    def forward(self, u, u_prev, vel):
        p = F.pad(u, (1, 1, 1, 1))
        lap = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4.0 * u
        return 2.0 * u - u_prev + (self.courant * vel) ** 2 * lap


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    u = torch.randn(NY, NX, device=dev, dtype=torch.float64)
    u_prev = torch.randn(NY, NX, device=dev, dtype=torch.float64)
    vel = torch.rand(NY, NX, device=dev, dtype=torch.float64) + 0.5
    return [u, u_prev, vel]


def get_init_inputs():
    return [COURANT]
