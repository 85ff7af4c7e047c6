import math
import torch
import torch.nn as nn

N = 2097152


class Model(nn.Module):
    """European call price and delta for a book of options."""

    def __init__(self, rate, vol):
        super().__init__()
        self.rate = rate
        self.vol = vol

    def forward(self, spot, strike, expiry):
        sq = self.vol * torch.sqrt(expiry)
        d1 = (torch.log(spot / strike) + (self.rate + 0.5 * self.vol ** 2) * expiry) / sq
        d2 = d1 - sq
        nd1 = 0.5 * (1.0 + torch.erf(d1 / math.sqrt(2.0)))
        nd2 = 0.5 * (1.0 + torch.erf(d2 / math.sqrt(2.0)))
        price = spot * nd1 - strike * torch.exp(-self.rate * expiry) * nd2
        return price, nd1


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    spot = torch.rand(N, device=device) * 100 + 50
    strike = torch.rand(N, device=device) * 100 + 50
    expiry = torch.rand(N, device=device) * 2 + 0.1
    return [spot, strike, expiry]


def get_init_inputs():
    return [0.03, 0.25]
