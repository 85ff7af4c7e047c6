import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rotate_halves(a, b, c, s):
    return a * c - b * s, b * c + a * s


@triton.jit
def rope_kernel(q_ptr, cos_ptr, sin_ptr, o_ptr, S, H: tl.constexpr, D: tl.constexpr, BLOCK_H: tl.constexpr):
    """All heads of one token a program: one row of the tables."""
    HALF: tl.constexpr = D // 2
    token = tl.program_id(0)
    h = tl.arange(0, BLOCK_H)
    d = tl.arange(0, HALF)
    ok = (h < H)[:, None]
    c = tl.load(cos_ptr + (token % S) * HALF + d)[None, :]
    n = tl.load(sin_ptr + (token % S) * HALF + d)[None, :]
    here = token.to(tl.int64) * H * D + h[:, None] * D + d[None, :]
    a = tl.load(q_ptr + here, mask=ok, other=0.0).to(tl.float32)
    b = tl.load(q_ptr + here + HALF, mask=ok, other=0.0).to(tl.float32)
    ra, rb = rotate_halves(a, b, c, n)
    tl.store(o_ptr + here, ra.to(tl.float16), mask=ok)
    tl.store(o_ptr + here + HALF, rb.to(tl.float16), mask=ok)


class ModelNew(nn.Module):
    def forward(self, q, cos, sin):
        b, s, h, d = q.shape
        out = torch.empty_like(q)
        rope_kernel[(b * s,)](q, cos, sin, out, s, H=h, D=d, BLOCK_H=triton.next_power_of_2(h), num_warps=4)
        return out
