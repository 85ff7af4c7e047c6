import torch
import torch.nn as nn

H = 512
W = 512
TAU = 0.8

VEL = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
WGT = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4


class Model(nn.Module):
    """One BGK collide-and-stream step of a periodic D2Q9 lattice Boltzmann fluid."""

    def __init__(self, tau):
        super().__init__()
        self.tau = tau
        self.register_buffer("vel", torch.tensor(VEL, dtype=torch.float32))
        self.register_buffer("wgt", torch.tensor(WGT, dtype=torch.float32))

    def forward(self, f):
        cx = self.vel[:, 0].view(9, 1, 1)
        cy = self.vel[:, 1].view(9, 1, 1)
        rho = f.sum(0)
        ux = (f * cx).sum(0) / rho
        uy = (f * cy).sum(0) / rho
        cu = 3.0 * (cx * ux + cy * uy)
        feq = self.wgt.view(9, 1, 1) * rho * (1.0 + cu + 0.5 * cu * cu - 1.5 * (ux * ux + uy * uy))
        post = f + (feq - f) / self.tau
        return torch.stack([torch.roll(post[q], shifts=(VEL[q][1], VEL[q][0]), dims=(0, 1)) for q in range(9)])


def get_inputs():
    w = torch.tensor(WGT).view(9, 1, 1)
    return [w * (1.0 + 0.3 * torch.rand(9, H, W))]


def get_init_inputs():
    return [TAU]
