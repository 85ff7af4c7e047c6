"""Additive Holt-Winters over a batch of series, time-major (steps, series): the whole recursion in one launch."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def holt_winters_kernel(
    y_ptr, fitted_ptr, ahead_ptr, season_ptr,
    alpha_ptr, beta_ptr, gamma_ptr,
    steps, m, horizon, n,
    BLOCK: tl.constexpr,
):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    a = tl.sigmoid(tl.load(alpha_ptr + offs, mask=mask, other=0.0))
    b = tl.sigmoid(tl.load(beta_ptr + offs, mask=mask, other=0.0))
    g = tl.sigmoid(tl.load(gamma_ptr + offs, mask=mask, other=0.0))

    y = tl.load(y_ptr + offs, mask=mask, other=0.0)
    s = tl.load(season_ptr + offs, mask=mask, other=0.0)
    level = y
    trend = tl.zeros_like(y)

    for t in range(0, steps):
        # the next step's operands do not depend on this step (m >= 2): ask for them now
        # (after the last step y wraps around, unused)
        y_next = tl.load(y_ptr + ((t + 1) % steps) * n + offs, mask=mask, other=0.0)
        s_next = tl.load(season_ptr + ((t + 1) % m) * n + offs, mask=mask, other=0.0)

        base = level + trend
        tl.store(fitted_ptr + t * n + offs, base + s, mask=mask)
        new_level = a * (y - s) + (1 - a) * base
        trend = b * (new_level - level) + (1 - b) * trend
        tl.store(season_ptr + (t % m) * n + offs, g * (y - new_level) + (1 - g) * s, mask=mask)
        tl.debug_barrier()
        level = new_level
        y = y_next
        s = s_next

    for h in range(0, horizon):
        s = tl.load(season_ptr + ((steps + h) % m) * n + offs, mask=mask, other=0.0)
        tl.store(ahead_ptr + h * n + offs, level + (h + 1) * trend + s, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, series, season, horizon):
        super().__init__()
        assert season >= 2
        self.season_len = season
        self.horizon = horizon
        self.alpha = nn.Parameter(torch.randn(series) * 0.5)
        self.beta = nn.Parameter(torch.randn(series) * 0.5 - 2.0)
        self.gamma = nn.Parameter(torch.randn(series) * 0.5 - 1.0)
        self.season0 = nn.Parameter(torch.randn(season, series) * 0.3)

    @torch.no_grad()
    def forward(self, y):
        steps, n = y.shape
        season = self.season0.clone()
        fitted = torch.empty_like(y)
        ahead = torch.empty((self.horizon, n), device=y.device, dtype=y.dtype)
        BLOCK = 64
        holt_winters_kernel[(triton.cdiv(n, BLOCK),)](
            y, fitted, ahead, season,
            self.alpha, self.beta, self.gamma,
            steps, self.season_len, self.horizon, n,
            BLOCK=BLOCK,
            num_warps=2, num_stages=1,
        )
        return fitted, ahead
