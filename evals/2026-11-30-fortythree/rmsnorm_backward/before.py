import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_dx_kernel(dy_ptr, x_ptr, w_ptr, rstd_ptr, dx_ptr, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    dy = tl.load(dy_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0)
    rstd = tl.load(rstd_ptr + row)
    xhat = x * rstd
    wdy = w * dy
    c = tl.sum(wdy * xhat, axis=0) / n_cols
    dx = (wdy - xhat * c) * rstd
    tl.store(dx_ptr + row * n_cols + cols, dx.to(dx_ptr.dtype.element_ty), mask=mask)


@triton.jit
def rms_dw_kernel(
    dy_ptr, x_ptr, rstd_ptr, dw_ptr, n_rows, n_cols,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, n_rows, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        mask = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
        offs = rows[:, None].to(tl.int64) * n_cols + cols[None, :]
        dy = tl.load(dy_ptr + offs, mask=mask, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
        rstd = tl.load(rstd_ptr + rows, mask=rows < n_rows, other=0.0)
        acc += dy * x * rstd[:, None]
    tl.store(dw_ptr + cols, tl.sum(acc, axis=0), mask=cols < n_cols)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(dim), requires_grad=False)

    def forward(self, dy, x, rstd):
        dy, x = dy.contiguous(), x.contiguous()
        n_rows, n_cols = x.shape
        dx = torch.empty_like(x)
        dw = torch.empty_like(self.weight)
        rms_dx_kernel[(n_rows,)](
            dy, x, self.weight, rstd, dx, n_cols,
            BLOCK=triton.next_power_of_2(n_cols), num_warps=4,
        )
        rms_dw_kernel[(triton.cdiv(n_cols, 128),)](
            dy, x, rstd, dw, n_rows, n_cols,
            BLOCK_M=32, BLOCK_N=128, num_warps=4,
        )
        return dx, dw
