import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _online_softmax_step(q, k, v, acc, m_i, l_i, visible, qk_scale):
    s = tl.dot(q, tl.trans(k)) * qk_scale
    s = tl.where(visible, s, -1.0e6)
    m_new = tl.maximum(m_i, tl.max(s, 1))
    p = tl.exp2(s - m_new[:, None])
    alpha = tl.exp2(m_i - m_new)
    l_i = l_i * alpha + tl.sum(p, 1)
    acc = acc * alpha[:, None]
    acc = tl.dot(p.to(v.dtype), v, acc)
    return acc, m_new, l_i


@triton.jit
def swa_fwd_kernel(
    Q, K, V, O,
    sqb, sqh, sqs,
    skb, skh, sks,
    svb, svh, svs,
    sob, soh, sos,
    n_heads, group, seq_len, window, qk_scale,
    HEAD_DIM: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    start_m = tl.program_id(0) * BLOCK_M
    bh = tl.program_id(1)
    b = (bh // n_heads).to(tl.int64)
    h = (bh % n_heads).to(tl.int64)
    h_kv = h // group

    offs_m = start_m + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)

    q_base = Q + b * sqb + h * sqh
    k_base = K + b * skb + h_kv * skh
    v_base = V + b * svb + h_kv * svh
    q = tl.load(q_base + offs_m[:, None] * sqs + offs_d[None, :],
                mask=offs_m[:, None] < seq_len, other=0.0)

    m_i = tl.full([BLOCK_M], -float("inf"), dtype=tl.float32)
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)

    lo = 0
    hi = tl.minimum(start_m + BLOCK_M, seq_len)
    for start_n in range(lo, hi, BLOCK_N):
        cols = start_n + offs_n
        in_range = cols[:, None] < seq_len
        k = tl.load(k_base + cols[:, None] * sks + offs_d[None, :], mask=in_range, other=0.0)
        v = tl.load(v_base + cols[:, None] * svs + offs_d[None, :], mask=in_range, other=0.0)
        dist = offs_m[:, None] - cols[None, :]
        visible = (dist >= 0) & (dist < window)
        acc, m_i, l_i = _online_softmax_step(q, k, v, acc, m_i, l_i, visible, qk_scale)

    out = acc / l_i[:, None]
    tl.store(O + b * sob + h * soh + offs_m[:, None] * sos + offs_d[None, :],
             out.to(O.dtype.element_ty), mask=offs_m[:, None] < seq_len)


def sliding_window_attention(q, k, v, window):
    B, H, S, D = q.shape
    o = torch.empty_like(q)
    BLOCK_M, BLOCK_N = 128, 64
    grid = (triton.cdiv(S, BLOCK_M), B * H)
    swa_fwd_kernel[grid](
        q, k, v, o,
        q.stride(0), q.stride(1), q.stride(2),
        k.stride(0), k.stride(1), k.stride(2),
        v.stride(0), v.stride(1), v.stride(2),
        o.stride(0), o.stride(1), o.stride(2),
        H, H // k.shape[1], S, window, D ** -0.5 * 1.4426950408889634,
        HEAD_DIM=D, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N,
        num_warps=4, num_stages=3,
    )
    return o


class ModelNew(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.window = window

    def forward(self, q, k, v):
        return sliding_window_attention(q, k, v, self.window)
