"""Sliding-window causal attention with attention sinks, forward only (prefill / evaluation path)."""
import math
import torch
import torch.nn as nn
import triton
import triton.language as tl

LOG2E = 1.4426950408889634


@triton.jit
def _swa_fwd(
    q_ptr, k_ptr, v_ptr, sink_ptr, o_ptr,
    stride_b, stride_h, stride_s,
    seq, heads, window, qk_scale,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    pid_m = tl.num_programs(0) - 1 - tl.program_id(0)     # longest rows first
    pid_bh = tl.program_id(1)
    b = pid_bh // heads
    h = pid_bh % heads
    base = b.to(tl.int64) * stride_b + h.to(tl.int64) * stride_h

    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, D)
    q = tl.load(q_ptr + base + offs_m[:, None] * stride_s + offs_d[None, :],
                mask=offs_m[:, None] < seq, other=0.0)

    # The sink takes part in the softmax but has no value vector.
    sink = tl.load(sink_ptr + h).to(tl.float32) * 1.4426950408889634
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) + sink
    l_i = tl.full([BLOCK_M], 1.0, dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, D], dtype=tl.float32)

    hi = tl.minimum((pid_m + 1) * BLOCK_M, seq)
    for start_n in range(0, hi, BLOCK_N):
        offs_n = start_n + tl.arange(0, BLOCK_N)
        in_seq = offs_n < seq
        kt = tl.load(k_ptr + base + offs_n[None, :] * stride_s + offs_d[:, None],
                     mask=in_seq[None, :], other=0.0)
        s = tl.dot(q, kt) * qk_scale
        dist = offs_m[:, None] - offs_n[None, :]
        s = tl.where((dist >= 0) & (dist < window) & in_seq[None, :], s, float("-inf"))

        m_new = tl.maximum(m_i, tl.max(s, 1))
        p = tl.exp2(s - m_new[:, None])
        alpha = tl.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(v_ptr + base + offs_n[:, None] * stride_s + offs_d[None, :],
                    mask=in_seq[:, None], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc)
        m_i = m_new

    out = acc / l_i[:, None]
    tl.store(o_ptr + base + offs_m[:, None] * stride_s + offs_d[None, :],
             out.to(o_ptr.dtype.element_ty), mask=offs_m[:, None] < seq)


def sliding_window_attention(q, k, v, sinks, window, scale):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    b, h, s, d = q.shape
    out = torch.empty_like(q)
    BLOCK_M, BLOCK_N = 128, 64
    grid = (triton.cdiv(s, BLOCK_M), b * h)
    _swa_fwd[grid](
        q, k, v, sinks, out,
        q.stride(0), q.stride(1), q.stride(2),
        s, h, window, scale * LOG2E,
        D=d, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, num_warps=4, num_stages=3,
    )
    return out


class ModelNew(nn.Module):
    def __init__(self, heads, head_dim, window):
        super().__init__()
        self.window = window
        self.scale = 1.0 / math.sqrt(head_dim)
        self.sinks = nn.Parameter(torch.randn(heads))

    def forward(self, q, k, v):
        return sliding_window_attention(q, k, v, self.sinks, self.window, self.scale)
