import torch
import torch.nn as nn

PARTICLES = 4194304
SUBSTEPS = 3


class Model(nn.Module):
    """Velocity-Verlet steps of independent oscillators in an anharmonic trap, double precision state."""

    def __init__(self, dt: float, k: float, beta: float, substeps: int):
        super().__init__()
        self.dt, self.k, self.beta, self.substeps = dt, k, beta, substeps

    def force(self, x):
        return -self.k * x - self.beta * x * x * x

    def forward(self, pos, vel):
        acc = self.force(pos)
        for _ in range(self.substeps):
            half = vel + 0.5 * self.dt * acc
            pos = pos + self.dt * half
            acc = self.force(pos)
            vel = half + 0.5 * self.dt * acc
        return pos, vel


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pos = torch.randn(PARTICLES, device=device, dtype=torch.float64)
    vel = torch.randn(PARTICLES, device=device, dtype=torch.float64)
    return [pos, vel]


def get_init_inputs():
    return [0.01, 1.0, 0.25, SUBSTEPS]
