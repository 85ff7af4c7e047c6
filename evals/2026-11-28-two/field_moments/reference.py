import torch
import torch.nn as nn

STATIONS = 8192
STEPS = 4096


class Model(nn.Module):
    """Mean and standard deviation over time of a pressure series (about 1e5 Pa with small fluctuations)."""

    def __init__(self):
        super().__init__()

    def forward(self, series):
        s = series.double()
        mean = s.mean(dim=1)
        std = s.var(dim=1, unbiased=False).sqrt()
        return mean.float(), std.float()


def get_inputs():
    return [101325.0 + 5.0 * torch.randn(STATIONS, STEPS)]


def get_init_inputs():
    return []
