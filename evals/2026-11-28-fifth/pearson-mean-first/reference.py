import torch
import torch.nn as nn

SERIES = 1024
LENGTH = 65536


class Model(nn.Module):
    """Pearson's correlation of each pair of rows."""

    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x, y):
        dx = x - x.mean(dim=1, keepdim=True)
        dy = y - y.mean(dim=1, keepdim=True)
        spread = torch.sqrt((dx * dx).sum(dim=1) * (dy * dy).sum(dim=1))
        return (dx * dy).sum(dim=1) / (spread + self.eps)


def get_inputs():
    x = torch.randn(SERIES, LENGTH) + torch.randn(SERIES, 1)
    return [x, 0.6 * x + torch.randn(SERIES, LENGTH)]


def get_init_inputs():
    return [1e-8]
