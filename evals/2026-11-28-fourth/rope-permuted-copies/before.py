import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rotate_halves(a, b, c, s):
    return a * c - b * s, b * c + a * s


@triton.jit
def rope_kernel(q_ptr, cos_ptr, sin_ptr, o_ptr, S, D: tl.constexpr, BLOCK_S: tl.constexpr):
    HALF: tl.constexpr = D // 2
    bh = tl.program_id(1).to(tl.int64)
    s = tl.program_id(0) * BLOCK_S + tl.arange(0, BLOCK_S)
    d = tl.arange(0, HALF)
    ok = (s < S)[:, None]
    table = s[:, None] * HALF + d[None, :]
    c = tl.load(cos_ptr + table, mask=ok, other=0.0)
    n = tl.load(sin_ptr + table, mask=ok, other=0.0)
    here = bh * S * D + s[:, None] * D + d[None, :]
    a = tl.load(q_ptr + here, mask=ok, other=0.0).to(tl.float32)
    b = tl.load(q_ptr + here + HALF, mask=ok, other=0.0).to(tl.float32)
    ra, rb = rotate_halves(a, b, c, n)
    tl.store(o_ptr + here, ra.to(tl.float16), mask=ok)
    tl.store(o_ptr + here + HALF, rb.to(tl.float16), mask=ok)


def swap_heads(t):
    """b s h d -> b h s d and back"""
    return t.permute(0, 2, 1, 3).contiguous()


def apply_rope(q, cos, sin):
    qh = swap_heads(q)
    b, h, s, d = qh.shape
    out = torch.empty_like(qh)
    rope_kernel[(triton.cdiv(s, 32), b * h)](qh, cos, sin, out, s, D=d, BLOCK_S=32, num_warps=4)
    return swap_heads(out)


class ModelNew(nn.Module):
    def forward(self, q, cos, sin):
        return apply_rope(q, cos, sin)
