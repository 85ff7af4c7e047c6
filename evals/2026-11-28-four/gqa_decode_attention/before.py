import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _decode_attn_fwd(
    Q, K, V, SeqLens, Out,
    qk_scale,
    stride_qb, stride_qh,
    stride_kb, stride_kh, stride_kt,
    stride_vb, stride_vh, stride_vt,
    stride_ob, stride_oh,
    KV_HEADS,
    GROUP: tl.constexpr,
    BLOCK_G: tl.constexpr,
    BLOCK_T: tl.constexpr,
    HEAD_DIM: tl.constexpr,
):
    pid = tl.program_id(0)
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

    for start in range(0, seq_len, BLOCK_T):
        cur = start + offs_t
        in_len = cur < seq_len
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

    out = acc / l_i[:, None]
    o_ptrs = Out + b * stride_ob + (hk * GROUP + offs_g[:, None]) * stride_oh + offs_d[None, :]
    tl.store(o_ptrs, out.to(Out.dtype.element_ty), mask=head_mask[:, None])


def decode_attention(q, k_cache, v_cache, seq_lens):
    batch, q_heads, head_dim = q.shape
    kv_heads = k_cache.shape[1]
    group = q_heads // kv_heads
    out = torch.empty_like(q)
    qk_scale = 1.4426950408889634 / math.sqrt(head_dim)
    _decode_attn_fwd[(batch * kv_heads,)](
        q, k_cache, v_cache, seq_lens, out,
        qk_scale,
        q.stride(0), q.stride(1),
        k_cache.stride(0), k_cache.stride(1), k_cache.stride(2),
        v_cache.stride(0), v_cache.stride(1), v_cache.stride(2),
        out.stride(0), out.stride(1),
        kv_heads,
        GROUP=group,
        BLOCK_G=max(16, triton.next_power_of_2(group)),
        BLOCK_T=64,
        HEAD_DIM=head_dim,
        num_warps=4,
        num_stages=3,
    )
    return out


class ModelNew(nn.Module):
    def __init__(self, kv_heads):
        super().__init__()
        self.kv_heads = kv_heads

    def forward(self, q, k_cache, v_cache, seq_lens):
        return decode_attention(q, k_cache, v_cache, seq_lens)
