"""Warm-cloud saturation adjustment: condense or evaporate until the air is just saturated (Newton on temperature)."""
import torch
import torch.nn as nn

NLEV = 60
NY = 128
NX = 128
ITERS = 6

LV_CP = 2.501e6 / 1004.64
EPS = 0.622


def qsat(t, p):
    es = 611.2 * torch.exp(17.67 * (t - 273.15) / (t - 29.65))
    den = p - (1.0 - EPS) * es
    qs = EPS * es / den
    dqs = qs * (p / den) * (17.67 * 243.5) / ((t - 29.65) * (t - 29.65))
    return qs, dqs


class Model(nn.Module):
    def __init__(self, iters):
        super().__init__()
        self.iters = iters

    def forward(self, temp, qv, qc, pres):
        qt = qv + qc
        tl_ = temp - LV_CP * qc
        qs, _ = qsat(tl_, pres)
        saturated = qt > qs
        t = tl_
        for _ in range(self.iters):
            qs, dqs = qsat(t, pres)
            f = t - tl_ - LV_CP * (qt - qs)
            t = t - f / (1.0 + LV_CP * dqs)
        qs, _ = qsat(t, pres)
        t_out = torch.where(saturated, t, tl_)
        qv_out = torch.where(saturated, qs, qt)
        qc_out = torch.where(saturated, torch.clamp(qt - qs, min=0.0), torch.zeros_like(qt))
        return t_out, qv_out, qc_out


def get_inputs():
    sigma = torch.linspace(0.3, 1.0, NLEV).view(NLEV, 1, 1)
    pres = (1.0e5 * sigma * (1.0 + 0.01 * torch.randn(NLEV, NY, NX))).contiguous()
    temp = (295.0 * sigma ** 0.19 + 2.0 * torch.randn(NLEV, NY, NX)).contiguous()
    qs, _ = qsat(temp, pres)
    qv = qs * (0.6 + 0.6 * torch.rand(NLEV, NY, NX))
    qc = 1.0e-3 * torch.relu(torch.randn(NLEV, NY, NX))
    return [temp, qv, qc, pres]


def get_init_inputs():
    return [ITERS]
