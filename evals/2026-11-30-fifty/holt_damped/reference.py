import torch
import torch.nn as nn

STEPS = 336
SERIES = 16384


class Model(nn.Module):
    """Damped-trend exponential smoothing over a panel of series (time-major, NaN marks a missing observation)."""

    def __init__(self, n_series):
        super().__init__()
        self.alpha_logit = nn.Parameter(torch.randn(n_series) * 0.5)
        self.beta_logit = nn.Parameter(torch.randn(n_series) * 0.5 - 2.0)
        self.phi_logit = nn.Parameter(torch.randn(n_series) * 0.3 + 2.0)

    def forward(self, y):
        alpha = torch.sigmoid(self.alpha_logit)
        beta = torch.sigmoid(self.beta_logit)
        phi = torch.sigmoid(self.phi_logit)
        level = torch.zeros_like(y[0])
        trend = torch.zeros_like(y[0])
        fitted = []
        for t in range(y.shape[0]):
            damped = phi * trend
            pred = level + damped
            obs = torch.where(torch.isnan(y[t]), pred, y[t])
            new_level = pred + alpha * (obs - pred)
            trend = damped + beta * (new_level - level - damped)
            level = new_level
            fitted.append(pred)
        return torch.stack(fitted), level, trend


def get_inputs():
    y = torch.randn(STEPS, SERIES).cumsum(0) * 0.2 + torch.randn(SERIES) * 3.0
    y[torch.rand(STEPS, SERIES) < 0.05] = float("nan")
    return [y]


def get_init_inputs():
    return [SERIES]
