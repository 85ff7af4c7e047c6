"""Ensemble of Brusselator reactors (chemical kinetics), classical RK4 with a fixed step, in double precision."""
import torch
import torch.nn as nn

N = 262144
STEPS = 200
DT = 0.01


class Model(nn.Module):
    def __init__(self, steps, dt):
        super().__init__()
        self.steps = steps
        self.dt = dt

    @staticmethod
    def rhs(x, y, a, b):
        r = x * x * y
        return a + r - (b + 1.0) * x, b * x - r

    def forward(self, x, y, a, b):
        h = self.dt
        dose = torch.zeros_like(x)
        for _ in range(self.steps):
            k1x, k1y = self.rhs(x, y, a, b)
            k2x, k2y = self.rhs(x + 0.5 * h * k1x, y + 0.5 * h * k1y, a, b)
            k3x, k3y = self.rhs(x + 0.5 * h * k2x, y + 0.5 * h * k2y, a, b)
            k4x, k4y = self.rhs(x + h * k3x, y + h * k3y, a, b)
            xn = x + h / 6.0 * (k1x + 2.0 * k2x + 2.0 * k3x + k4x)
            yn = y + h / 6.0 * (k1y + 2.0 * k2y + 2.0 * k3y + k4y)
            dose = dose + 0.5 * h * (x + xn)
            x, y = xn, yn
        return x, y, dose


def get_inputs():
    x = 1.0 + 0.2 * torch.randn(N, dtype=torch.float64)
    y = 2.0 + 0.2 * torch.randn(N, dtype=torch.float64)
    a = 0.8 + 0.4 * torch.rand(N, dtype=torch.float64)
    b = 1.5 + 1.5 * torch.rand(N, dtype=torch.float64)
    return [x, y, a, b]


def get_init_inputs():
    return [STEPS, DT]
