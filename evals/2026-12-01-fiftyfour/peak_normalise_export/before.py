import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _peak_kernel(x_ptr, peak_ptr, total, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < total, other=0.0)
    m = tl.max(tl.abs(x), axis=0)
    # the bit patterns of non-negative floats are ordered as the floats are
    tl.atomic_max(peak_ptr, m.to(tl.int32, bitcast=True))


@triton.jit
def _scale_kernel(x_ptr, peak_ptr, out_ptr, total, target, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < total
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    peak = tl.load(peak_ptr).to(tl.float32, bitcast=True)
    scale = target / tl.maximum(peak, 1e-8)
    tl.store(out_ptr + offs, (x * scale).to(tl.float16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, target):
        super().__init__()
        self.target = target

    def forward(self, x):
        total = x.numel()
        peak = torch.zeros(1, device=x.device, dtype=torch.int32)
        out = torch.empty(x.shape, device=x.device, dtype=torch.float16)
        _peak_kernel[(triton.cdiv(total, 8192),)](x, peak, total, BLOCK=8192, num_warps=8)
        _scale_kernel[(triton.cdiv(total, 4096),)](x, peak, out, total, self.target, BLOCK=4096, num_warps=8)
        return out
