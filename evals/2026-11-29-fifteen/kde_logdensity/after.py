import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _kde_kernel(q_ptr, p_ptr, out_ptr, num_q, num_p, neg_half_inv_h2, log_norm,
                D: tl.constexpr, BLOCK_Q: tl.constexpr, BLOCK_P: tl.constexpr):
    rows = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    row_ok = rows < num_q

    running_max = tl.full((BLOCK_Q,), -1.0e30, dtype=tl.float32)
    running_sum = tl.zeros((BLOCK_Q,), dtype=tl.float32)

    for start in range(0, num_p, BLOCK_P):
        cols = start + tl.arange(0, BLOCK_P)
        col_ok = cols < num_p
        d2 = tl.zeros((BLOCK_Q, BLOCK_P), dtype=tl.float32)
        for k in tl.static_range(D):
            q = tl.load(q_ptr + rows * D + k, mask=row_ok, other=0.0)
            p = tl.load(p_ptr + cols * D + k, mask=col_ok, other=0.0)
            diff = q[:, None] - p[None, :]
            d2 += diff * diff
        logit = d2 * neg_half_inv_h2
        logit = tl.where(col_ok[None, :], logit, -1.0e30)
        new_max = tl.maximum(running_max, tl.max(logit, axis=1))
        running_sum = running_sum * tl.exp(running_max - new_max)
        running_sum += tl.sum(tl.exp(logit - new_max[:, None]), axis=1)
        running_max = new_max

    result = running_max + tl.log(running_sum) - log_norm
    tl.store(out_ptr + rows, result, mask=row_ok)


def kde_log_density(queries, points, bandwidth):
    queries = queries.contiguous()
    points = points.contiguous()
    num_q, dim = queries.shape
    num_p = points.shape[0]
    out = torch.empty(num_q, device=queries.device, dtype=torch.float32)
    log_norm = math.log(num_p) + 0.5 * dim * math.log(2.0 * math.pi) + dim * math.log(bandwidth)
    BLOCK_Q, BLOCK_P = 16, 64
    _kde_kernel[(triton.cdiv(num_q, BLOCK_Q),)](
        queries, points, out, num_q, num_p, -0.5 / (bandwidth * bandwidth), log_norm,
        D=dim, BLOCK_Q=BLOCK_Q, BLOCK_P=BLOCK_P, num_warps=4,
    )
    return out


class ModelNew(nn.Module):
    def __init__(self, bandwidth):
        super().__init__()
        self.bandwidth = bandwidth

    def forward(self, queries, points):
        return kde_log_density(queries, points, self.bandwidth)
