"""GARCH(1,1) negative log-likelihood of many return series at once, and the one-step-ahead variance forecast.

Returns are stored time-major, one column per instrument. Double precision, because the optimiser that sits on top
takes finite differences of the likelihood.
"""
import torch
import torch.nn as nn

N_STEPS = 1000
N_SERIES = 16384


class Model(nn.Module):
    def __init__(self, n_series):
        super().__init__()
        g = torch.Generator().manual_seed(7)
        self.omega = nn.Parameter(0.02 + 0.08 * torch.rand(n_series, generator=g, dtype=torch.float64))
        self.alpha = nn.Parameter(0.03 + 0.09 * torch.rand(n_series, generator=g, dtype=torch.float64))
        self.beta = nn.Parameter(0.70 + 0.15 * torch.rand(n_series, generator=g, dtype=torch.float64))

    def forward(self, returns):
        var = self.omega / (1.0 - self.alpha - self.beta)
        nll = torch.zeros_like(var)
        for t in range(returns.shape[0]):
            r2 = returns[t] * returns[t]
            nll = nll + 0.5 * (torch.log(var) + r2 / var)
            var = self.omega + self.alpha * r2 + self.beta * var
        return nll, var


def get_inputs():
    return [torch.randn(N_STEPS, N_SERIES, dtype=torch.float64)]


def get_init_inputs():
    return [N_SERIES]
