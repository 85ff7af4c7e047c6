import torch
import torch.nn as nn
import triton
import triton.language as tl

LOG2E = 1.4426950408889634


@triton.jit
def infonce_kernel(q_ptr, k_ptr, log_scale_ptr, loss_ptr, n, d, LOG2E: tl.constexpr,
                   BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr):
    pid = tl.program_id(0)
    rows = pid * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, BLOCK_D)
    row_ok = rows < n
    dim_ok = dims < d
    scale = tl.exp(tl.load(log_scale_ptr)) * LOG2E

    # float16 products are exact in float32: feed the tensor cores as is, accumulate in float32
    q = tl.load(q_ptr + rows[:, None] * d + dims[None, :],
                mask=row_ok[:, None] & dim_ok[None, :], other=0.0)

    m_i = tl.full((BLOCK_M,), -float("inf"), dtype=tl.float32)
    l_i = tl.zeros((BLOCK_M,), dtype=tl.float32)
    pos = tl.zeros((BLOCK_M,), dtype=tl.float32)
    for start in range(0, n, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        col_ok = cols < n
        k = tl.load(k_ptr + cols[:, None] * d + dims[None, :],
                    mask=col_ok[:, None] & dim_ok[None, :], other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        s = tl.where(col_ok[None, :], s, -float("inf"))
        pos += tl.sum(tl.where(rows[:, None] == cols[None, :], s, 0.0), axis=1)
        m_new = tl.maximum(m_i, tl.max(s, axis=1))
        l_i = l_i * tl.exp2(m_i - m_new) + tl.sum(tl.exp2(s - m_new[:, None]), axis=1)
        m_i = m_new

    loss = (m_i + tl.log2(l_i) - pos) / LOG2E
    tl.store(loss_ptr + rows, loss, mask=row_ok)


class ModelNew(nn.Module):
    def __init__(self, init_log_scale):
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor([init_log_scale], dtype=torch.float32))

    def forward(self, query, key):
        query, key = query.contiguous(), key.contiguous()
        n, d = query.shape
        loss = torch.empty(n, dtype=torch.float32, device=query.device)
        # enough row blocks to cover the card for moderate batches
        BLOCK_M = 32 if n <= 4096 else 64
        grid = (triton.cdiv(n, BLOCK_M),)
        infonce_kernel[grid](query, key, self.log_scale, loss, n, d, LOG2E=LOG2E,
                             BLOCK_M=BLOCK_M, BLOCK_N=64,
                             BLOCK_D=max(16, triton.next_power_of_2(d)),
                             num_warps=BLOCK_M // 8, num_stages=2)
        return loss
