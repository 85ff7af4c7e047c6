import torch
import torch.nn as nn

A = 32768     # assets
T = 2520      # trading days
HALFLIFE = 252.0


class Model(nn.Module):
    """Exponentially weighted regression of each asset's returns on the market: alpha, beta, residual deviation."""

    def __init__(self, days, halflife):
        super().__init__()
        age = torch.arange(days - 1, -1, -1, dtype=torch.float64)
        w = torch.pow(torch.tensor(0.5, dtype=torch.float64), age / halflife)
        self.register_buffer("weight", w / w.sum())

    def forward(self, returns, market):
        w = self.weight
        m_mean = (w * market).sum()
        m_var = (w * market * market).sum() - m_mean * m_mean
        r_mean = (returns * w).sum(dim=1)
        r_var = (returns * returns * w).sum(dim=1) - r_mean * r_mean
        cov = (returns * (w * market)).sum(dim=1) - r_mean * m_mean
        beta = cov / m_var
        alpha = r_mean - beta * m_mean
        resid = torch.sqrt(torch.clamp(r_var - beta * cov, min=0.0))
        return alpha, beta, resid


def get_inputs():
    market = torch.randn(T, dtype=torch.float64) * 0.01
    load = torch.rand(A, 1, dtype=torch.float64) + 0.5
    returns = load * market + torch.randn(A, T, dtype=torch.float64) * 0.02 + 0.001
    return [returns, market]


def get_init_inputs():
    return [T, HALFLIFE]
