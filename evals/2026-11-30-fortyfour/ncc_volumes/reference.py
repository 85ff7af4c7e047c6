"""Normalised cross-correlation of 8-bit volumes, one score per pair (rigid registration metric)."""
import torch
import torch.nn as nn

PAIRS = 4
D = 128
H = 256
W = 256


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, fixed, moving):
        f = fixed.flatten(1).double()
        m = moving.flatten(1).double()
        f = f - f.mean(dim=1, keepdim=True)
        m = m - m.mean(dim=1, keepdim=True)
        ncc = (f * m).sum(1) / torch.sqrt((f * f).sum(1) * (m * m).sum(1) + 1e-6)
        return ncc.float()


def get_inputs():
    fixed = torch.randint(0, 200, (PAIRS, D, H, W), dtype=torch.uint8)
    noise = torch.randint(0, 56, (PAIRS, D, H, W), dtype=torch.uint8)
    return [fixed, fixed // 2 + noise]


def get_init_inputs():
    return []
