"""GARCH(1,1) likelihood in Triton. The variance recursion is sequential in time, parallel over instruments."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def garch_init_kernel(omega_ptr, alpha_ptr, beta_ptr, var_ptr, nll_ptr, n_series, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n_series
    omega = tl.load(omega_ptr + offs, mask=mask, other=1.0)
    alpha = tl.load(alpha_ptr + offs, mask=mask, other=0.0)
    beta = tl.load(beta_ptr + offs, mask=mask, other=0.0)
    # start from the unconditional variance
    tl.store(var_ptr + offs, omega / (1.0 - alpha - beta), mask=mask)
    tl.store(nll_ptr + offs, tl.zeros([BLOCK], dtype=tl.float64), mask=mask)


@triton.jit
def garch_step_kernel(ret_ptr, omega_ptr, alpha_ptr, beta_ptr, var_ptr, nll_ptr, n_series, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n_series
    r = tl.load(ret_ptr + offs, mask=mask, other=0.0)
    omega = tl.load(omega_ptr + offs, mask=mask, other=1.0)
    alpha = tl.load(alpha_ptr + offs, mask=mask, other=0.0)
    beta = tl.load(beta_ptr + offs, mask=mask, other=0.0)
    var = tl.load(var_ptr + offs, mask=mask, other=1.0)
    nll = tl.load(nll_ptr + offs, mask=mask, other=0.0)
    r2 = r * r
    nll += 0.5 * (tl.log(var) + r2 / var)
    var = omega + alpha * r2 + beta * var
    tl.store(nll_ptr + offs, nll, mask=mask)
    tl.store(var_ptr + offs, var, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, n_series):
        super().__init__()
        self.omega = nn.Parameter(torch.full((n_series,), 0.05, dtype=torch.float64))
        self.alpha = nn.Parameter(torch.full((n_series,), 0.05, dtype=torch.float64))
        self.beta = nn.Parameter(torch.full((n_series,), 0.80, dtype=torch.float64))

    def forward(self, returns):
        returns = returns.contiguous()
        n_steps, n_series = returns.shape
        var = torch.empty(n_series, device=returns.device, dtype=torch.float64)
        nll = torch.empty_like(var)
        BLOCK = 128
        grid = (triton.cdiv(n_series, BLOCK),)
        garch_init_kernel[grid](self.omega, self.alpha, self.beta, var, nll, n_series, BLOCK=BLOCK, num_warps=4)
        # sigma^2[t] needs sigma^2[t - 1]: one launch per time step, all instruments side by side
        for t in range(n_steps):
            garch_step_kernel[grid](
                returns[t], self.omega, self.alpha, self.beta, var, nll, n_series,
                BLOCK=BLOCK, num_warps=4,
            )
        return nll, var
