import math
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def local_attn_fwd(
    Q, K, V, O,
    stride_bh, stride_t,
    T, window, qk_scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr,
):
    pid_m = tl.program_id(0)
    pid_bh = tl.program_id(1).to(tl.int64)
    base = pid_bh * stride_bh
    offs_m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_d = tl.arange(0, HEAD)

    q = tl.load(Q + base + offs_m[:, None] * stride_t + offs_d[None, :],
                mask=offs_m[:, None] < T, other=0.0)
    m_i = tl.full((BLOCK_M,), -1e30, dtype=tl.float32)
    l_i = tl.zeros((BLOCK_M,), dtype=tl.float32)
    acc = tl.zeros((BLOCK_M, HEAD), dtype=tl.float32)

    hi = tl.minimum((pid_m + 1) * BLOCK_M, T)
    lo = tl.maximum(pid_m * BLOCK_M - window + 1, 0) // BLOCK_N * BLOCK_N
    for start in range(lo, hi, BLOCK_N):
        offs_n = start + tl.arange(0, BLOCK_N)
        k = tl.load(K + base + offs_n[None, :] * stride_t + offs_d[:, None],
                    mask=offs_n[None, :] < T, other=0.0)
        s = tl.dot(q, k) * qk_scale
        dist = offs_m[:, None] - offs_n[None, :]
        keep = (dist >= 0) & (dist < window)
        s = tl.where(keep, s, -1e30)
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        p = tl.where(keep, tl.exp2(s - m_new[:, None]), 0.0)
        alpha = tl.exp2(m_i - m_new)
        l_i = l_i * alpha + tl.sum(p, axis=1)
        v = tl.load(V + base + offs_n[:, None] * stride_t + offs_d[None, :],
                    mask=offs_n[:, None] < T, other=0.0)
        acc = acc * alpha[:, None] + tl.dot(p.to(v.dtype), v)
        m_i = m_new

    acc = acc / l_i[:, None]
    tl.store(O + base + offs_m[:, None] * stride_t + offs_d[None, :],
             acc.to(O.dtype.element_ty), mask=offs_m[:, None] < T)


class ModelNew(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.window = window

    def forward(self, q, k, v):
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        B, H, T, D = q.shape
        o = torch.empty_like(q)
        BLOCK_M, BLOCK_N = 64, 64
        grid = (triton.cdiv(T, BLOCK_M), B * H)
        local_attn_fwd[grid](
            q, k, v, o, q.stride(1), q.stride(2), T, self.window,
            1.4426950408889634 / math.sqrt(D),
            BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, HEAD=D, num_warps=4, num_stages=3,
        )
        return o
