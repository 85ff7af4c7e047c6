import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def holt_step_kernel(
    y_ptr, fitted_ptr, level_ptr, trend_ptr,
    alpha_ptr, beta_ptr, phi_ptr,
    t, n_series,
    BLOCK: tl.constexpr,
):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n_series

    level = tl.load(level_ptr + offs, mask=mask, other=0.0)
    trend = tl.load(trend_ptr + offs, mask=mask, other=0.0)
    alpha = tl.sigmoid(tl.load(alpha_ptr + offs, mask=mask, other=0.0))
    beta = tl.sigmoid(tl.load(beta_ptr + offs, mask=mask, other=0.0))
    phi = tl.sigmoid(tl.load(phi_ptr + offs, mask=mask, other=0.0))
    y = tl.load(y_ptr + t * n_series + offs, mask=mask, other=0.0)

    damped = phi * trend
    pred = level + damped
    obs = tl.where(y != y, pred, y)
    new_level = pred + alpha * (obs - pred)
    new_trend = damped + beta * (new_level - level - damped)

    tl.store(fitted_ptr + t * n_series + offs, pred, mask=mask)
    tl.store(level_ptr + offs, new_level, mask=mask)
    tl.store(trend_ptr + offs, new_trend, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, n_series):
        super().__init__()
        self.alpha_logit = nn.Parameter(torch.randn(n_series) * 0.5)
        self.beta_logit = nn.Parameter(torch.randn(n_series) * 0.5 - 2.0)
        self.phi_logit = nn.Parameter(torch.randn(n_series) * 0.3 + 2.0)

    def forward(self, y):
        y = y.contiguous()
        steps, n_series = y.shape
        fitted = torch.empty_like(y)
        level = torch.zeros(n_series, device=y.device, dtype=y.dtype)
        trend = torch.zeros(n_series, device=y.device, dtype=y.dtype)
        BLOCK = 256
        grid = (triton.cdiv(n_series, BLOCK),)
        # the recursion is sequential in time, parallel over the panel
        for t in range(steps):
            holt_step_kernel[grid](
                y, fitted, level, trend,
                self.alpha_logit, self.beta_logit, self.phi_logit,
                t, n_series, BLOCK=BLOCK, num_warps=4,
            )
        return fitted, level, trend
