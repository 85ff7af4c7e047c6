"""Implied volatility of European options by Newton's method, and the vega at the solution."""
import math
import torch
import torch.nn as nn

N = 65536
ITERS = 8


def norm_cdf(x):
    return 0.5 * (1.0 + torch.erf(x * 0.7071067811865476))


class Model(nn.Module):
    def __init__(self, iters):
        super().__init__()
        self.iters = iters

    def forward(self, price, spot, strike, tau, rate, cp):
        sign = cp.float()
        df = torch.exp(-rate * tau)
        sq = torch.sqrt(tau)
        lm = torch.log(spot / strike) + rate * tau
        vol = torch.clamp(torch.sqrt(2.0 * lm.abs() / tau), min=0.3)
        vega = torch.zeros_like(vol)
        for _ in range(self.iters):
            sd = vol * sq
            d1 = lm / sd + 0.5 * sd
            d2 = d1 - sd
            model = sign * (spot * norm_cdf(sign * d1) - strike * df * norm_cdf(sign * d2))
            vega = spot * sq * torch.exp(-0.5 * d1 * d1) * 0.3989422804014327
            vol = vol - (model - price) / torch.clamp(vega, min=1e-4)
            vol = torch.clamp(vol, 0.01, 4.0)
        return vol, vega


def get_inputs():
    u = torch.rand(5, N, dtype=torch.float64)
    spot = 80.0 + 40.0 * u[0]
    strike = spot * (0.85 + 0.3 * u[1])
    tau = 0.25 + 1.75 * u[2]
    rate = 0.01 + 0.04 * u[3]
    vol = 0.15 + 0.45 * u[4]
    cp = (torch.randint(0, 2, (N,)) * 2 - 1).to(torch.int8)
    sign = cp.double()
    sd = vol * tau.sqrt()
    d1 = (torch.log(spot / strike) + rate * tau) / sd + 0.5 * sd
    d2 = d1 - sd
    price = sign * (spot * norm_cdf(sign * d1) - strike * torch.exp(-rate * tau) * norm_cdf(sign * d2))
    return [price.float(), spot.float(), strike.float(), tau.float(), rate.float(), cp]


def get_init_inputs():
    return [ITERS]
