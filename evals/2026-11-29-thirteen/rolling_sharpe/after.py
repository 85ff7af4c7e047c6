import math

import torch
import torch.nn as nn
import triton
import triton.language as tl

ANNUAL = math.sqrt(252.0)


@triton.jit
def log_return_kernel(p_ptr, r_ptr, n_elements, n_assets, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n_elements
    p0 = tl.load(p_ptr + i, mask=m, other=1.0)
    p1 = tl.load(p_ptr + i + n_assets, mask=m, other=1.0)
    tl.store(r_ptr + i, tl.log(p1 / p0), mask=m)


@triton.jit
def sharpe_kernel(
    r_ptr, out_ptr,
    n_out, n_assets, window, annual,
    BLOCK_T: tl.constexpr, BLOCK_A: tl.constexpr, BLOCK_W: tl.constexpr,
):
    t0 = tl.program_id(0) * BLOCK_T
    t = t0 + tl.arange(0, BLOCK_T)
    a = tl.program_id(1) * BLOCK_A + tl.arange(0, BLOCK_A)
    a_ok = (a < n_assets)[None, :]
    mask = (t < n_out)[:, None] & a_ok

    # full window of the first row of the tile
    p1 = tl.zeros((BLOCK_W, BLOCK_A), dtype=tl.float32)
    p2 = tl.zeros((BLOCK_W, BLOCK_A), dtype=tl.float32)
    for w0 in range(0, window, BLOCK_W):
        w = w0 + tl.arange(0, BLOCK_W)
        r = tl.load(r_ptr + (t0 + w)[:, None] * n_assets + a[None, :], mask=(w < window)[:, None] & a_ok, other=0.0)
        p1 += r
        p2 += r * r

    # the other rows differ from it by what entered and what left
    moved = mask & (t > t0)[:, None]
    new = tl.load(r_ptr + (t + window - 1)[:, None] * n_assets + a[None, :], mask=moved, other=0.0)
    old = tl.load(r_ptr + (t - 1)[:, None] * n_assets + a[None, :], mask=moved, other=0.0)
    s1 = tl.sum(p1, axis=0)[None, :] + tl.cumsum(new - old, axis=0)
    s2 = tl.sum(p2, axis=0)[None, :] + tl.cumsum(new * new - old * old, axis=0)

    mean = s1 / window
    var = (s2 - s1 * mean) / (window - 1)
    sd = tl.maximum(tl.sqrt(tl.maximum(var, 0.0)), 1e-8)
    tl.store(out_ptr + t[:, None] * n_assets + a[None, :], mean / sd * annual, mask=mask)


@triton.jit
def zscore_kernel(x_ptr, out_ptr, n_assets, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    m = cols < n_assets
    x = tl.load(x_ptr + row * n_assets + cols, mask=m, other=0.0)
    mu = tl.sum(x, axis=0) / n_assets
    d = tl.where(m, x - mu, 0.0)
    sd = tl.sqrt(tl.sum(d * d, axis=0) / n_assets)
    tl.store(out_ptr + row * n_assets + cols, d / (sd + 1e-6), mask=m)


class ModelNew(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.window = window

    def forward(self, prices):
        prices = prices.contiguous()
        n_days, n_assets = prices.shape
        n_ret = n_days - 1
        n_out = n_ret - self.window + 1

        returns = torch.empty((n_ret, n_assets), device=prices.device, dtype=torch.float32)
        n = returns.numel()
        log_return_kernel[(triton.cdiv(n, 1024),)](prices, returns, n, n_assets, BLOCK=1024)

        sharpe = torch.empty((n_out, n_assets), device=prices.device, dtype=torch.float32)
        BT, BA, BW = 64, 32, 32
        sharpe_kernel[(triton.cdiv(n_out, BT), triton.cdiv(n_assets, BA))](
            returns, sharpe, n_out, n_assets, self.window, ANNUAL, BLOCK_T=BT, BLOCK_A=BA, BLOCK_W=BW, num_warps=4
        )

        out = torch.empty_like(sharpe)
        zscore_kernel[(n_out,)](sharpe, out, n_assets, BLOCK=triton.next_power_of_2(n_assets), num_warps=4)
        return out
