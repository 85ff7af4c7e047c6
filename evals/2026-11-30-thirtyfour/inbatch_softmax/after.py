import torch
import torch.nn as nn
import triton
import triton.language as tl

LOG2E = tl.constexpr(1.4426950408889634)


@triton.jit
def partial_lse_kernel(u_ptr, v_ptr, id_ptr, logq_ptr, scale_ptr, m_ptr, s_ptr, B, D, COLS_PER_SPLIT,
                       BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr):
    # A block of queries against one span of items: the tile of logits (in base 2) lives in registers only.
    split = tl.program_id(1)
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, BLOCK_D)
    row_ok = rows < B
    u = tl.load(u_ptr + rows[:, None] * D + d[None, :], mask=row_ok[:, None] & (d[None, :] < D), other=0.0)
    row_id = tl.load(id_ptr + rows, mask=row_ok, other=-1)
    scale = tl.exp(tl.load(scale_ptr)) * LOG2E
    m = tl.full([BLOCK_M], -1e30, tl.float32)
    s = tl.zeros([BLOCK_M], tl.float32)
    first = split * COLS_PER_SPLIT
    for start in range(first, min(first + COLS_PER_SPLIT, B), BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        col_ok = cols < B
        v = tl.load(v_ptr + cols[None, :] * D + d[:, None], mask=col_ok[None, :] & (d[:, None] < D), other=0.0)
        logq = tl.load(logq_ptr + cols, mask=col_ok, other=1e30) * LOG2E
        col_id = tl.load(id_ptr + cols, mask=col_ok, other=-2)
        logits = tl.dot(u, v) * scale - logq[None, :]
        hit = (row_id[:, None] == col_id[None, :]) & (rows[:, None] != cols[None, :])
        logits = tl.where(hit, -1e30, logits)
        m_new = tl.maximum(m, tl.max(logits, axis=1))
        s = s * tl.exp2(m - m_new) + tl.sum(tl.exp2(logits - m_new[:, None]), axis=1)
        m = m_new
    tl.store(m_ptr + split * B + rows, m, mask=row_ok)
    tl.store(s_ptr + split * B + rows, s, mask=row_ok)


@triton.jit
def combine_kernel(u_ptr, v_ptr, logq_ptr, scale_ptr, m_ptr, s_ptr, loss_ptr, B, D, SPLITS,
                   BLOCK: tl.constexpr, BLOCK_D: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, BLOCK_D)
    ok = rows < B
    tile = ok[:, None] & (d[None, :] < D)
    u = tl.load(u_ptr + rows[:, None] * D + d[None, :], mask=tile, other=0.0).to(tl.float32)
    v = tl.load(v_ptr + rows[:, None] * D + d[None, :], mask=tile, other=0.0).to(tl.float32)
    pos = tl.sum(u * v, axis=1) * tl.exp(tl.load(scale_ptr)) - tl.load(logq_ptr + rows, mask=ok, other=0.0)
    m = tl.full([BLOCK], -1e30, tl.float32)
    s = tl.zeros([BLOCK], tl.float32)
    for i in range(SPLITS):
        mi = tl.load(m_ptr + i * B + rows, mask=ok, other=0.0)
        si = tl.load(s_ptr + i * B + rows, mask=ok, other=1.0)
        m_new = tl.maximum(m, mi)
        s = s * tl.exp2(m - m_new) + si * tl.exp2(mi - m_new)
        m = m_new
    tl.store(loss_ptr + rows, (m + tl.log2(s)) / LOG2E - pos, mask=ok)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(0.5))

    def forward(self, users, items, item_ids, log_q):
        B, D = users.shape
        BM, BN, BD = 128, 64, max(16, triton.next_power_of_2(D))
        row_blocks, col_blocks = triton.cdiv(B, BM), triton.cdiv(B, BN)
        splits = max(1, min(col_blocks, 256 // row_blocks))
        per_split = triton.cdiv(col_blocks, splits)
        splits = triton.cdiv(col_blocks, per_split)
        part = torch.empty((2, splits, B), device=users.device, dtype=torch.float32)
        loss = torch.empty(B, device=users.device, dtype=torch.float32)
        partial_lse_kernel[(row_blocks, splits)](
            users, items, item_ids, log_q, self.log_scale, part[0], part[1], B, D, per_split * BN,
            BLOCK_M=BM, BLOCK_N=BN, BLOCK_D=BD, num_warps=8, num_stages=3)
        combine_kernel[(triton.cdiv(B, 32),)](users, items, log_q, self.log_scale, part[0], part[1], loss, B, D, splits,
                                              BLOCK=32, BLOCK_D=BD, num_warps=4)
        return loss
