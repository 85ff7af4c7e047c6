import torch
import torch.nn as nn
import triton
import triton.language as tl

PROGRAMS = 132 * 6


@triton.jit
def layernorm_backward(x_ptr, dy_ptr, w_ptr, dx_ptr, part_ptr, rows, dim, eps, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    keep = cols < dim
    w = tl.load(w_ptr + cols, mask=keep, other=0.0).to(tl.float32)
    dw = tl.zeros((BLOCK,), dtype=tl.float32)
    db = tl.zeros((BLOCK,), dtype=tl.float32)
    for row in range(pid, rows, tl.num_programs(0)):
        at = row * dim + cols
        x = tl.load(x_ptr + at, mask=keep, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + at, mask=keep, other=0.0).to(tl.float32)
        mean = tl.sum(x, axis=0) / dim
        centred = tl.where(keep, x - mean, 0.0)
        rstd = tl.rsqrt(tl.sum(centred * centred, axis=0) / dim + eps)
        xhat = centred * rstd
        wdy = w * dy
        c1 = tl.sum(xhat * wdy, axis=0) / dim
        c2 = tl.sum(wdy, axis=0) / dim
        tl.store(dx_ptr + at, ((wdy - xhat * c1 - c2) * rstd).to(dx_ptr.dtype.element_ty), mask=keep)
        dw += dy * xhat
        db += dy
    tl.store(part_ptr + pid * dim + cols, dw, mask=keep)
    tl.store(part_ptr + (tl.num_programs(0) + pid) * dim + cols, db, mask=keep)


class ModelNew(nn.Module):
    def __init__(self, dim, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter((1.0 + 0.1 * torch.randn(dim)).half())

    def forward(self, x, dy):
        rows, dim = x.shape
        programs = min(PROGRAMS, triton.cdiv(rows, 8))
        dx = torch.empty_like(x)
        part = torch.empty((2, programs, dim), device=x.device, dtype=torch.float32)
        layernorm_backward[(programs,)](
            x, dy, self.weight, dx, part, rows, dim, self.eps, BLOCK=triton.next_power_of_2(dim), num_warps=8
        )
        dw, db = part.sum(dim=1)
        return dx, dw, db
