import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _swa_fwd(
    q_ptr, k_ptr, v_ptr, o_ptr,
    sb, sh, ss,
    n_heads, seq_len, window, scale_log2,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, D: tl.constexpr,
):
    start_m = tl.program_id(0) * BLOCK_M
    bh = tl.program_id(1)
    off = (bh // n_heads).to(tl.int64) * sb + (bh % n_heads).to(tl.int64) * sh

    rows = start_m + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + off + rows[:, None] * ss + d[None, :], mask=rows[:, None] < seq_len, other=0.0)

    m_i = tl.full((BLOCK_M,), -1.0e30, tl.float32)
    l_i = tl.zeros((BLOCK_M,), tl.float32)
    acc = tl.zeros((BLOCK_M, D), tl.float32)
    hi = tl.minimum(start_m + BLOCK_M, seq_len)
    for start_n in range(0, hi, BLOCK_N):
        cols = start_n + tl.arange(0, BLOCK_N)
        k = tl.load(k_ptr + off + cols[None, :] * ss + d[:, None], mask=cols[None, :] < seq_len, other=0.0)
        qk = tl.dot(q, k) * scale_log2
        dist = rows[:, None] - cols[None, :]
        visible = (dist >= 0) & (dist < window) & (cols[None, :] < seq_len)
        qk = tl.where(visible, qk, -1.0e30)
        m_new = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.where(visible, tl.exp2(qk - m_new[:, None]), 0.0)
        alpha = tl.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + off + cols[:, None] * ss + d[None, :], mask=cols[:, None] < seq_len, other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * alpha[:, None])
        m_i = m_new

    acc = acc / tl.where(l_i > 0.0, l_i, 1.0)[:, None]
    tl.store(o_ptr + off + rows[:, None] * ss + d[None, :], acc.to(o_ptr.dtype.element_ty), mask=rows[:, None] < seq_len)


class ModelNew(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.window = window

    def forward(self, q, k, v):
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        b, h, s, d = q.shape
        o = torch.empty_like(q)
        grid = (triton.cdiv(s, 64), b * h)
        _swa_fwd[grid](
            q, k, v, o,
            q.stride(0), q.stride(1), q.stride(2),
            h, s, self.window, d ** -0.5 * 1.44269504,
            BLOCK_M=64, BLOCK_N=64, D=d,
            num_warps=4, num_stages=3,
        )
        return o
