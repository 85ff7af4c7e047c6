"""Batched 4x4 solves for moving least squares: Gauss-Jordan on the augmented matrix, one particle per program."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def solve4_kernel(a_ptr, b_ptr, x_ptr, ridge):
    n = tl.program_id(0).to(tl.int64)
    rows = tl.arange(0, 4)[:, None]
    cols = tl.arange(0, 8)[None, :]          # 0..3 the matrix, 4 the right-hand side, rest padding

    m = tl.load(a_ptr + n * 16 + rows * 4 + cols, mask=cols < 4, other=0.0)
    b = tl.load(b_ptr + n * 4 + rows + 0 * cols, mask=cols == 4, other=0.0)
    m = m + b
    m = tl.where(rows == cols, m + ridge, m)

    # symmetric positive definite: no pivoting needed
    for k in tl.static_range(4):
        prow = tl.sum(tl.where(rows == k, m, 0.0), axis=0)[None, :]
        pivot = tl.sum(tl.where(cols == k, prow, 0.0), axis=1)[:, None]
        prow = prow / pivot
        factor = tl.sum(tl.where(cols == k, m, 0.0), axis=1)[:, None]
        m = tl.where(rows == k, prow, m - factor * prow)

    x = tl.sum(tl.where(cols == 4, m, 0.0), axis=1)
    tl.store(x_ptr + n * 4 + tl.arange(0, 4), x)


class ModelNew(nn.Module):
    def __init__(self, ridge):
        super().__init__()
        self.ridge = ridge

    def forward(self, moments, rhs):
        N = moments.shape[0]
        x = torch.empty_like(rhs)
        solve4_kernel[(N,)](moments, rhs, x, self.ridge)
        return x
