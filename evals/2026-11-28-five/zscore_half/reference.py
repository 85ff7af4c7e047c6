import torch
import torch.nn as nn

ASSETS = 8192
DAYS = 2016


class Model(nn.Module):
    """Standardise each asset's return series (half precision in and out)."""

    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, returns):
        x = returns.float()
        mean = x.mean(dim=1, keepdim=True)
        var = ((x - mean) ** 2).mean(dim=1, keepdim=True)
        return ((x - mean) / torch.sqrt(var + self.eps)).half()


def get_inputs():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return [(torch.randn(ASSETS, DAYS, device=device) * 0.5 + 0.1).half()]


def get_init_inputs():
    return [1e-6]
