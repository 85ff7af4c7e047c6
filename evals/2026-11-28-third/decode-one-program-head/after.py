import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def decode_split_kernel(
    Q, K, V, Part, Stat,
    stride_qb, stride_qh,
    stride_kb, stride_kh, stride_kt,
    stride_vb, stride_vh, stride_vt,
    heads,
    context_len,
    per_split,
    sm_scale,
    SPLITS: tl.constexpr,
    HEAD_DIM: tl.constexpr,
    BLOCK_T: tl.constexpr,
):
    split = tl.program_id(0)
    h = tl.program_id(1).to(tl.int64)
    b = tl.program_id(2).to(tl.int64)
    d = tl.arange(0, HEAD_DIM)
    t = tl.arange(0, BLOCK_T)

    q = tl.load(Q + b * stride_qb + h * stride_qh + d).to(tl.float32) * sm_scale
    m_i = -1.0e30
    l_i = 0.0
    acc = tl.zeros([HEAD_DIM], dtype=tl.float32)
    k_base = K + b * stride_kb + h * stride_kh
    v_base = V + b * stride_vb + h * stride_vh
    begin = split * per_split
    end = tl.minimum(begin + per_split, context_len)
    for start in range(begin, end, BLOCK_T):
        idx = start + t
        live = idx < end
        k = tl.load(k_base + idx[:, None] * stride_kt + d[None, :], mask=live[:, None], other=0.0).to(tl.float32)
        v = tl.load(v_base + idx[:, None] * stride_vt + d[None, :], mask=live[:, None], other=0.0).to(tl.float32)
        s = tl.sum(q[None, :] * k, axis=1)
        s = tl.where(live, s, -float("inf"))
        m_new = tl.maximum(m_i, tl.max(s, axis=0))
        alpha = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new)
        acc = acc * alpha + tl.sum(p[:, None] * v, axis=0)
        l_i = l_i * alpha + tl.sum(p, axis=0)
        m_i = m_new
    slot = (b * heads + h) * SPLITS + split
    tl.store(Part + slot * HEAD_DIM + d, acc)
    tl.store(Stat + slot * 2, m_i)
    tl.store(Stat + slot * 2 + 1, l_i)


@triton.jit
def decode_combine_kernel(Part, Stat, Out, SPLITS: tl.constexpr, HEAD_DIM: tl.constexpr):
    row = tl.program_id(0)
    s = tl.arange(0, SPLITS)
    d = tl.arange(0, HEAD_DIM)
    m = tl.load(Stat + (row * SPLITS + s) * 2)
    total = tl.load(Stat + (row * SPLITS + s) * 2 + 1)
    w = tl.exp(m - tl.max(m, axis=0))
    part = tl.load(Part + (row * SPLITS + s)[:, None] * HEAD_DIM + d[None, :])
    out = tl.sum(w[:, None] * part, axis=0) / tl.sum(w * total, axis=0)
    tl.store(Out + row * HEAD_DIM + d, out.to(Out.dtype.element_ty))


class ModelNew(nn.Module):
    def forward(self, q, k, v):
        batch, heads, dim = q.shape
        context = k.shape[2]
        SPLITS, BLOCK_T = 32, 64
        per_split = triton.cdiv(triton.cdiv(context, SPLITS), BLOCK_T) * BLOCK_T
        out = torch.empty((batch, heads, dim), device=q.device, dtype=q.dtype)
        part = torch.empty((batch, heads, SPLITS, dim), device=q.device, dtype=torch.float32)
        stat = torch.empty((batch, heads, SPLITS, 2), device=q.device, dtype=torch.float32)
        decode_split_kernel[(SPLITS, heads, batch)](
            q, k, v, part, stat,
            q.stride(0), q.stride(1),
            k.stride(0), k.stride(1), k.stride(2),
            v.stride(0), v.stride(1), v.stride(2),
            heads, context, per_split,
            1.0 / math.sqrt(dim),
            SPLITS=SPLITS, HEAD_DIM=dim, BLOCK_T=BLOCK_T, num_warps=4,
        )
        decode_combine_kernel[(batch * heads,)](part, stat, out, SPLITS=SPLITS, HEAD_DIM=dim)
        return out
