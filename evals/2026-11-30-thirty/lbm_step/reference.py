import torch
import torch.nn as nn

H = 512
W = 512
TAU = 0.6

EX = [0, 1, 0, -1, 0, 1, -1, -1, 1]
EY = [0, 0, 1, 0, -1, 1, 1, -1, -1]
WT = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4


class Model(nn.Module):
    """One D2Q9 lattice Boltzmann step (BGK collision, then streaming) on a periodic box. f: [9, H, W]."""

    def __init__(self, tau):
        super().__init__()
        self.omega = 1.0 / tau
        # constant body force that drives the flow, added to the momentum
        self.register_buffer("force", torch.tensor([1e-4, -5e-5], dtype=torch.float32))

    def forward(self, f):
        rho = f.sum(0)
        ux = (f[1] - f[3] + f[5] - f[6] - f[7] + f[8]) / rho + self.force[0]
        uy = (f[2] - f[4] + f[5] + f[6] - f[7] - f[8]) / rho + self.force[1]
        usq = 1.5 * (ux * ux + uy * uy)
        out = torch.empty_like(f)
        for i in range(9):
            cu = 3.0 * (EX[i] * ux + EY[i] * uy)
            feq = WT[i] * rho * (1.0 + cu + 0.5 * cu * cu - usq)
            post = f[i] + self.omega * (feq - f[i])
            out[i] = torch.roll(post, shifts=(EY[i], EX[i]), dims=(0, 1))
        return out


def get_inputs():
    w = torch.tensor(WT).view(9, 1, 1)
    return [(w * (1.0 + 0.2 * torch.rand(9, H, W))).float().contiguous()]


def get_init_inputs():
    return [TAU]
