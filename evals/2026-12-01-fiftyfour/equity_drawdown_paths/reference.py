import torch
import torch.nn as nn

P = 32768
T = 2048


class Model(nn.Module):
    """Equity curve, drawdown curve and maximal drawdown of simulated paths of log returns."""

    def __init__(self):
        super().__init__()

    def forward(self, r):
        level = torch.cumsum(r, dim=1)
        peak = torch.cummax(level, dim=1).values.clamp(min=0.0)
        drawdown = 1.0 - torch.exp(level - peak)
        return torch.exp(level), drawdown, drawdown.amax(dim=1)


def get_inputs():
    return [torch.randn(P, T) * 0.01]


def get_init_inputs():
    return []
