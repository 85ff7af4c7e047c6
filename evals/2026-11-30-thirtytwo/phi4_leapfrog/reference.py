"""One symplectic step of the phi^4 field equation on a periodic square lattice, in double precision."""
import torch
import torch.nn as nn

H = 8192
W = 8192
DT = 0.05


class Model(nn.Module):
    def __init__(self, dt):
        super().__init__()
        self.dt = dt
        self.mass2 = nn.Parameter(torch.tensor([-0.2], dtype=torch.float64))
        self.coupling = nn.Parameter(torch.tensor([0.5], dtype=torch.float64))

    def forward(self, phi, pi):
        lap = (torch.roll(phi, 1, 0) + torch.roll(phi, -1, 0) + torch.roll(phi, 1, 1) + torch.roll(phi, -1, 1) - 4.0 * phi)
        force = lap - self.mass2 * phi - self.coupling * phi * phi * phi
        pi_new = pi + self.dt * force
        return phi + self.dt * pi_new, pi_new


def get_inputs():
    return [torch.randn(H, W, dtype=torch.float64), torch.randn(H, W, dtype=torch.float64)]


def get_init_inputs():
    return [DT]
