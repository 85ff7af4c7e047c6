import math
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _bwd_dkdv_kernel(
    Q, K, V, DO, LSE, DELTA, DK, DV,
    S, scale, window,
    D: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    pid_n = tl.program_id(0)
    bh = tl.program_id(1).to(tl.int64)
    base = bh * S * D
    lse_base = LSE + bh * S
    delta_base = DELTA + bh * S

    offs_n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, D)
    n_ok = offs_n < S
    kv_ptrs = base + offs_n[:, None] * D + offs_d[None, :]
    k = tl.load(K + kv_ptrs, mask=n_ok[:, None], other=0.0)
    v = tl.load(V + kv_ptrs, mask=n_ok[:, None], other=0.0)

    dk = tl.zeros([BLOCK_N, D], dtype=tl.float32)
    dv = tl.zeros([BLOCK_N, D], dtype=tl.float32)
    qk_scale = scale * 1.4426950408889634

    for start_m in range(0, S, BLOCK_M):
        offs_m = start_m + tl.arange(0, BLOCK_M)
        m_ok = offs_m < S
        q_ptrs = base + offs_m[:, None] * D + offs_d[None, :]
        q = tl.load(Q + q_ptrs, mask=m_ok[:, None], other=0.0)
        do = tl.load(DO + q_ptrs, mask=m_ok[:, None], other=0.0)
        lse = tl.load(lse_base + offs_m, mask=m_ok, other=0.0) * 1.4426950408889634
        delta = tl.load(delta_base + offs_m, mask=m_ok, other=0.0)

        # scores transposed: rows are keys, columns are queries
        st = tl.dot(k, tl.trans(q)) * qk_scale - lse[None, :]
        dist = offs_m[None, :] - offs_n[:, None]
        keep = (dist >= 0) & (dist < window) & m_ok[None, :]
        pt = tl.exp2(tl.where(keep, st, float("-inf")))
        dv += tl.dot(pt.to(do.dtype), do)
        dpt = tl.dot(v, tl.trans(do))
        dst = pt * (dpt - delta[None, :])
        dk += tl.dot(dst.to(q.dtype), q)

    tl.store(DK + kv_ptrs, (dk * scale).to(DK.dtype.element_ty), mask=n_ok[:, None])
    tl.store(DV + kv_ptrs, dv.to(DV.dtype.element_ty), mask=n_ok[:, None])


class ModelNew(nn.Module):
    def __init__(self, window, head_dim):
        super().__init__()
        self.window = window
        self.scale = 1.0 / math.sqrt(head_dim)

    def forward(self, q, k, v, do, lse, delta):
        b, h, s, d = q.shape
        q, k, v, do = (t.contiguous() for t in (q, k, v, do))
        dk = torch.empty_like(k)
        dv = torch.empty_like(v)
        BLOCK_M, BLOCK_N = 64, 64
        grid = (triton.cdiv(s, BLOCK_N), b * h)
        _bwd_dkdv_kernel[grid](
            q, k, v, do, lse.contiguous(), delta.contiguous(), dk, dv,
            s, self.scale, self.window,
            D=d, BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, num_warps=4, num_stages=2,
        )
        return dk, dv
