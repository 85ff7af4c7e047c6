import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _decode_attn_split(
    Q, K, V, SeqLens, PartAcc, PartM, PartL,
    qk_scale,
    stride_qb, stride_qh,
    stride_kb, stride_kh, stride_kt,
    stride_vb, stride_vh, stride_vt,
    KV_HEADS, chunk, n_splits,
    GROUP: tl.constexpr,
    BLOCK_G: tl.constexpr,
    BLOCK_T: tl.constexpr,
    HEAD_DIM: tl.constexpr,
):
    pid = tl.program_id(0)
    split = tl.program_id(1)
    b = pid // KV_HEADS
    hk = pid % KV_HEADS

    offs_g = tl.arange(0, BLOCK_G)
    offs_d = tl.arange(0, HEAD_DIM)
    offs_t = tl.arange(0, BLOCK_T)
    head_mask = offs_g < GROUP

    q_ptrs = Q + b * stride_qb + (hk * GROUP + offs_g[:, None]) * stride_qh + offs_d[None, :]
    q = tl.load(q_ptrs, mask=head_mask[:, None], other=0.0)

    seq_len = tl.load(SeqLens + b)
    k_base = K + b.to(tl.int64) * stride_kb + hk * stride_kh
    v_base = V + b.to(tl.int64) * stride_vb + hk * stride_vh

    m_i = tl.full([BLOCK_G], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_G], dtype=tl.float32)
    acc = tl.zeros([BLOCK_G, HEAD_DIM], dtype=tl.float32)

    first = split * chunk
    last = tl.minimum(first + chunk, seq_len)
    for start in range(first, last, BLOCK_T):
        cur = start + offs_t
        in_len = cur < last
        k = tl.load(k_base + cur[:, None] * stride_kt + offs_d[None, :], mask=in_len[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k)) * qk_scale
        s = tl.where(in_len[None, :], s, float("-inf"))

        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        alpha = tl.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(v_base + cur[:, None] * stride_vt + offs_d[None, :], mask=in_len[:, None], other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m_i = m_new

    row = (pid * GROUP + offs_g) * n_splits + split
    tl.store(PartM + row, m_i, mask=head_mask)
    tl.store(PartL + row, l_i, mask=head_mask)
    tl.store(PartAcc + row[:, None] * HEAD_DIM + offs_d[None, :], acc, mask=head_mask[:, None])


@triton.jit
def _combine_splits(
    PartAcc, PartM, PartL, Out,
    n_splits,
    HEAD_DIM: tl.constexpr,
    BLOCK_S: tl.constexpr,
):
    row = tl.program_id(0)
    offs_s = tl.arange(0, BLOCK_S)
    offs_d = tl.arange(0, HEAD_DIM)
    ok = offs_s < n_splits
    m = tl.load(PartM + row * n_splits + offs_s, mask=ok, other=float("-inf"))
    l = tl.load(PartL + row * n_splits + offs_s, mask=ok, other=0.0)
    w = tl.exp2(m - tl.max(m, 0))
    acc = tl.load(
        PartAcc + (row * n_splits + offs_s[:, None]) * HEAD_DIM + offs_d[None, :],
        mask=ok[:, None], other=0.0,
    )
    out = tl.sum(acc * w[:, None], 0) / tl.sum(l * w, 0)
    tl.store(Out + row * HEAD_DIM + offs_d, out.to(Out.dtype.element_ty))


BLOCK_T = 64
TARGET_PROGRAMS = 512


def decode_attention(q, k_cache, v_cache, seq_lens):
    batch, q_heads, head_dim = q.shape
    kv_heads, context = k_cache.shape[1], k_cache.shape[2]
    group = q_heads // kv_heads
    rows = batch * kv_heads

    wanted = max(1, min(triton.cdiv(TARGET_PROGRAMS, rows), triton.cdiv(context, 2 * BLOCK_T), 128))
    chunk = triton.cdiv(triton.cdiv(context, wanted), BLOCK_T) * BLOCK_T
    n_splits = triton.cdiv(context, chunk)

    out = torch.empty_like(q)
    part_acc = torch.empty((batch * q_heads, n_splits, head_dim), device=q.device, dtype=torch.float32)
    part_m = torch.empty((batch * q_heads, n_splits), device=q.device, dtype=torch.float32)
    part_l = torch.empty_like(part_m)
    qk_scale = 1.4426950408889634 / math.sqrt(head_dim)
    _decode_attn_split[(rows, n_splits)](
        q, k_cache, v_cache, seq_lens, part_acc, part_m, part_l,
        qk_scale,
        q.stride(0), q.stride(1),
        k_cache.stride(0), k_cache.stride(1), k_cache.stride(2),
        v_cache.stride(0), v_cache.stride(1), v_cache.stride(2),
        kv_heads, chunk, n_splits,
        GROUP=group,
        BLOCK_G=max(16, triton.next_power_of_2(group)),
        BLOCK_T=BLOCK_T,
        HEAD_DIM=head_dim,
        num_warps=4,
        num_stages=3,
    )
    _combine_splits[(batch * q_heads,)](
        part_acc, part_m, part_l, out,
        n_splits,
        HEAD_DIM=head_dim,
        BLOCK_S=triton.next_power_of_2(n_splits),
        num_warps=4,
    )
    return out


class ModelNew(nn.Module):
    def __init__(self, kv_heads):
        super().__init__()
        self.kv_heads = kv_heads

    def forward(self, q, k_cache, v_cache, seq_lens):
        return decode_attention(q, k_cache, v_cache, seq_lens)
