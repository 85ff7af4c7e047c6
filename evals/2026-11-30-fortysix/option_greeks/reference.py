import math
import torch
import torch.nn as nn

N = 16000000  # contracts
RATE = 0.03


class Model(nn.Module):
    """Black-Scholes price, delta and vega of a book of European options."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, spot, strike, tenor, vol, is_call):
        sqrt_t = torch.sqrt(tenor)
        d1 = (torch.log(spot / strike) + (self.rate + 0.5 * vol * vol) * tenor) / (vol * sqrt_t)
        d2 = d1 - vol * sqrt_t
        disc = torch.exp(-self.rate * tenor)
        nd1 = 0.5 * (1.0 + torch.erf(d1 / math.sqrt(2.0)))
        nd2 = 0.5 * (1.0 + torch.erf(d2 / math.sqrt(2.0)))
        call = spot * nd1 - strike * disc * nd2
        put = call - spot + strike * disc
        flag = is_call != 0
        price = torch.where(flag, call, put)
        delta = torch.where(flag, nd1, nd1 - 1.0)
        vega = spot * sqrt_t * torch.exp(-0.5 * d1 * d1) / math.sqrt(2.0 * math.pi)
        return price, delta, vega


def get_inputs():
    spot = torch.rand(N) * 100 + 50
    strike = spot * (torch.rand(N) * 0.6 + 0.7)
    tenor = torch.rand(N) * 2 + 0.05
    vol = torch.rand(N) * 0.4 + 0.1
    is_call = torch.randint(0, 2, (N,), dtype=torch.int8)
    return [spot, strike, tenor, vol, is_call]


def get_init_inputs():
    return [RATE]
