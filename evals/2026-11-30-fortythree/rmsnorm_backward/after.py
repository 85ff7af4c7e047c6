import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rms_bwd_kernel(
    dy_ptr, x_ptr, w_ptr, rstd_ptr, dx_ptr, part_ptr,
    n_rows, n_cols, rows_per_prog,
    BLOCK: tl.constexpr,
):
    # a strip of rows per program: dx row by row, dw kept in registers over the strip
    pid = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < n_cols
    w = tl.load(w_ptr + cols, mask=mask, other=0.0)
    dw = tl.zeros((BLOCK,), tl.float32)
    first = pid * rows_per_prog
    last = tl.minimum(first + rows_per_prog, n_rows)
    offs = first.to(tl.int64) * n_cols + cols
    for r in range(first, last):
        dy = tl.load(dy_ptr + offs, mask=mask, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
        rstd = tl.load(rstd_ptr + r)
        xhat = x * rstd
        wdy = w * dy
        c = tl.sum(wdy * xhat, axis=0) / n_cols
        dx = (wdy - xhat * c) * rstd
        tl.store(dx_ptr + offs, dx.to(dx_ptr.dtype.element_ty), mask=mask)
        dw += dy * xhat
        offs += n_cols
    tl.store(part_ptr + pid.to(tl.int64) * n_cols + cols, dw, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(dim), requires_grad=False)

    def forward(self, dy, x, rstd):
        dy, x = dy.contiguous(), x.contiguous()
        n_rows, n_cols = x.shape
        dx = torch.empty_like(x)
        rows_per_prog = max(4, triton.cdiv(n_rows, 1056))
        programs = triton.cdiv(n_rows, rows_per_prog)
        part = torch.empty((programs, n_cols), device=x.device, dtype=torch.float32)
        rms_bwd_kernel[(programs,)](
            dy, x, self.weight, rstd, dx, part,
            n_rows, n_cols, rows_per_prog,
            BLOCK=triton.next_power_of_2(n_cols), num_warps=4,
        )
        return dx, part.sum(0)
