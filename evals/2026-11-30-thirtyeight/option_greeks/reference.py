"""Black-Scholes call prices and greeks for a book of options, single precision in and out."""
import math
import torch
import torch.nn as nn

N = 67108864
RATE = 0.03


class Model(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, spot, strike, tau, vol):
        sq = torch.sqrt(tau)
        d1 = (torch.log(spot / strike) + (self.rate + 0.5 * vol * vol) * tau) / (vol * sq)
        d2 = d1 - vol * sq
        cdf1 = 0.5 * (1.0 + torch.erf(d1 / math.sqrt(2.0)))
        cdf2 = 0.5 * (1.0 + torch.erf(d2 / math.sqrt(2.0)))
        pdf1 = torch.exp(-0.5 * d1 * d1) / math.sqrt(2.0 * math.pi)
        price = spot * cdf1 - strike * torch.exp(-self.rate * tau) * cdf2
        return price, cdf1, pdf1 / (spot * vol * sq), spot * pdf1 * sq


def get_inputs():
    spot = 80.0 + 40.0 * torch.rand(N)
    strike = 70.0 + 60.0 * torch.rand(N)
    tau = 0.1 + 1.9 * torch.rand(N)
    vol = 0.1 + 0.4 * torch.rand(N)
    return [spot, strike, tau, vol]


def get_init_inputs():
    return [RATE]
