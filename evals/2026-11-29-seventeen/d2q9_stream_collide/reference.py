import torch
import torch.nn as nn

NY = 1024
NX = 1024
OMEGA = 1.7

CX = [0, 1, 0, -1, 0, 1, -1, -1, 1]
CY = [0, 0, 1, 0, -1, 1, 1, -1, -1]
WEIGHTS = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4


class Model(nn.Module):
    """One D2Q9 lattice-Boltzmann step (pull streaming, BGK collision, periodic box)."""

    def __init__(self, omega):
        super().__init__()
        self.omega = omega

    def forward(self, f):
        # f: [9, NY, NX]
        f = torch.stack([torch.roll(f[i], (CY[i], CX[i]), dims=(0, 1)) for i in range(9)])
        rho = f.sum(0)
        ux = sum(CX[i] * f[i] for i in range(9) if CX[i] != 0) / rho
        uy = sum(CY[i] * f[i] for i in range(9) if CY[i] != 0) / rho
        usq = 1.5 * (ux * ux + uy * uy)
        out = torch.empty_like(f)
        for i in range(9):
            cu = 3.0 * (CX[i] * ux + CY[i] * uy)
            feq = WEIGHTS[i] * rho * (1.0 + cu + 0.5 * cu * cu - usq)
            out[i] = f[i] + self.omega * (feq - f[i])
        return out


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    w = torch.tensor(WEIGHTS, device=device).view(9, 1, 1)
    return [w * (1.0 + 0.2 * torch.rand(9, NY, NX, device=device))]


def get_init_inputs():
    return [OMEGA]
