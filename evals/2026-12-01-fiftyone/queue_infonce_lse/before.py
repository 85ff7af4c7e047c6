import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def queue_lse_kernel(q_ptr, queue_ptr, m_ptr, s_ptr, N, K, D, scale, per_split,
                     BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    split = tl.program_id(1)
    lo = split * per_split
    hi = tl.minimum(lo + per_split, K)
    d = tl.arange(0, BLOCK_D)

    m = tl.full([BLOCK_M], -1.0e30, dtype=tl.float32)
    s = tl.zeros([BLOCK_M], dtype=tl.float32)
    for start in range(lo, hi, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
        for d0 in range(0, D, BLOCK_D):
            dd = d0 + d
            q = tl.load(q_ptr + rows[:, None] * D + dd[None, :],
                        mask=(rows[:, None] < N) & (dd[None, :] < D), other=0.0).to(tl.float32)
            kt = tl.load(queue_ptr + cols[None, :] * D + dd[:, None],
                         mask=(cols[None, :] < hi) & (dd[:, None] < D), other=0.0).to(tl.float32)
            acc += tl.dot(q, kt, input_precision="ieee")
        x = tl.where(cols[None, :] < hi, acc * scale, -1.0e30)
        m_new = tl.maximum(m, tl.max(x, 1))
        s = s * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new[:, None]), 1)
        m = m_new
    tl.store(m_ptr + split * N + rows, m, mask=rows < N)
    tl.store(s_ptr + split * N + rows, s, mask=rows < N)


@triton.jit
def combine_kernel(q_ptr, k_ptr, m_ptr, s_ptr, out_ptr, N, D, splits, scale,
                   BLOCK_S: tl.constexpr, BLOCK_D: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, BLOCK_D)
    q = tl.load(q_ptr + row * D + d, mask=d < D, other=0.0).to(tl.float32)
    k = tl.load(k_ptr + row * D + d, mask=d < D, other=0.0).to(tl.float32)
    pos = tl.sum(q * k, 0) * scale
    j = tl.arange(0, BLOCK_S)
    m = tl.load(m_ptr + j * N + row, mask=j < splits, other=-1.0e30)
    s = tl.load(s_ptr + j * N + row, mask=j < splits, other=0.0)
    top = tl.maximum(tl.max(m, 0), pos)
    total = tl.sum(s * tl.exp(m - top), 0) + tl.exp(pos - top)
    tl.store(out_ptr + row, top + tl.log(total) - pos)


class ModelNew(nn.Module):
    def __init__(self, tau):
        super().__init__()
        self.tau = tau

    def forward(self, q, k, queue):
        N, D = q.shape
        K = queue.shape[0]
        BLOCK_M, BLOCK_N, BLOCK_D = 64, 64, 32
        splits = max(1, min(64, K // 512))
        per_split = triton.cdiv(triton.cdiv(K, splits), BLOCK_N) * BLOCK_N
        splits = triton.cdiv(K, per_split)
        m = torch.empty(splits, N, device=q.device, dtype=torch.float32)
        s = torch.empty_like(m)
        out = torch.empty(N, device=q.device, dtype=torch.float32)
        scale = 1.0 / self.tau
        queue_lse_kernel[(triton.cdiv(N, BLOCK_M), splits)](
            q, queue, m, s, N, K, D, scale, per_split,
            BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_D=BLOCK_D, num_warps=4)
        combine_kernel[(N,)](q, k, m, s, out, N, D, splits, scale,
                             BLOCK_S=triton.next_power_of_2(splits), BLOCK_D=triton.next_power_of_2(D), num_warps=1)
        return out
