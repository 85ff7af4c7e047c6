import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm_rotate(src, dst, w_ptr, cos, sin, eps,
                HEADS: tl.constexpr, HEADS_P2: tl.constexpr, HALF: tl.constexpr):
    h = tl.arange(0, HEADS_P2)[:, None]
    d = tl.arange(0, HALF)[None, :]
    mask = h < HEADS
    offs = h * (2 * HALF) + d
    lo = tl.load(src + offs, mask=mask, other=0.0).to(tl.float32)
    hi = tl.load(src + offs + HALF, mask=mask, other=0.0).to(tl.float32)
    w_lo = tl.load(w_ptr + d).to(tl.float32)
    w_hi = tl.load(w_ptr + HALF + d).to(tl.float32)

    ss = tl.sum(lo * lo + hi * hi, axis=1)
    rstd = tl.rsqrt(ss / (2 * HALF) + eps)[:, None]
    lo = lo * rstd * w_lo
    hi = hi * rstd * w_hi

    tl.store(dst + offs, (lo * cos - hi * sin).to(tl.float16), mask=mask)
    tl.store(dst + offs + HALF, (hi * cos + lo * sin).to(tl.float16), mask=mask)


@triton.jit
def qk_norm_rope_kernel(qkv_ptr, cos_ptr, sin_ptr, qw_ptr, kw_ptr, q_out_ptr, k_out_ptr,
                        qkv_stride, eps,
                        HQ: tl.constexpr, HK: tl.constexpr,
                        HQ_P2: tl.constexpr, HK_P2: tl.constexpr,
                        HALF: tl.constexpr):
    tok = tl.program_id(0).to(tl.int64)
    d = tl.arange(0, HALF)[None, :]
    cos = tl.load(cos_ptr + tok * HALF + d)
    sin = tl.load(sin_ptr + tok * HALF + d)
    row = qkv_ptr + tok * qkv_stride
    norm_rotate(row, q_out_ptr + tok * (HQ * 2 * HALF), qw_ptr, cos, sin, eps, HQ, HQ_P2, HALF)
    norm_rotate(row + HQ * 2 * HALF, k_out_ptr + tok * (HK * 2 * HALF), kw_ptr, cos, sin, eps, HK, HK_P2, HALF)


class ModelNew(nn.Module):
    def __init__(self, q_heads, kv_heads, head_dim):
        super().__init__()
        self.q_heads, self.kv_heads, self.head_dim = q_heads, kv_heads, head_dim
        self.q_weight = nn.Parameter((1 + 0.1 * torch.randn(head_dim)).half())
        self.k_weight = nn.Parameter((1 + 0.1 * torch.randn(head_dim)).half())
        self.eps = 1e-6

    def forward(self, qkv, cos, sin):
        tokens = qkv.shape[0]
        q = torch.empty((tokens, self.q_heads, self.head_dim), device=qkv.device, dtype=qkv.dtype)
        k = torch.empty((tokens, self.kv_heads, self.head_dim), device=qkv.device, dtype=qkv.dtype)
        qk_norm_rope_kernel[(tokens,)](
            qkv, cos, sin, self.q_weight, self.k_weight, q, k,
            qkv.stride(0), self.eps,
            HQ=self.q_heads, HK=self.kv_heads,
            HQ_P2=triton.next_power_of_2(self.q_heads), HK_P2=triton.next_power_of_2(self.kv_heads),
            HALF=self.head_dim // 2,
            num_warps=4,
        )
        return q, k
