"""One BAOA step of Langevin dynamics in a periodic box, float64 (long runs drift in float32)."""
import math
import torch
import torch.nn as nn

ATOMS = 100000
BOX = 80.0


class Model(nn.Module):
    def __init__(self, dt, gamma, kt, box):
        super().__init__()
        self.dt = dt
        self.c1 = math.exp(-gamma * dt)
        self.c2 = math.sqrt(kt * (1.0 - self.c1 * self.c1))
        self.box = box

    def forward(self, pos, vel, force, noise, inv_mass):
        im = inv_mass[:, None]
        v = vel + self.dt * force * im
        x = pos + 0.5 * self.dt * v
        v = self.c1 * v + self.c2 * torch.sqrt(im) * noise
        x = x + 0.5 * self.dt * v
        x = x - self.box * torch.floor(x / self.box)
        return x, v


def get_inputs():
    pos = torch.rand(ATOMS, 3, dtype=torch.float64) * BOX
    vel = torch.randn(ATOMS, 3, dtype=torch.float64)
    force = torch.randn(ATOMS, 3, dtype=torch.float64) * 20.0
    noise = torch.randn(ATOMS, 3, dtype=torch.float64)
    inv_mass = 1.0 / (1.0 + 15.0 * torch.rand(ATOMS, dtype=torch.float64))
    return [pos, vel, force, noise, inv_mass]


def get_init_inputs():
    return [0.01, 1.0, 0.6, BOX]
