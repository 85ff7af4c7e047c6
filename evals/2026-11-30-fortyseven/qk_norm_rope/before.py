"""Fused QK-norm + RoPE on a packed QKV activation; v is returned as a view."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _qk_norm_rope_kernel(
    qkv_ptr, qw_ptr, kw_ptr, cos_ptr, sin_ptr, out_ptr,
    seq, row_stride, heads, qk_heads, eps,
    HALF: tl.constexpr, BLOCK_H: tl.constexpr,
):
    token = tl.program_id(0)                               # b * seq + s
    h = tl.program_id(1) * BLOCK_H + tl.arange(0, BLOCK_H)   # q heads, then k heads
    d = tl.arange(0, HALF)
    pos = token % seq
    cos = tl.load(cos_ptr + pos * HALF + d)
    sin = tl.load(sin_ptr + pos * HALF + d)

    mask = h[:, None] < qk_heads
    offs = h[:, None] * (2 * HALF) + d[None, :]
    src = qkv_ptr + token.to(tl.int64) * row_stride
    a = tl.load(src + offs, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(src + offs + HALF, mask=mask, other=0.0).to(tl.float32)

    rstd = tl.rsqrt(tl.sum(a * a + b * b, 1) / (2 * HALF) + eps)
    is_q = h[:, None] < heads
    wa = tl.where(is_q, tl.load(qw_ptr + d)[None, :], tl.load(kw_ptr + d)[None, :])
    wb = tl.where(is_q, tl.load(qw_ptr + HALF + d)[None, :], tl.load(kw_ptr + HALF + d)[None, :])
    a = a * rstd[:, None] * wa
    b = b * rstd[:, None] * wb

    dst = out_ptr + token.to(tl.int64) * qk_heads * (2 * HALF)
    out_a = a * cos[None, :] - b * sin[None, :]
    out_b = b * cos[None, :] + a * sin[None, :]
    tl.store(dst + offs, out_a.to(out_ptr.dtype.element_ty), mask=mask)
    tl.store(dst + offs + HALF, out_b.to(out_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, heads, kv_heads, head_dim, max_seq, theta=10000.0, eps=1e-6):
        super().__init__()
        self.heads, self.kv_heads, self.head_dim, self.eps = heads, kv_heads, head_dim, eps
        self.q_weight = nn.Parameter(1.0 + 0.1 * torch.randn(head_dim))
        self.k_weight = nn.Parameter(1.0 + 0.1 * torch.randn(head_dim))
        inv_freq = theta ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)
        angle = torch.arange(max_seq, dtype=torch.float64)[:, None] * inv_freq[None, :]
        self.register_buffer("cos", angle.cos().float())
        self.register_buffer("sin", angle.sin().float())

    def forward(self, qkv):
        qkv = qkv.contiguous()
        b, s, width = qkv.shape
        qk_heads = self.heads + self.kv_heads
        out = torch.empty((b, s, qk_heads, self.head_dim), dtype=qkv.dtype, device=qkv.device)
        BLOCK_H = 8
        _qk_norm_rope_kernel[(b * s, triton.cdiv(qk_heads, BLOCK_H))](
            qkv, self.q_weight, self.k_weight, self.cos, self.sin, out,
            s, width, self.heads, qk_heads, self.eps,
            HALF=self.head_dim // 2, BLOCK_H=BLOCK_H, num_warps=2,
        )
        v = qkv.view(b, s, -1, self.head_dim)[:, :, qk_heads:]
        return out[:, :, :self.heads], out[:, :, self.heads:], v
