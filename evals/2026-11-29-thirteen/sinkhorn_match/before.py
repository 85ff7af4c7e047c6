import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def load_scores(scores_ptr, batch, m, n, inv_temp, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.arange(0, BM)
    j = tl.arange(0, BN)
    mask = (i < m)[:, None] & (j < n)[None, :]
    base = batch.to(tl.int64) * m * n
    z = tl.load(scores_ptr + base + i[:, None] * n + j[None, :], mask=mask, other=0.0)
    return tl.where(mask, z * inv_temp, -1e30)


@triton.jit
def logsumexp(x, axis: tl.constexpr):
    top = tl.max(x, axis=axis)
    return top + tl.log(tl.sum(tl.exp(x - tl.expand_dims(top, axis)), axis=axis))


@triton.jit
def update_u(scores_ptr, u_ptr, v_ptr, m, n, inv_temp, log_mu, BM: tl.constexpr, BN: tl.constexpr):
    b = tl.program_id(0)
    i = tl.arange(0, BM)
    j = tl.arange(0, BN)
    z = load_scores(scores_ptr, b, m, n, inv_temp, BM, BN)
    v = tl.load(v_ptr + b * n + j, mask=j < n, other=0.0)
    u = log_mu - logsumexp(z + v[None, :], 1)
    tl.store(u_ptr + b * m + i, u, mask=i < m)


@triton.jit
def update_v(scores_ptr, u_ptr, v_ptr, m, n, inv_temp, log_nu, BM: tl.constexpr, BN: tl.constexpr):
    b = tl.program_id(0)
    i = tl.arange(0, BM)
    j = tl.arange(0, BN)
    z = load_scores(scores_ptr, b, m, n, inv_temp, BM, BN)
    u = tl.load(u_ptr + b * m + i, mask=i < m, other=0.0)
    v = log_nu - logsumexp(z + u[:, None], 0)
    tl.store(v_ptr + b * n + j, v, mask=j < n)


@triton.jit
def transport_plan(scores_ptr, u_ptr, v_ptr, plan_ptr, m, n, inv_temp, BM: tl.constexpr, BN: tl.constexpr):
    b = tl.program_id(0)
    i = tl.arange(0, BM)
    j = tl.arange(0, BN)
    mask = (i < m)[:, None] & (j < n)[None, :]
    z = load_scores(scores_ptr, b, m, n, inv_temp, BM, BN)
    u = tl.load(u_ptr + b * m + i, mask=i < m, other=0.0)
    v = tl.load(v_ptr + b * n + j, mask=j < n, other=0.0)
    p = tl.exp(z + u[:, None] + v[None, :])
    tl.store(plan_ptr + b.to(tl.int64) * m * n + i[:, None] * n + j[None, :], p, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, iters, temperature):
        super().__init__()
        self.iters = iters
        self.temperature = temperature

    def forward(self, scores):
        scores = scores.contiguous()
        b, m, n = scores.shape
        blocks = dict(BM=triton.next_power_of_2(m), BN=triton.next_power_of_2(n), num_warps=4)
        inv_temp = 1.0 / self.temperature
        log_mu, log_nu = -math.log(m), -math.log(n)

        u = torch.zeros(b, m, device=scores.device, dtype=torch.float32)
        v = torch.zeros(b, n, device=scores.device, dtype=torch.float32)
        plan = torch.empty_like(scores)
        for _ in range(self.iters):
            update_u[(b,)](scores, u, v, m, n, inv_temp, log_mu, **blocks)
            update_v[(b,)](scores, u, v, m, n, inv_temp, log_nu, **blocks)
        transport_plan[(b,)](scores, u, v, plan, m, n, inv_temp, **blocks)
        return plan
