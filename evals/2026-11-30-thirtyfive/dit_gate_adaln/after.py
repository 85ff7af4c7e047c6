import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gate_adaln_kernel(x_ptr, h_ptr, mod_ptr, xout_ptr, y_ptr, T, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    b = tl.program_id(0) // T
    cols = tl.arange(0, BLOCK)
    mask = cols < D
    offs = row * D + cols
    mod = mod_ptr + b * 3 * D + cols

    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    h = tl.load(h_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    shift = tl.load(mod, mask=mask, other=0.0).to(tl.float32)
    scale = tl.load(mod + D, mask=mask, other=0.0).to(tl.float32)
    gate = tl.load(mod + 2 * D, mask=mask, other=0.0).to(tl.float32)

    xo = (x + gate * h).to(xout_ptr.dtype.element_ty)
    tl.store(xout_ptr + offs, xo, mask=mask)

    # normalise the rounded residual stream, as the next block will see it
    xf = xo.to(tl.float32)
    mean = tl.sum(xf, axis=0) / D
    xc = tl.where(mask, xf - mean, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(xc * xc, axis=0) / D + eps)
    y = xc * rstd * (1.0 + scale) + shift
    tl.store(y_ptr + offs, y.to(y_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, x, branch, mod):
        x, branch, mod = x.contiguous(), branch.contiguous(), mod.contiguous()
        b, t, d = x.shape
        x_new = torch.empty_like(x)
        y = torch.empty_like(x)
        gate_adaln_kernel[(b * t,)](
            x, branch, mod, x_new, y, t, d, self.eps,
            BLOCK=triton.next_power_of_2(d), num_warps=4,
        )
        return x_new, y
