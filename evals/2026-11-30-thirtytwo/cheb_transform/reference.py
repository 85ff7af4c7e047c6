"""Forward Chebyshev transform of a batch of 1-D fields (as a dense product), followed by an exponential spectral filter."""
import math
import torch
import torch.nn as nn

BATCH = 8192
N = 2048
FILTER_ORDER = 8


class Model(nn.Module):
    def __init__(self, n, filter_order):
        super().__init__()
        k = torch.arange(n, dtype=torch.float64)[:, None]
        j = torch.arange(n, dtype=torch.float64)[None, :]
        t = torch.cos(math.pi * k * (j + 0.5) / n) * math.sqrt(2.0 / n)
        t[0] *= math.sqrt(0.5)
        self.register_buffer("transform", t.to(torch.float16))
        eta = torch.arange(n, dtype=torch.float32) / n
        self.sigma = nn.Parameter(torch.exp(-18.0 * eta ** filter_order))

    def forward(self, fields):
        coeff = fields.float() @ self.transform.float().t()
        return (coeff * self.sigma).to(torch.float16)


def get_inputs():
    return [torch.randn(BATCH, N).to(torch.float16)]


def get_init_inputs():
    return [N, FILTER_ORDER]
