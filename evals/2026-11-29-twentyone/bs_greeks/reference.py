"""Black-Scholes price and Greeks of a book of European calls."""
import math
import torch
import torch.nn as nn

N = 1048576
RATE = 0.03


def ncdf(x):
    return 0.5 * (1.0 + torch.erf(x * (1.0 / math.sqrt(2.0))))


class Model(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, spot, strike, tenor, vol):
        root = torch.sqrt(tenor)
        sd = vol * root
        d1 = (torch.log(spot / strike) + (self.rate + 0.5 * vol * vol) * tenor) / sd
        d2 = d1 - sd
        disc = strike * torch.exp(-self.rate * tenor)
        pdf = torch.exp(-0.5 * d1 * d1) * (1.0 / math.sqrt(2.0 * math.pi))
        delta, n2 = ncdf(d1), ncdf(d2)
        price = spot * delta - disc * n2
        gamma = pdf / (spot * sd)
        vega = spot * pdf * root
        theta = -0.5 * spot * pdf * vol / root - self.rate * disc * n2
        return price, delta, gamma, vega, theta


def get_inputs():
    spot = 80.0 + 40.0 * torch.rand(N)
    strike = 80.0 + 40.0 * torch.rand(N)
    tenor = 0.1 + 1.9 * torch.rand(N)
    vol = 0.1 + 0.5 * torch.rand(N)
    return [spot, strike, tenor, vol]


def get_init_inputs():
    return [RATE]
