import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def jacobi_sweep(u_ptr, f_ptr, out_ptr, h2_ptr, n_rows, n_cols,
                 BY: tl.constexpr, BX: tl.constexpr):
    y = tl.program_id(1) * BY + tl.arange(0, BY)[:, None]
    x = tl.program_id(0) * BX + tl.arange(0, BX)[None, :]
    valid = (y < n_rows) & (x < n_cols)
    inner = (y > 0) & (y < n_rows - 1) & (x > 0) & (x < n_cols - 1)
    at = y * n_cols + x

    h2 = tl.load(h2_ptr)
    centre = tl.load(u_ptr + at, mask=valid, other=0.0)
    north = tl.load(u_ptr + at - n_cols, mask=valid & (y > 0), other=0.0)
    south = tl.load(u_ptr + at + n_cols, mask=valid & (y < n_rows - 1), other=0.0)
    west = tl.load(u_ptr + at - 1, mask=inner, other=0.0)
    east = tl.load(u_ptr + at + 1, mask=inner, other=0.0)
    src = tl.load(f_ptr + at, mask=valid, other=0.0)

    new = 0.25 * (north + south + west + east - h2 * src)
    tl.store(out_ptr + at, tl.where(inner, new, centre), mask=valid)


class ModelNew(nn.Module):
    def __init__(self, h):
        super().__init__()
        self.h = h
        # the squared spacing stays in double precision on the device
        self.register_buffer("h2", torch.tensor([h * h], dtype=torch.float64), persistent=False)

    def forward(self, u, f):
        u = u.contiguous()
        f = f.contiguous()
        n_rows, n_cols = u.shape
        out = torch.empty_like(u)
        BY, BX = 8, 128
        grid = (triton.cdiv(n_cols, BX), triton.cdiv(n_rows, BY))
        jacobi_sweep[grid](u, f, out, self.h2, n_rows, n_cols, BY=BY, BX=BX, num_warps=4)
        return out
