"""One lattice Boltzmann step (D2Q9, BGK, periodic box): pull-stream, then collide."""
import torch
import torch.nn as nn

NY = 4096
NX = 4096
TAU = 0.8

CX = (0, 1, 0, -1, 0, 1, -1, -1, 1)
CY = (0, 0, 1, 0, -1, 1, 1, -1, -1)
W = (4 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 9, 1 / 36, 1 / 36, 1 / 36, 1 / 36)


class Model(nn.Module):
    def __init__(self, tau):
        super().__init__()
        self.omega = 1.0 / tau

    def forward(self, f):
        g = [f[k].roll((CY[k], CX[k]), (0, 1)) for k in range(9)]
        rho = sum(g)
        ux = sum(CX[k] * g[k] for k in range(9)) / rho
        uy = sum(CY[k] * g[k] for k in range(9)) / rho
        usq = 1.5 * (ux * ux + uy * uy)
        out = torch.empty_like(f)
        for k in range(9):
            cu = 3.0 * (CX[k] * ux + CY[k] * uy)
            feq = W[k] * rho * (1.0 + cu + 0.5 * cu * cu - usq)
            out[k] = g[k] + self.omega * (feq - g[k])
        return out


def get_inputs():
    w = torch.tensor(W).view(9, 1, 1)
    return [w * (1.0 + 0.1 * torch.rand(9, NY, NX))]


def get_init_inputs():
    return [TAU]
