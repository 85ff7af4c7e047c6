"""Cubic B-spline prefilter along the last axis (mirror boundary), first step of spline interpolation in image registration."""
import torch
import torch.nn as nn

SLICES = 16
H = 1024
W = 1024


class Model(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        # samples = (1/6, 4/6, 1/6) * coefficients, mirrored at both ends: invert that band matrix
        w = x.shape[-1]
        i = torch.arange(w, device=x.device)
        m = torch.zeros(w, w, dtype=torch.float64, device=x.device)
        m[i, i] = 4.0 / 6.0
        m[i[:-1], i[1:]] = 1.0 / 6.0
        m[i[1:], i[:-1]] = 1.0 / 6.0
        m[0, 1] = 2.0 / 6.0
        m[w - 1, w - 2] = 2.0 / 6.0
        inv = torch.linalg.inv(m)
        return (x.double() @ inv.T).float()


def get_inputs():
    return [torch.rand(SLICES, H, W) * 2.0 - 0.5]


def get_init_inputs():
    return []
