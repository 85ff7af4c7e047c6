import torch
import torch.nn as nn

BODIES = 1000000
MU = 1.0
DT = 0.001


class Model(nn.Module):
    """One symplectic Euler step of test particles around a central mass (double precision)."""

    def __init__(self, mu, dt):
        super().__init__()
        self.mu = mu
        self.dt = dt

    def forward(self, pos, vel):
        r2 = (pos * pos).sum(dim=0, keepdim=True)
        vel = vel - (self.dt * self.mu) * pos / (r2 * r2.sqrt())
        return pos + self.dt * vel, vel


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    pos = torch.randn(3, BODIES, device=dev, dtype=torch.float64)
    pos = pos + pos.sign()
    vel = torch.randn(3, BODIES, device=dev, dtype=torch.float64)
    return [pos, vel]


def get_init_inputs():
    return [MU, DT]
