"""Daily P&L of a portfolio and of its benchmark over a scenario history, in double precision (risk reporting)."""
import torch
import torch.nn as nn

SCENARIOS = 262144
ASSETS = 512


class Model(nn.Module):
    def __init__(self, assets):
        super().__init__()
        w = torch.rand(assets, dtype=torch.float64)
        v = torch.rand(assets, dtype=torch.float64)
        self.port = nn.Parameter(w / w.sum())
        self.bench = nn.Parameter(v / v.sum())

    def forward(self, returns):
        # returns: [SCENARIOS, ASSETS] double
        pnl = returns @ self.port
        base = returns @ self.bench
        return pnl, pnl - base


def get_inputs():
    return [0.02 * torch.randn(SCENARIOS, ASSETS, dtype=torch.float64)]


def get_init_inputs():
    return [ASSETS]
