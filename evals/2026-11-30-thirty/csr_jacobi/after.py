import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def csr_jacobi_kernel(
    indptr_ptr, indices_ptr, values_ptr,
    dinv_ptr, b_ptr, x_ptr, out_ptr,
    omega, n,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    rmask = rows < n
    start = tl.load(indptr_ptr + rows, mask=rmask, other=0)
    end = tl.load(indptr_ptr + rows + 1, mask=rmask, other=0)
    longest = tl.max(end - start, axis=0)

    acc = tl.zeros([ROWS, BLOCK], dtype=tl.float64)
    lanes = start[:, None] + tl.arange(0, BLOCK)[None, :]
    for k in range(0, longest, BLOCK):
        offs = lanes + k
        mask = offs < end[:, None]
        col = tl.load(indices_ptr + offs, mask=mask, other=0)
        val = tl.load(values_ptr + offs, mask=mask, other=0.0)
        xv = tl.load(x_ptr + col, mask=mask, other=0.0)
        acc += val * xv
    ax = tl.sum(acc, axis=1)

    xi = tl.load(x_ptr + rows, mask=rmask)
    bi = tl.load(b_ptr + rows, mask=rmask)
    di = tl.load(dinv_ptr + rows, mask=rmask)
    tl.store(out_ptr + rows, xi + omega * di * (bi - ax), mask=rmask)


class ModelNew(nn.Module):
    def __init__(self, omega):
        super().__init__()
        self.omega = omega

    def forward(self, indptr, indices, values, dinv, b, x):
        n = b.numel()
        out = torch.empty_like(x)
        ROWS = 32
        csr_jacobi_kernel[(triton.cdiv(n, ROWS),)](
            indptr, indices, values, dinv, b, x, out,
            self.omega, n,
            ROWS=ROWS, BLOCK=16, num_warps=4,
        )
        return out
