import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def minmax_partial_kernel(vol_ptr, part_ptr, n, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    b = tl.program_id(1)
    base = vol_ptr + b.to(tl.int64) * n
    lo = tl.full((BLOCK,), 32767, tl.int16)
    hi = tl.full((BLOCK,), -32768, tl.int16)
    for start in range(p * BLOCK, n, PARTS * BLOCK):
        o = start + tl.arange(0, BLOCK)
        m = o < n
        lo = tl.minimum(lo, tl.load(base + o, mask=m, other=32767))
        hi = tl.maximum(hi, tl.load(base + o, mask=m, other=-32768))
    tl.store(part_ptr + (b * 2) * PARTS + p, tl.min(lo.to(tl.int32), axis=0))
    tl.store(part_ptr + (b * 2 + 1) * PARTS + p, tl.max(hi.to(tl.int32), axis=0))


@triton.jit
def scale_kernel(vol_ptr, part_ptr, out_ptr, n, eps, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    b = tl.program_id(1)
    base = b.to(tl.int64) * n
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    v = tl.load(vol_ptr + base + o, mask=m, other=0).to(tl.float32)
    # every program folds the 256 partials again (1 KB each, from L2)
    q = tl.arange(0, PARTS)
    lo = tl.min(tl.load(part_ptr + (b * 2) * PARTS + q), axis=0).to(tl.float32)
    hi = tl.max(tl.load(part_ptr + (b * 2 + 1) * PARTS + q), axis=0).to(tl.float32)
    inv = 1.0 / (hi - lo + eps)
    tl.store(out_ptr + base + o, ((v - lo) * inv).to(tl.float16), mask=m)


class ModelNew(nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, vol):
        b = vol.shape[0]
        n = vol[0].numel()
        PARTS = 256
        part = torch.empty(b, 2, PARTS, device=vol.device, dtype=torch.int32)
        out = torch.empty(vol.shape, device=vol.device, dtype=torch.float16)
        minmax_partial_kernel[(PARTS, b)](vol, part, n, PARTS=PARTS, BLOCK=4096, num_warps=4)
        scale_kernel[(triton.cdiv(n, 4096), b)](vol, part, out, n, self.eps, PARTS=PARTS, BLOCK=4096, num_warps=4)
        return out
