import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _mla_decode_kernel(
    Q, KV, Lens, Out,
    sm_scale,
    stride_qb, stride_qh,
    stride_kb, stride_ks,
    stride_ob, stride_oh,
    H,
    R: tl.constexpr,
    P: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    b = tl.program_id(0)
    hb = tl.program_id(1)
    offs_h = hb * BLOCK_H + tl.arange(0, BLOCK_H)
    offs_r = tl.arange(0, R)
    offs_p = R + tl.arange(0, P)
    mask_h = offs_h < H

    q_base = Q + b * stride_qb + offs_h[:, None] * stride_qh
    q = tl.load(q_base + offs_r[None, :], mask=mask_h[:, None], other=0.0)
    q_pe = tl.load(q_base + offs_p[None, :], mask=mask_h[:, None], other=0.0)

    seq_len = tl.load(Lens + b)
    kv_base = KV + b.to(tl.int64) * stride_kb

    m_i = tl.full([BLOCK_H], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_H], dtype=tl.float32)
    acc = tl.zeros([BLOCK_H, R], dtype=tl.float32)
    qk_scale = sm_scale * 1.4426950408889634

    for start in range(0, seq_len, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask_n = offs_n < seq_len
        row = kv_base + offs_n[:, None] * stride_ks
        kv = tl.load(row + offs_r[None, :], mask=mask_n[:, None], other=0.0)
        k_pe = tl.load(row + offs_p[None, :], mask=mask_n[:, None], other=0.0)

        s = tl.dot(q, tl.trans(kv))
        s = tl.dot(q_pe, tl.trans(k_pe), s)
        s = tl.where(mask_n[None, :], s * qk_scale, float("-inf"))

        m_new = tl.maximum(m_i, tl.max(s, 1))
        alpha = tl.exp2(m_i - m_new)
        p = tl.exp2(s - m_new[:, None])
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        acc = tl.dot(p.to(kv.dtype), kv, acc)
        m_i = m_new

    acc = acc / l_i[:, None]
    o_ptrs = Out + b * stride_ob + offs_h[:, None] * stride_oh + offs_r[None, :]
    tl.store(o_ptrs, acc.to(Out.dtype.element_ty), mask=mask_h[:, None])


def mla_decode(q, kv_cache, seq_lens, kv_rank, rope_dim, sm_scale):
    B, H, _ = q.shape
    out = torch.empty((B, H, kv_rank), device=q.device, dtype=q.dtype)
    BLOCK_H = 16
    grid = (B, triton.cdiv(H, BLOCK_H))
    _mla_decode_kernel[grid](
        q, kv_cache, seq_lens, out,
        sm_scale,
        q.stride(0), q.stride(1),
        kv_cache.stride(0), kv_cache.stride(1),
        out.stride(0), out.stride(1),
        H,
        R=kv_rank, P=rope_dim,
        BLOCK_H=BLOCK_H, BLOCK_N=32,
        num_warps=4, num_stages=2,
    )
    return out


class ModelNew(nn.Module):
    def __init__(self, kv_rank, rope_dim):
        super().__init__()
        self.kv_rank = kv_rank
        self.rope_dim = rope_dim
        self.sm_scale = (kv_rank + rope_dim) ** -0.5

    def forward(self, q, kv_cache, seq_lens):
        return mla_decode(
            q.contiguous(), kv_cache.contiguous(), seq_lens,
            self.kv_rank, self.rope_dim, self.sm_scale,
        )
