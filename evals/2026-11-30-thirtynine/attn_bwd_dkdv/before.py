"""Causal attention backward, the dK/dV half: one program per block of keys, float16 tensors."""
import math
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def attn_bwd_dkdv_kernel(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr,
                         T, scale, D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    start_n = tl.program_id(0) * BLOCK_N
    bh = tl.program_id(1).to(tl.int64)
    base = bh * T * D
    n = start_n + tl.arange(0, BLOCK_N)
    d = tl.arange(0, D)
    nmask = n < T
    kv_offs = base + n[:, None] * D + d[None, :]
    k = tl.load(k_ptr + kv_offs, mask=nmask[:, None], other=0.0).to(tl.float32)
    v = tl.load(v_ptr + kv_offs, mask=nmask[:, None], other=0.0).to(tl.float32)
    dk = tl.zeros([BLOCK_N, D], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N, D], dtype=tl.float32)

    # causal: queries before this block of keys do not see it
    for start_m in range(start_n, T, BLOCK_M):
        m = start_m + tl.arange(0, BLOCK_M)
        mmask = m < T
        offs = base + m[:, None] * D + d[None, :]
        q = tl.load(q_ptr + offs, mask=mmask[:, None], other=0.0).to(tl.float32)
        do = tl.load(do_ptr + offs, mask=mmask[:, None], other=0.0).to(tl.float32)
        lse = tl.load(lse_ptr + bh * T + m, mask=mmask, other=0.0)
        delta = tl.load(delta_ptr + bh * T + m, mask=mmask, other=0.0)

        st = tl.dot(k, tl.trans(q)) * scale
        keep = (n[:, None] <= m[None, :]) & mmask[None, :]
        pt = tl.where(keep, tl.exp(st - lse[None, :]), 0.0)
        dv += tl.dot(pt, do)
        dpt = tl.dot(v, tl.trans(do))
        dst = pt * (dpt - delta[None, :])
        dk += tl.dot(dst, q)

    tl.store(dk_ptr + kv_offs, (dk * scale).to(dk_ptr.dtype.element_ty), mask=nmask[:, None])
    tl.store(dv_ptr + kv_offs, dv.to(dv_ptr.dtype.element_ty), mask=nmask[:, None])


class ModelNew(nn.Module):
    def __init__(self, head_dim):
        super().__init__()
        self.scale = 1.0 / math.sqrt(head_dim)

    def forward(self, q, k, v, do, lse, delta):
        b, h, t, d = q.shape
        q, k, v, do = q.contiguous(), k.contiguous(), v.contiguous(), do.contiguous()
        dk, dv = torch.empty_like(k), torch.empty_like(v)
        grid = (triton.cdiv(t, 64), b * h)
        attn_bwd_dkdv_kernel[grid](q, k, v, do, lse, delta, dk, dv, t, self.scale,
                                   D=d, BLOCK_M=64, BLOCK_N=64, num_warps=4, num_stages=2)
        return dk, dv
