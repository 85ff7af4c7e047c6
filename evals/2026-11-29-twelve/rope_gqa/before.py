import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _rotate_heads(src, dst, cos, sin, NH: tl.constexpr, HALF: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_D: tl.constexpr):
    h = tl.arange(0, BLOCK_H)
    d = tl.arange(0, BLOCK_D)
    offs = h[:, None] * (2 * HALF) + d[None, :]
    mask = (h < NH)[:, None] & (d < HALF)[None, :]
    x1 = tl.load(src + offs, mask=mask, other=0.0).to(tl.float32)
    x2 = tl.load(src + offs + HALF, mask=mask, other=0.0).to(tl.float32)
    y1 = x1 * cos[None, :] - x2 * sin[None, :]
    y2 = x2 * cos[None, :] + x1 * sin[None, :]
    tl.store(dst + offs, y1.to(dst.dtype.element_ty), mask=mask)
    tl.store(dst + offs + HALF, y2.to(dst.dtype.element_ty), mask=mask)


@triton.jit
def rope_kernel(
    q_ptr, k_ptr, qo_ptr, ko_ptr, pos_ptr, cos_ptr, sin_ptr,
    NQ: tl.constexpr, NK: tl.constexpr, HALF: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr,
):
    tok = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, BLOCK_D)
    pos = tl.load(pos_ptr + tok)
    cos = tl.load(cos_ptr + pos * HALF + d, mask=d < HALF, other=0.0)
    sin = tl.load(sin_ptr + pos * HALF + d, mask=d < HALF, other=0.0)
    q_off = tok * (NQ * 2 * HALF)
    k_off = tok * (NK * 2 * HALF)
    _rotate_heads(q_ptr + q_off, qo_ptr + q_off, cos, sin, NQ, HALF, BLOCK_Q, BLOCK_D)
    _rotate_heads(k_ptr + k_off, ko_ptr + k_off, cos, sin, NK, HALF, BLOCK_K, BLOCK_D)


def apply_rope(q, k, position_ids, cos_table, sin_table):
    q = q.contiguous()
    k = k.contiguous()
    b, s, nq, hd = q.shape
    nk = k.shape[2]
    half = hd // 2
    q_out = torch.empty_like(q)
    k_out = torch.empty_like(k)
    rope_kernel[(b * s,)](
        q, k, q_out, k_out, position_ids.contiguous(), cos_table, sin_table,
        NQ=nq, NK=nk, HALF=half,
        BLOCK_Q=triton.next_power_of_2(nq),
        BLOCK_K=triton.next_power_of_2(nk),
        BLOCK_D=triton.next_power_of_2(half),
        num_warps=4,
    )
    return q_out, k_out


class ModelNew(nn.Module):
    def __init__(self, head_dim, max_pos, theta):
        super().__init__()
        inv = theta ** (-torch.arange(0, head_dim, 2).float() / head_dim)
        ang = torch.arange(max_pos).float()[:, None] * inv[None, :]
        self.register_buffer("cos_table", ang.cos())
        self.register_buffer("sin_table", ang.sin())

    def forward(self, q, k, position_ids):
        return apply_rope(q, k, position_ids, self.cos_table, self.sin_table)
