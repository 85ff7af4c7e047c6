import math
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rope_kernel(
    x_ptr, pos_ptr, out_ptr,
    H, log2_base,
    HALF: tl.constexpr, BLOCK_F: tl.constexpr, BLOCK_H: tl.constexpr,
):
    # one program rotates all heads of one token; the angles are shared by the heads
    tok = tl.program_id(0).to(tl.int64)
    f = tl.arange(0, BLOCK_F)
    h = tl.arange(0, BLOCK_H)
    mask = (h < H)[:, None] & (f < HALF)[None, :]

    # fp32 angles are good to about 1e-3 rad at these positions, below the step of the bf16 output
    pos = tl.load(pos_ptr + tok).to(tl.float32)
    inv_freq = tl.exp2(f.to(tl.float32) * (-1.0 / HALF) * log2_base)
    angle = pos * inv_freq
    cos = tl.cos(angle)[None, :]
    sin = tl.sin(angle)[None, :]

    offs = tok * H * HALF * 2 + h[:, None] * (HALF * 2) + f[None, :]
    a = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + offs + HALF, mask=mask, other=0.0).to(tl.float32)
    out_a = a * cos - b * sin
    out_b = b * cos + a * sin
    tl.store(out_ptr + offs, out_a.to(out_ptr.dtype.element_ty), mask=mask)
    tl.store(out_ptr + offs + HALF, out_b.to(out_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, head_dim, base=10000.0):
        super().__init__()
        self.head_dim = head_dim
        self.base = base

    def _rotate(self, x, positions):
        x = x.contiguous()
        b, s, h, d = x.shape
        out = torch.empty_like(x)
        rope_kernel[(b * s,)](
            x, positions, out,
            h, math.log2(self.base),
            HALF=d // 2,
            BLOCK_F=triton.next_power_of_2(d // 2),
            BLOCK_H=triton.next_power_of_2(h),
            num_warps=2,
        )
        return out

    def forward(self, q, k, positions):
        positions = positions.contiguous()
        return self._rotate(q, positions), self._rotate(k, positions)
