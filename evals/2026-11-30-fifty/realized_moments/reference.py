import torch
import torch.nn as nn

ASSETS = 512
DAYS = 64
TICKS = 1951


class Model(nn.Module):
    """Realised variance, downside semivariance and quarticity per asset and day from float64 log prices."""

    def __init__(self):
        super().__init__()

    def forward(self, log_price):
        r = log_price[..., 1:] - log_price[..., :-1]
        r2 = r * r
        n = r.shape[-1]
        rv = r2.sum(-1)
        down = torch.where(r < 0, r2, torch.zeros_like(r2)).sum(-1)
        rq = (r2 * r2).sum(-1) * (n / 3.0)
        return rv, down, rq


def get_inputs():
    steps = torch.randn(ASSETS, DAYS, TICKS, dtype=torch.float64) * 2e-4
    return [4.0 + steps.cumsum(-1)]


def get_init_inputs():
    return []
