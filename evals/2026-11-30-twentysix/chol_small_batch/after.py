"""Cholesky factors and log-determinants of many small SPD matrices (Kalman innovation covariances)."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def cholesky_kernel(s_ptr, noise_ptr, l_ptr, logdet_ptr, n, BLOCK: tl.constexpr):
    b = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, BLOCK)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    inside = (rows < n) & (cols < n)
    offs = rows * n + cols

    a = tl.load(s_ptr + b * n * n + offs, mask=inside, other=0.0)
    noise = tl.load(noise_ptr + rows, mask=rows < n, other=1.0)
    a += tl.where(rows == cols, noise, 0.0)
    # rows and columns past n are those of the identity

    logdet = 0.0
    for k in range(n):
        # column k of what is left, and the same numbers as a row (symmetric)
        col = tl.sum(tl.where(cols == k, a, 0.0), axis=1)
        row = tl.sum(tl.where(rows == k, a, 0.0), axis=0)
        pivot = tl.sum(tl.where((rows == k) & (cols == k), a, 0.0))
        inv = 1.0 / tl.sqrt(pivot)
        logdet += tl.log(pivot)

        lcol = col[:, None] * inv
        lrow = row[None, :] * inv
        a = tl.where((rows > k) & (cols > k), a - lcol * lrow, a)
        a = tl.where((cols == k) & (rows >= k), lcol, a)

    tl.store(l_ptr + b * n * n + offs, tl.where(rows >= cols, a, 0.0), mask=inside)
    tl.store(logdet_ptr + b, logdet)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.noise = nn.Parameter(torch.linspace(0.5, 1.5, dim), requires_grad=False)

    def forward(self, S):
        batch, n, _ = S.shape
        L = torch.empty_like(S)
        logdet = torch.empty(batch, dtype=S.dtype, device=S.device)
        BLOCK = triton.next_power_of_2(n)
        # one warp holds the whole tile: no barriers, no shared memory in the column loop
        cholesky_kernel[(batch,)](S, self.noise, L, logdet, n, BLOCK=BLOCK, num_warps=1)
        return L, logdet
