import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _mla_decode_kernel(
    Q, KV, Lens, Part, Lse,
    sm_scale,
    stride_qb, stride_qh,
    stride_kb, stride_ks,
    H,
    num_splits,
    split_len,
    R: tl.constexpr,
    P: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_N: tl.constexpr,
):
    b = tl.program_id(0)
    hb = tl.program_id(1)
    sp = tl.program_id(2)
    offs_h = hb * BLOCK_H + tl.arange(0, BLOCK_H)
    offs_r = tl.arange(0, R)
    offs_p = R + tl.arange(0, P)
    mask_h = offs_h < H

    q_base = Q + b * stride_qb + offs_h[:, None] * stride_qh
    q = tl.load(q_base + offs_r[None, :], mask=mask_h[:, None], other=0.0)
    q_pe = tl.load(q_base + offs_p[None, :], mask=mask_h[:, None], other=0.0)

    seq_len = tl.load(Lens + b)
    lo = sp * split_len
    hi = tl.minimum(lo + split_len, seq_len)
    kv_base = KV + b.to(tl.int64) * stride_kb

    m_i = tl.full([BLOCK_H], float("-inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_H], dtype=tl.float32)
    acc = tl.zeros([BLOCK_H, R], dtype=tl.float32)
    qk_scale = sm_scale * 1.4426950408889634

    for start in range(lo, hi, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        mask_n = offs_n < hi
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

    denom = tl.where(l_i > 0, l_i, 1.0)
    acc = acc / denom[:, None]
    lse = tl.where(l_i > 0, m_i + tl.log2(denom), float("-inf"))
    slot = (b * H + offs_h) * num_splits + sp
    tl.store(Part + slot[:, None] * R + offs_r[None, :], acc, mask=mask_h[:, None])
    tl.store(Lse + slot, lse, mask=mask_h)


@triton.jit
def _mla_merge_kernel(
    Part, Lse, Out, num_splits,
    R: tl.constexpr, SPLITS: tl.constexpr, BLOCK_R: tl.constexpr,
):
    bh = tl.program_id(0)
    offs_s = tl.arange(0, SPLITS)
    offs_r = tl.program_id(1) * BLOCK_R + tl.arange(0, BLOCK_R)
    ok = offs_s < num_splits
    lse = tl.load(Lse + bh * num_splits + offs_s, mask=ok, other=float("-inf"))
    w = tl.exp2(lse - tl.max(lse, 0))
    w = w / tl.sum(w, 0)
    part = tl.load(
        Part + (bh * num_splits + offs_s[:, None]) * R + offs_r[None, :],
        mask=ok[:, None] & (offs_r < R)[None, :], other=0.0,
    )
    o = tl.sum(part * w[:, None], 0)
    tl.store(Out + bh * R + offs_r, o.to(Out.dtype.element_ty), mask=offs_r < R)


def mla_decode(q, kv_cache, seq_lens, kv_rank, rope_dim, sm_scale):
    B, H, _ = q.shape
    S = kv_cache.shape[1]
    out = torch.empty((B, H, kv_rank), device=q.device, dtype=q.dtype)
    BLOCK_H, BLOCK_N = 16, 32
    head_blocks = triton.cdiv(H, BLOCK_H)
    # about two programs per SM, and at least four key blocks in each
    num_splits = max(1, min(triton.cdiv(264, B * head_blocks), triton.cdiv(S, 4 * BLOCK_N)))
    split_len = triton.cdiv(triton.cdiv(S, num_splits), BLOCK_N) * BLOCK_N
    num_splits = triton.cdiv(S, split_len)
    part = torch.empty((B, H, num_splits, kv_rank), device=q.device, dtype=torch.float32)
    lse = torch.empty((B, H, num_splits), device=q.device, dtype=torch.float32)
    _mla_decode_kernel[(B, head_blocks, num_splits)](
        q, kv_cache, seq_lens, part, lse,
        sm_scale,
        q.stride(0), q.stride(1),
        kv_cache.stride(0), kv_cache.stride(1),
        H, num_splits, split_len,
        R=kv_rank, P=rope_dim,
        BLOCK_H=BLOCK_H, BLOCK_N=BLOCK_N,
        num_warps=4, num_stages=2,
    )
    BLOCK_R = min(64, kv_rank)
    _mla_merge_kernel[(B * H, triton.cdiv(kv_rank, BLOCK_R))](
        part, lse, out, num_splits,
        R=kv_rank, SPLITS=triton.next_power_of_2(num_splits), BLOCK_R=BLOCK_R,
        num_warps=4,
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
