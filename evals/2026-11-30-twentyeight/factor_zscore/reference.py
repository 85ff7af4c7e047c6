"""Cross-sectional factor standardization, per date: z-score over the available assets, winsorize at +-limit, z-score again.

Missing values are NaN and come out as 0 (neutral).
"""
import torch
import torch.nn as nn

N_DATES = 20000
N_ASSETS = 4000
LIMIT = 3.0


class Model(nn.Module):
    def __init__(self, limit):
        super().__init__()
        self.limit = limit

    @staticmethod
    def _zscore(x, ok):
        n = ok.sum(dim=1, keepdim=True).clamp(min=1).float()
        mean = torch.where(ok, x, 0.0).sum(dim=1, keepdim=True) / n
        dev = torch.where(ok, x - mean, 0.0)
        var = (dev * dev).sum(dim=1, keepdim=True) / n
        return dev * torch.rsqrt(var + 1e-12)

    def forward(self, factor):
        ok = ~torch.isnan(factor)
        z = self._zscore(factor, ok).clamp(-self.limit, self.limit)
        return self._zscore(z, ok)


def get_inputs():
    x = torch.randn(N_DATES, N_ASSETS)
    x = x * x.abs() + 40.0
    x[torch.rand(N_DATES, N_ASSETS) < 0.05] = float("nan")
    return [x]


def get_init_inputs():
    return [LIMIT]
