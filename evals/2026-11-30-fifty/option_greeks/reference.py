import math

import torch
import torch.nn as nn

N_OPTIONS = 16777216


class Model(nn.Module):
    """Black-Scholes-Merton call price, delta and vega for a flat curve."""

    def __init__(self, rate, dividend):
        super().__init__()
        self.register_buffer("rate", torch.tensor(rate, dtype=torch.float64))
        self.register_buffer("dividend", torch.tensor(dividend, dtype=torch.float64))

    def forward(self, spot, strike, vol, expiry):
        sqrt_t = torch.sqrt(expiry)
        vol_t = vol * sqrt_t
        d1 = (torch.log(spot / strike) + (self.rate - self.dividend + 0.5 * vol * vol) * expiry) / vol_t
        d2 = d1 - vol_t
        disc = torch.exp(-self.rate * expiry)
        growth = torch.exp(-self.dividend * expiry)
        cdf1 = 0.5 * (1.0 + torch.erf(d1 / math.sqrt(2.0)))
        cdf2 = 0.5 * (1.0 + torch.erf(d2 / math.sqrt(2.0)))
        pdf1 = torch.exp(-0.5 * d1 * d1) / math.sqrt(2.0 * math.pi)
        price = spot * growth * cdf1 - strike * disc * cdf2
        delta = growth * cdf1
        vega = spot * growth * pdf1 * sqrt_t
        return price, delta, vega


def get_inputs():
    spot = 50.0 + 100.0 * torch.rand(N_OPTIONS)
    strike = spot * (0.7 + 0.6 * torch.rand(N_OPTIONS))
    vol = 0.1 + 0.5 * torch.rand(N_OPTIONS)
    expiry = 0.05 + 2.0 * torch.rand(N_OPTIONS)
    return [spot, strike, vol, expiry]


def get_init_inputs():
    return [0.035, 0.012]
