"""Session bars from minute data: open, high, low, close, VWAP (float64) and volume (int64) of each bar."""
import torch
import torch.nn as nn

SYMBOLS = 16
BARS = 26
TICKS = 960        # minutes of an extended session, 4:00 to 20:00


class Model(nn.Module):
    def __init__(self, ticks):
        super().__init__()
        self.ticks = ticks

    def forward(self, price, size):
        symbols, total = price.shape
        p = price.view(symbols, total // self.ticks, self.ticks)
        q = size.view(symbols, total // self.ticks, self.ticks)
        volume = q.sum(2, dtype=torch.int64)
        notional = (p * q.double()).sum(2)
        close = p[..., -1]
        vwap = torch.where(volume > 0, notional / volume.clamp(min=1).double(), close)
        return torch.stack([p[..., 0], p.amax(2), p.amin(2), close, vwap]), volume


def get_inputs():
    total = BARS * TICKS
    steps = torch.randn(SYMBOLS, total, dtype=torch.float64) * 1e-4
    price = 100.0 * torch.exp(torch.cumsum(steps, 1))
    size = torch.randint(0, 500, (SYMBOLS, total), dtype=torch.int32)
    return [price, size]


def get_init_inputs():
    return [TICKS]
