import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gate_residual_kernel(x_ptr, h_ptr, mod_ptr, out_ptr, T, D, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    b = tl.program_id(0) // T
    cols = tl.arange(0, BLOCK)
    mask = cols < D
    x = tl.load(x_ptr + row * D + cols, mask=mask, other=0.0).to(tl.float32)
    h = tl.load(h_ptr + row * D + cols, mask=mask, other=0.0).to(tl.float32)
    gate = tl.load(mod_ptr + (b * 3 + 2) * D + cols, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * D + cols, (x + gate * h).to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def layernorm_kernel(x_ptr, out_ptr, D, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < D
    x = tl.load(x_ptr + row * D + cols, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / D
    xc = tl.where(mask, x - mean, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(xc * xc, axis=0) / D + eps)
    tl.store(out_ptr + row * D + cols, xc * rstd, mask=mask)


@triton.jit
def modulate_kernel(n_ptr, mod_ptr, out_ptr, T, D, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    b = tl.program_id(0) // T
    cols = tl.arange(0, BLOCK)
    mask = cols < D
    n = tl.load(n_ptr + row * D + cols, mask=mask, other=0.0)
    shift = tl.load(mod_ptr + b * 3 * D + cols, mask=mask, other=0.0).to(tl.float32)
    scale = tl.load(mod_ptr + (b * 3 + 1) * D + cols, mask=mask, other=0.0).to(tl.float32)
    y = n * (1.0 + scale) + shift
    tl.store(out_ptr + row * D + cols, y.to(out_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, x, branch, mod):
        x, branch, mod = x.contiguous(), branch.contiguous(), mod.contiguous()
        b, t, d = x.shape
        BLOCK = triton.next_power_of_2(d)
        grid = (b * t,)
        x_new = torch.empty_like(x)
        gate_residual_kernel[grid](x, branch, mod, x_new, t, d, BLOCK=BLOCK, num_warps=4)
        # keep the normalised activations in fp32 so that modulation does not lose precision
        normed = torch.empty((b, t, d), device=x.device, dtype=torch.float32)
        layernorm_kernel[grid](x_new, normed, d, self.eps, BLOCK=BLOCK, num_warps=4)
        y = torch.empty_like(x)
        modulate_kernel[grid](normed, mod, y, t, d, BLOCK=BLOCK, num_warps=4)
        return x_new, y
