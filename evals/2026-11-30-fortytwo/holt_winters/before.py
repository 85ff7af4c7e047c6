"""Additive Holt-Winters over a batch of series, time-major (steps, series)."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["t", "slot"])
def smooth_step_kernel(
    y_ptr, fitted_ptr, level_ptr, trend_ptr, season_ptr,
    alpha_ptr, beta_ptr, gamma_ptr,
    t, slot, n,
    BLOCK: tl.constexpr,
):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.sigmoid(tl.load(alpha_ptr + offs, mask=mask, other=0.0))
    b = tl.sigmoid(tl.load(beta_ptr + offs, mask=mask, other=0.0))
    g = tl.sigmoid(tl.load(gamma_ptr + offs, mask=mask, other=0.0))

    y = tl.load(y_ptr + t * n + offs, mask=mask, other=0.0)
    level = tl.load(level_ptr + offs, mask=mask, other=0.0)
    trend = tl.load(trend_ptr + offs, mask=mask, other=0.0)
    s = tl.load(season_ptr + slot * n + offs, mask=mask, other=0.0)

    base = level + trend
    new_level = a * (y - s) + (1 - a) * base
    new_trend = b * (new_level - level) + (1 - b) * trend
    new_s = g * (y - new_level) + (1 - g) * s

    tl.store(fitted_ptr + t * n + offs, base + s, mask=mask)
    tl.store(level_ptr + offs, new_level, mask=mask)
    tl.store(trend_ptr + offs, new_trend, mask=mask)
    tl.store(season_ptr + slot * n + offs, new_s, mask=mask)


@triton.jit
def forecast_kernel(level_ptr, trend_ptr, season_ptr, out_ptr, steps, m, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    h = tl.program_id(1)
    mask = offs < n
    level = tl.load(level_ptr + offs, mask=mask, other=0.0)
    trend = tl.load(trend_ptr + offs, mask=mask, other=0.0)
    s = tl.load(season_ptr + ((steps + h) % m) * n + offs, mask=mask, other=0.0)
    tl.store(out_ptr + h * n + offs, level + (h + 1) * trend + s, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, series, season, horizon):
        super().__init__()
        self.season_len = season
        self.horizon = horizon
        self.alpha = nn.Parameter(torch.randn(series) * 0.5)
        self.beta = nn.Parameter(torch.randn(series) * 0.5 - 2.0)
        self.gamma = nn.Parameter(torch.randn(series) * 0.5 - 1.0)
        self.season0 = nn.Parameter(torch.randn(season, series) * 0.3)

    @torch.no_grad()
    def forward(self, y):
        steps, n = y.shape
        m = self.season_len
        level = y[0].clone()
        trend = torch.zeros_like(level)
        season = self.season0.clone()
        fitted = torch.empty_like(y)
        ahead = torch.empty((self.horizon, n), device=y.device, dtype=y.dtype)

        BLOCK = 256
        blocks = triton.cdiv(n, BLOCK)
        for t in range(steps):
            smooth_step_kernel[(blocks,)](
                y, fitted, level, trend, season,
                self.alpha, self.beta, self.gamma,
                t, t % m, n,
                BLOCK=BLOCK,
            )
        forecast_kernel[(blocks, self.horizon)](level, trend, season, ahead, steps, m, n, BLOCK=BLOCK)
        return fitted, ahead
