"""One D2Q9 lattice-Boltzmann step (periodic box, BGK collision, full-way bounce-back on solid cells)."""
import torch
import torch.nn as nn

H = 4096
W = 4096
OMEGA = 1.7

CX = [0, 1, 0, -1, 0, 1, -1, -1, 1]
CY = [0, 0, 1, 0, -1, 1, 1, -1, -1]
OPP = [0, 3, 4, 1, 2, 7, 8, 5, 6]
WT = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4


class Model(nn.Module):
    def __init__(self, omega):
        super().__init__()
        self.omega = omega

    def forward(self, f, solid):
        g = [torch.roll(f[i], shifts=(CY[i], CX[i]), dims=(0, 1)) for i in range(9)]
        rho = sum(g)
        ux = (g[1] + g[5] + g[8] - g[3] - g[6] - g[7]) / rho
        uy = (g[2] + g[5] + g[6] - g[4] - g[7] - g[8]) / rho
        usq = 1.5 * (ux * ux + uy * uy)
        wall = solid != 0
        out = []
        for i in range(9):
            cu = 3.0 * (CX[i] * ux + CY[i] * uy)
            feq = WT[i] * rho * (1.0 + cu + 0.5 * cu * cu - usq)
            out.append(torch.where(wall, g[OPP[i]], g[i] + self.omega * (feq - g[i])))
        return torch.stack(out)


def get_inputs():
    w = torch.tensor(WT).view(9, 1, 1)
    f = w * (1.0 + 0.1 * torch.rand(9, H, W))
    solid = (torch.rand(H, W) < 0.05).to(torch.int8)
    return [f, solid]


def get_init_inputs():
    return [OMEGA]
