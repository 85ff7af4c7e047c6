import torch
import torch.nn as nn

ROWS = 4096
FEATURES = 2048


class Model(nn.Module):
    """Mean and unbiased variance of every feature (column) of a row-major data matrix."""

    def forward(self, data):
        return data.mean(dim=0), data.var(dim=0)


def get_inputs():
    return [torch.randn(ROWS, FEATURES) * 1.5 + 0.25]


def get_init_inputs():
    return []
