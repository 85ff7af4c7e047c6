import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def inbatch_softmax_kernel(user_ptr, item_ptr, logq_ptr, loss_ptr, batch, dim, inv_temp,
                           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    k_idx = tl.arange(0, BLOCK_K)
    row_live = rows < batch

    m = tl.full([BLOCK_M], -1.0e30, dtype=tl.float32)
    s = tl.zeros([BLOCK_M], dtype=tl.float32)
    positive = tl.zeros([BLOCK_M], dtype=tl.float32)
    for start in range(0, batch, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        col_live = cols < batch
        acc = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
        for k0 in range(0, dim, BLOCK_K):
            ks = k0 + k_idx
            u = tl.load(user_ptr + rows[:, None] * dim + ks[None, :],
                        mask=row_live[:, None] & (ks[None, :] < dim), other=0.0)
            v = tl.load(item_ptr + cols[None, :] * dim + ks[:, None],
                        mask=col_live[None, :] & (ks[:, None] < dim), other=0.0)
            # the temperature is small, so keep the logits in full precision
            acc += tl.dot(u.to(tl.float32), v.to(tl.float32), input_precision="ieee")
        log_q = tl.load(logq_ptr + cols, mask=col_live, other=0.0)
        logits = acc * inv_temp - log_q[None, :]
        logits = tl.where(col_live[None, :], logits, -1.0e30)
        positive += tl.sum(tl.where(rows[:, None] == cols[None, :], logits, 0.0), axis=1)
        m_new = tl.maximum(m, tl.max(logits, axis=1))
        s = s * tl.exp(m - m_new) + tl.sum(tl.exp(logits - m_new[:, None]), axis=1)
        m = m_new

    tl.store(loss_ptr + rows, m + tl.log(s) - positive, mask=row_live)


class ModelNew(nn.Module):
    def __init__(self, temperature):
        super().__init__()
        self.temperature = temperature

    def forward(self, users, items, log_q):
        users, items = users.contiguous(), items.contiguous()
        batch, dim = users.shape
        loss = torch.empty(batch, dtype=torch.float32, device=users.device)
        BLOCK_M = 64 if batch >= 4096 else 32
        grid = (triton.cdiv(batch, BLOCK_M),)
        inbatch_softmax_kernel[grid](users, items, log_q, loss, batch, dim, 1.0 / self.temperature,
                                     BLOCK_M=BLOCK_M, BLOCK_N=64, BLOCK_K=32, num_warps=4)
        return loss
