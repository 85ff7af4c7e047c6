"""OHLC + VWAP + volume bars in one pass over the ticks, one bar a program (a few where bars are short)."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def ohlc_kernel(
    price_ptr, size_ptr, bars_ptr, volume_ptr,
    n_bars, ticks,
    BLOCK_B: tl.constexpr, T_PAD: tl.constexpr,
):
    # a symbol's ticks are a whole number of bars, so bars are numbered across symbols
    bar = tl.program_id(0) * BLOCK_B + tl.arange(0, BLOCK_B)
    t = tl.arange(0, T_PAD)
    b_mask = bar < n_bars
    t_mask = t < ticks
    mask = b_mask[:, None] & t_mask[None, :]
    first = bar.to(tl.int64) * ticks
    offs = first[:, None] + t[None, :]

    # the padding repeats the opening price with no volume: neutral for everything below
    open_ = tl.load(price_ptr + first, mask=b_mask, other=0.0)
    close = tl.load(price_ptr + first + ticks - 1, mask=b_mask, other=0.0)
    p = tl.load(price_ptr + offs, mask=mask, other=open_[:, None])
    q = tl.load(size_ptr + offs, mask=mask, other=0)

    high = tl.max(p, axis=1)
    low = tl.min(p, axis=1)
    notional = tl.sum(p * q.to(tl.float64), axis=1)
    volume = tl.sum(q.to(tl.int64), axis=1)
    vwap = tl.where(volume > 0, notional / tl.maximum(volume, 1).to(tl.float64), close)

    tl.store(bars_ptr + bar, open_, mask=b_mask)
    tl.store(bars_ptr + n_bars + bar, high, mask=b_mask)
    tl.store(bars_ptr + 2 * n_bars + bar, low, mask=b_mask)
    tl.store(bars_ptr + 3 * n_bars + bar, close, mask=b_mask)
    tl.store(bars_ptr + 4 * n_bars + bar, vwap, mask=b_mask)
    tl.store(volume_ptr + bar, volume, mask=b_mask)


class ModelNew(nn.Module):
    def __init__(self, ticks):
        super().__init__()
        self.ticks = ticks

    def forward(self, price, size):
        symbols, total = price.shape
        per_symbol = total // self.ticks
        n_bars = symbols * per_symbol
        bars = torch.empty((5, symbols, per_symbol), device=price.device, dtype=torch.float64)
        volume = torch.empty((symbols, per_symbol), device=price.device, dtype=torch.int64)
        T_PAD = triton.next_power_of_2(self.ticks)
        BLOCK_B = max(1, 1024 // T_PAD)
        ohlc_kernel[(triton.cdiv(n_bars, BLOCK_B),)](
            price.contiguous(), size.contiguous(), bars, volume,
            n_bars, self.ticks,
            BLOCK_B=BLOCK_B, T_PAD=T_PAD,
            num_warps=1,
        )
        return bars, volume
