import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def brusselator_rhs(x, y, a, b):
    r = x * x * y
    return a + r - (b + 1.0) * x, b * x - r


@triton.jit
def rk4_step_kernel(x_ptr, y_ptr, dose_ptr, a_ptr, b_ptr, n, H: tl.constexpr, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    y = tl.load(y_ptr + offs, mask=mask, other=0.0)
    dose = tl.load(dose_ptr + offs, mask=mask, other=0.0)
    a = tl.load(a_ptr + offs, mask=mask, other=0.0)
    b = tl.load(b_ptr + offs, mask=mask, other=0.0)

    k1x, k1y = brusselator_rhs(x, y, a, b)
    k2x, k2y = brusselator_rhs(x + 0.5 * H * k1x, y + 0.5 * H * k1y, a, b)
    k3x, k3y = brusselator_rhs(x + 0.5 * H * k2x, y + 0.5 * H * k2y, a, b)
    k4x, k4y = brusselator_rhs(x + H * k3x, y + H * k3y, a, b)
    xn = x + H / 6.0 * (k1x + 2.0 * k2x + 2.0 * k3x + k4x)
    yn = y + H / 6.0 * (k1y + 2.0 * k2y + 2.0 * k3y + k4y)
    dose += 0.5 * H * (x + xn)

    tl.store(x_ptr + offs, xn, mask=mask)
    tl.store(y_ptr + offs, yn, mask=mask)
    tl.store(dose_ptr + offs, dose, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, steps, dt):
        super().__init__()
        self.steps = steps
        self.dt = dt

    def forward(self, x, y, a, b):
        n = x.numel()
        # the state is advanced in place; leave the caller's tensors alone
        x = x.clone()
        y = y.clone()
        dose = torch.zeros_like(x)
        BLOCK = 256
        grid = (triton.cdiv(n, BLOCK),)
        for _ in range(self.steps):
            rk4_step_kernel[grid](x, y, dose, a, b, n, H=self.dt, BLOCK=BLOCK, num_warps=4)
        return x, y, dose
