"""Structure factors S(k) = sum_j q_j exp(-2 pi i h.r_j) of the reciprocal part of an Ewald sum."""
import math
import torch
import torch.nn as nn

NK = 8192
NP = 16384
HMAX = 12


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, pos, charge, hkl):
        # phases are large, so the reference works in double
        phase = -2.0 * math.pi * (hkl.double() @ pos.double().t())
        q = charge.double()
        re = torch.cos(phase) @ q
        im = torch.sin(phase) @ q
        return torch.stack([re, im], dim=1).float()


def get_inputs():
    pos = torch.rand(NP, 3)                       # fractional coordinates
    charge = torch.randn(NP)
    hkl = torch.randint(-HMAX, HMAX + 1, (NK, 3), dtype=torch.int32)
    return [pos, charge, hkl]


def get_init_inputs():
    return []
