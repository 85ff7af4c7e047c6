"""D2Q9 lattice Boltzmann (BGK) on a periodic domain with full-way bounce-back at solid cells."""
import torch
import torch.nn as nn

H = 2048
W = 2048
STEPS = 10

CX = [0, 1, 0, -1, 0, 1, -1, -1, 1]
CY = [0, 0, 1, 0, -1, 1, 1, -1, -1]
WT = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4
OPP = [0, 3, 4, 1, 2, 7, 8, 5, 6]


class Model(nn.Module):
    def __init__(self, steps, omega):
        super().__init__()
        self.steps = steps
        self.omega = omega

    def forward(self, f, solid):
        wall = solid.bool()
        for _ in range(self.steps):
            rho = f.sum(0)
            ux = (f[1] + f[5] + f[8] - f[3] - f[6] - f[7]) / rho
            uy = (f[2] + f[5] + f[6] - f[4] - f[7] - f[8]) / rho
            base = 1.0 - 1.5 * (ux * ux + uy * uy)
            new = []
            for i in range(9):
                cu = 3.0 * (CX[i] * ux + CY[i] * uy)
                feq = WT[i] * rho * (base + cu + 0.5 * cu * cu)
                post = torch.where(wall, f[OPP[i]], f[i] + self.omega * (feq - f[i]))
                new.append(torch.roll(post, (CY[i], CX[i]), (0, 1)))
            f = torch.stack(new)
        return f


def get_inputs():
    w = torch.tensor(WT).view(9, 1, 1)
    f = w * (1.0 + 0.1 * torch.rand(9, H, W))
    solid = (torch.rand(H, W) < 0.08).to(torch.int8)
    return [f, solid]


def get_init_inputs():
    return [STEPS, 1.2]
