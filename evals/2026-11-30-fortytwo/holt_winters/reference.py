"""Additive Holt-Winters smoothing of many series with per-series learned coefficients, then a forecast."""
import math
import torch
import torch.nn as nn

STEPS = 36
SERIES = 4096
SEASON = 12
HORIZON = 12


class Model(nn.Module):
    def __init__(self, series, season, horizon):
        super().__init__()
        self.season_len = season
        self.horizon = horizon
        self.alpha = nn.Parameter(torch.randn(series) * 0.5)
        self.beta = nn.Parameter(torch.randn(series) * 0.5 - 2.0)
        self.gamma = nn.Parameter(torch.randn(series) * 0.5 - 1.0)
        self.season0 = nn.Parameter(torch.randn(season, series) * 0.3)

    def forward(self, y):
        a, b, g = torch.sigmoid(self.alpha), torch.sigmoid(self.beta), torch.sigmoid(self.gamma)
        m = self.season_len
        season = list(self.season0)
        level, trend = y[0], torch.zeros_like(y[0])
        fitted = []
        for t in range(y.shape[0]):
            s = season[t % m]
            base = level + trend
            fitted.append(base + s)
            new_level = a * (y[t] - s) + (1 - a) * base
            trend = b * (new_level - level) + (1 - b) * trend
            season[t % m] = g * (y[t] - new_level) + (1 - g) * s
            level = new_level
        ahead = [level + (h + 1) * trend + season[(y.shape[0] + h) % m] for h in range(self.horizon)]
        return torch.stack(fitted), torch.stack(ahead)


def get_inputs():
    t = torch.arange(STEPS, dtype=torch.float32)[:, None]
    phase = torch.rand(SERIES) * 6.283
    y = 10.0 + 0.02 * t * torch.randn(SERIES) + torch.sin(6.283 * t / SEASON + phase) + 0.2 * torch.randn(STEPS, SERIES)
    return [y]


def get_init_inputs():
    return [SERIES, SEASON, HORIZON]
