import math
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mla_decode_kernel(
    q_latent_ptr, q_rope_ptr, cache_ptr, block_table_ptr, seq_lens_ptr, out_ptr,
    sm_scale, heads, table_stride,
    PAGE: tl.constexpr, RANK: tl.constexpr, ROPE: tl.constexpr,
    BLOCK_H: tl.constexpr, BLOCK_N: tl.constexpr,
):
    # head group is the fast grid axis: the groups of one sequence run together and share its cache lines in L2
    hg = tl.program_id(0)
    b = tl.program_id(1)
    seq_len = tl.load(seq_lens_ptr + b)

    offs_h = hg * BLOCK_H + tl.arange(0, BLOCK_H)
    h_mask = offs_h < heads
    offs_r = tl.arange(0, RANK)
    offs_p = tl.arange(0, ROPE)
    rows = b * heads + offs_h
    q_lat = tl.load(q_latent_ptr + rows[:, None] * RANK + offs_r[None, :], mask=h_mask[:, None], other=0.0)
    q_rot = tl.load(q_rope_ptr + rows[:, None] * ROPE + offs_p[None, :], mask=h_mask[:, None], other=0.0)

    m_i = tl.full([BLOCK_H], -float("inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_H], dtype=tl.float32)
    acc = tl.zeros([BLOCK_H, RANK], dtype=tl.float32)

    for start in range(0, seq_len, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        valid = offs_n < seq_len
        page = tl.load(block_table_ptr + b * table_stride + offs_n // PAGE, mask=valid, other=0)
        slot = page.to(tl.int64) * PAGE + offs_n % PAGE
        base = cache_ptr + slot * (RANK + ROPE)

        lat = tl.load(base[:, None] + offs_r[None, :], mask=valid[:, None], other=0.0)
        rot = tl.load(base[:, None] + RANK + offs_p[None, :], mask=valid[:, None], other=0.0)
        s = tl.dot(q_lat, tl.trans(lat))
        s = tl.dot(q_rot, tl.trans(rot), s) * sm_scale
        s = tl.where(valid[None, :], s, -float("inf"))

        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        alpha = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new[:, None])
        l_i = l_i * alpha + tl.sum(p, axis=1)
        acc = tl.dot(p.to(lat.dtype), lat, acc * alpha[:, None])
        m_i = m_new

    out = (acc / l_i[:, None]).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + rows[:, None] * RANK + offs_r[None, :], out, mask=h_mask[:, None])


class ModelNew(nn.Module):
    def __init__(self, rank, rope, qk_dim):
        super().__init__()
        self.rank = rank
        self.rope = rope
        self.softmax_scale = 1.0 / math.sqrt(qk_dim)

    def forward(self, q_latent, q_rope, cache, block_table, seq_lens):
        batch, heads, _ = q_latent.shape
        out = torch.empty_like(q_latent)
        BLOCK_H = 16
        mla_decode_kernel[(triton.cdiv(heads, BLOCK_H), batch)](
            q_latent, q_rope, cache, block_table, seq_lens, out,
            self.softmax_scale, heads, block_table.stride(0),
            PAGE=cache.shape[1], RANK=self.rank, ROPE=self.rope, BLOCK_H=BLOCK_H, BLOCK_N=32,
            num_warps=4, num_stages=2,
        )
        return out
