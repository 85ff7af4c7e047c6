import math
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mla_decode_kernel(
    q_latent_ptr, q_rope_ptr, cache_ptr, block_table_ptr, seq_lens_ptr, out_ptr,
    sm_scale, heads, table_stride,
    PAGE: tl.constexpr, RANK: tl.constexpr, ROPE: tl.constexpr, BLOCK_N: tl.constexpr,
):
    b = tl.program_id(0)
    h = tl.program_id(1)
    seq_len = tl.load(seq_lens_ptr + b)

    offs_r = tl.arange(0, RANK)
    offs_p = tl.arange(0, ROPE)
    row = b * heads + h
    q_lat = tl.load(q_latent_ptr + row * RANK + offs_r).to(tl.float32) * sm_scale
    q_rot = tl.load(q_rope_ptr + row * ROPE + offs_p).to(tl.float32) * sm_scale

    m_i = -float("inf")
    l_i = 0.0
    acc = tl.zeros([RANK], dtype=tl.float32)

    for start in range(0, seq_len, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        valid = offs_n < seq_len
        page = tl.load(block_table_ptr + b * table_stride + offs_n // PAGE, mask=valid, other=0)
        slot = page.to(tl.int64) * PAGE + offs_n % PAGE
        base = cache_ptr + slot * (RANK + ROPE)

        lat = tl.load(base[:, None] + offs_r[None, :], mask=valid[:, None], other=0.0).to(tl.float32)
        rot = tl.load(base[:, None] + RANK + offs_p[None, :], mask=valid[:, None], other=0.0).to(tl.float32)
        s = tl.sum(lat * q_lat[None, :], axis=1) + tl.sum(rot * q_rot[None, :], axis=1)
        s = tl.where(valid, s, -float("inf"))

        m_new = tl.maximum(m_i, tl.max(s, axis=0))
        alpha = tl.exp(m_i - m_new)
        p = tl.exp(s - m_new)
        l_i = l_i * alpha + tl.sum(p, axis=0)
        acc = acc * alpha + tl.sum(p[:, None] * lat, axis=0)
        m_i = m_new

    tl.store(out_ptr + row * RANK + offs_r, (acc / l_i).to(out_ptr.dtype.element_ty))


class ModelNew(nn.Module):
    def __init__(self, rank, rope, qk_dim):
        super().__init__()
        self.rank = rank
        self.rope = rope
        self.softmax_scale = 1.0 / math.sqrt(qk_dim)

    def forward(self, q_latent, q_rope, cache, block_table, seq_lens):
        batch, heads, _ = q_latent.shape
        out = torch.empty_like(q_latent)
        mla_decode_kernel[(batch, heads)](
            q_latent, q_rope, cache, block_table, seq_lens, out,
            self.softmax_scale, heads, block_table.stride(0),
            PAGE=cache.shape[1], RANK=self.rank, ROPE=self.rope, BLOCK_N=16,
            num_warps=4,
        )
        return out
