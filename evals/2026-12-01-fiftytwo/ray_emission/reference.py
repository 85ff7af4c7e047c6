import torch
import torch.nn as nn

R = 16384
S = 1024


class Model(nn.Module):
    """Emergent intensity and optical depth along R lines of sight cut into S cells of unequal length."""

    def __init__(self, kappa_scale):
        super().__init__()
        self.kappa_scale = kappa_scale

    def forward(self, kappa, emis, length):
        tau = torch.cumsum(kappa * length * self.kappa_scale, dim=1)
        intensity = (emis * length * torch.exp(-tau)).sum(1)
        return torch.stack([intensity, tau[:, -1]], dim=1)


def get_inputs():
    return [torch.rand(R, S), torch.rand(R, S), torch.rand(R, S) + 0.1]


def get_init_inputs():
    return [0.01]
