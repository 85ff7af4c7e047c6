import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rotate_heads(src, dst, cos, sin, heads, half: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_D: tl.constexpr):
    h = tl.arange(0, BLOCK_H)
    d = tl.arange(0, BLOCK_D)
    offs = h[:, None] * (2 * half) + d[None, :]
    mask = (h[:, None] < heads) & (d[None, :] < half)
    a = tl.load(src + offs, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(src + offs + half, mask=mask, other=0.0).to(tl.float32)
    dtype = dst.dtype.element_ty
    tl.store(dst + offs, (a * cos[None, :] - b * sin[None, :]).to(dtype), mask=mask)
    tl.store(dst + offs + half, (b * cos[None, :] + a * sin[None, :]).to(dtype), mask=mask)


@triton.jit
def rope_kernel(
    q_ptr, k_ptr, q_out, k_out, cos_ptr, sin_ptr,
    seq, q_heads, kv_heads,
    HALF: tl.constexpr,
    BLOCK_HQ: tl.constexpr, BLOCK_HK: tl.constexpr, BLOCK_D: tl.constexpr,
):
    # one token per program, all its heads
    tok = tl.program_id(0).to(tl.int64)
    pos = tok % seq
    d = tl.arange(0, BLOCK_D)
    cos = tl.load(cos_ptr + pos * HALF + d, mask=d < HALF, other=0.0)
    sin = tl.load(sin_ptr + pos * HALF + d, mask=d < HALF, other=0.0)
    q_off = tok * q_heads * (2 * HALF)
    k_off = tok * kv_heads * (2 * HALF)
    rotate_heads(q_ptr + q_off, q_out + q_off, cos, sin, q_heads, HALF, BLOCK_HQ, BLOCK_D)
    rotate_heads(k_ptr + k_off, k_out + k_off, cos, sin, kv_heads, HALF, BLOCK_HK, BLOCK_D)


class ModelNew(nn.Module):
    def __init__(self, max_seq, head_dim, base):
        super().__init__()
        inv = base ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
        ang = torch.arange(max_seq, dtype=torch.float64)[:, None] * inv[None, :]
        self.register_buffer("cos", ang.cos().float())
        self.register_buffer("sin", ang.sin().float())

    def forward(self, q, k):
        q, k = q.contiguous(), k.contiguous()
        b, s, hq, d = q.shape
        hk = k.shape[2]
        q_out, k_out = torch.empty_like(q), torch.empty_like(k)
        half = d // 2
        rope_kernel[(b * s,)](
            q, k, q_out, k_out, self.cos, self.sin,
            s, hq, hk,
            HALF=half,
            BLOCK_HQ=triton.next_power_of_2(hq), BLOCK_HK=triton.next_power_of_2(hk),
            BLOCK_D=triton.next_power_of_2(half),
            num_warps=4,
        )
        return q_out, k_out
