import torch
import torch.nn as nn

DAYS = 1024
ASSETS = 512
WINDOW = 252


class Model(nn.Module):
    """Cross-sectional z-score of the trailing annualised Sharpe ratio."""

    def __init__(self, window):
        super().__init__()
        self.window = window

    def forward(self, prices):
        r = torch.log(prices[1:] / prices[:-1])
        win = r.unfold(0, self.window, 1)
        sharpe = win.mean(-1) / win.std(-1).clamp(min=1e-8) * 252.0 ** 0.5
        mu = sharpe.mean(dim=1, keepdim=True)
        sd = sharpe.std(dim=1, keepdim=True, unbiased=False)
        return (sharpe - mu) / (sd + 1e-6)


def get_inputs():
    dev = "cuda" if torch.cuda.is_available() else "cpu"
    steps = 0.0003 + 0.015 * torch.randn(DAYS, ASSETS, device=dev)
    return [100.0 * torch.exp(torch.cumsum(steps, dim=0))]


def get_init_inputs():
    return [WINDOW]
