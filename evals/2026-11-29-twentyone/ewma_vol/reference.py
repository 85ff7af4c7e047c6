"""RiskMetrics-style EWMA volatility of many return series, in double precision."""
import torch
import torch.nn as nn

N_SERIES = 512
T = 2048
PERIODS = 252.0


class Model(nn.Module):
    """var_t = decay * var_{t-1} + (1 - decay) * r_t^2, var_0 = r_0^2; returns sqrt(periods * var)."""

    def __init__(self, n_series, periods):
        super().__init__()
        self.periods = periods
        self.register_buffer("decay", 0.90 + 0.09 * torch.rand(n_series, dtype=torch.float64))

    def forward(self, returns):
        sq = returns * returns
        var = torch.empty_like(sq)
        state = sq[:, 0].clone()
        var[:, 0] = state
        for t in range(1, returns.shape[1]):
            state = self.decay * state + (1.0 - self.decay) * sq[:, t]
            var[:, t] = state
        return torch.sqrt(self.periods * var)


def get_inputs():
    return [0.01 * torch.randn(N_SERIES, T, dtype=torch.float64)]


def get_init_inputs():
    return [N_SERIES, PERIODS]
