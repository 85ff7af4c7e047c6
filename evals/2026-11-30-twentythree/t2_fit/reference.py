"""Quantitative MRI: voxel-wise mono-exponential T2 fit of a multi-echo spin-echo series.

Weighted log-linear start, then a few Gauss-Newton steps on S = S0 * exp(-R2 * TE).
"""
import torch
import torch.nn as nn

VOXELS = 131072
ECHOES = 8
STEPS = 5


class Model(nn.Module):
    def __init__(self, echoes, steps, noise_floor):
        super().__init__()
        self.echoes, self.steps, self.noise_floor = echoes, steps, noise_floor
        self.register_buffer("te", 10.0 * torch.arange(1, echoes + 1, dtype=torch.float32))

    def forward(self, signal):                          # (echoes, voxels) float32
        te = self.te[:, None]
        s = signal.clamp(min=1.0)
        w = s * s
        y = s.log()
        sw, swt, swtt = w.sum(0), (w * te).sum(0), (w * te * te).sum(0)
        swy, swty = (w * y).sum(0), (w * te * y).sum(0)
        r2 = -(sw * swty - swt * swy) / (sw * swtt - swt * swt)
        r2 = r2.clamp(5e-4, 0.5)
        s0 = ((swy + r2 * swt) / sw).exp()
        for _ in range(self.steps):
            m = torch.exp(-r2 * te)
            tm = te * m
            res = signal - s0 * m
            a, b, d = (m * m).sum(0), -s0 * (m * tm).sum(0), s0 * s0 * (tm * tm).sum(0)
            g0, g1 = (m * res).sum(0), -s0 * (tm * res).sum(0)
            det = a * d - b * b
            s0 = (s0 + (d * g0 - b * g1) / det).clamp(1.0, 65535.0)
            r2 = (r2 + (a * g1 - b * g0) / det).clamp(5e-4, 0.5)
        tissue = signal[0] > self.noise_floor
        zero = torch.zeros_like(s0)
        return torch.where(tissue, s0, zero), torch.where(tissue, 1.0 / r2, zero)


def get_inputs():
    s0 = 400.0 + 1200.0 * torch.rand(VOXELS)
    t2 = 25.0 + 120.0 * torch.rand(VOXELS)
    te = 10.0 * torch.arange(1, ECHOES + 1, dtype=torch.float32)[:, None]
    clean = s0 * torch.exp(-te / t2) * (torch.rand(VOXELS) > 0.2)
    return [(clean + 4.0 * torch.randn(ECHOES, VOXELS)).abs()]


def get_init_inputs():
    return [ECHOES, STEPS, 60.0]
