"""QK-norm backward: a fixed set of programs walks over the rows, keeps dw in registers, and a small kernel adds the partials."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def qk_norm_bwd_kernel(x_ptr, dy_ptr, w_ptr, dx_ptr, part_ptr, rows, D, eps,
                       BLOCK_R: tl.constexpr, BLOCK_D: tl.constexpr):
    pid = tl.program_id(0)
    cols = tl.arange(0, BLOCK_D)
    cmask = cols < D
    w = tl.load(w_ptr + cols, mask=cmask, other=0.0)
    acc = tl.zeros((BLOCK_R, BLOCK_D), dtype=tl.float32)
    for start in range(pid * BLOCK_R, rows, tl.num_programs(0) * BLOCK_R):
        r = start + tl.arange(0, BLOCK_R)
        offs = r[:, None].to(tl.int64) * D + cols[None, :]
        mask = (r[:, None] < rows) & cmask[None, :]
        x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + offs, mask=mask, other=0.0).to(tl.float32)
        rstd = 1.0 / tl.sqrt(tl.sum(x * x, axis=1) / D + eps)
        xhat = x * rstd[:, None]
        wdy = dy * w[None, :]
        c = tl.sum(wdy * xhat, axis=1) / D
        dx = rstd[:, None] * (wdy - xhat * c[:, None])
        tl.store(dx_ptr + offs, dx.to(dx_ptr.dtype.element_ty), mask=mask)
        acc += dy * xhat
    tl.store(part_ptr + pid * D + cols, tl.sum(acc, axis=0), mask=cmask)


@triton.jit
def sum_partials_kernel(part_ptr, dw_ptr, P, D, BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr):
    cols = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    acc = tl.zeros((BLOCK_P, BLOCK_C), dtype=tl.float32)
    for start in range(0, P, BLOCK_P):
        r = start + tl.arange(0, BLOCK_P)
        mask = (r[:, None] < P) & (cols[None, :] < D)
        acc += tl.load(part_ptr + r[:, None] * D + cols[None, :], mask=mask, other=0.0)
    tl.store(dw_ptr + cols, tl.sum(acc, axis=0), mask=cols < D)


class ModelNew(nn.Module):
    def __init__(self, d=128, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(d))

    def forward(self, x, dy):
        T, H, D = x.shape
        rows = T * H
        BLOCK_R = 16
        progs = min(triton.cdiv(rows, BLOCK_R), 528)
        dx = torch.empty_like(x)
        dw = torch.empty(D, device=x.device, dtype=torch.float32)
        part = torch.empty((progs, D), device=x.device, dtype=torch.float32)
        qk_norm_bwd_kernel[(progs,)](
            x, dy, self.weight.detach(), dx, part, rows, D, self.eps,
            BLOCK_R=BLOCK_R, BLOCK_D=triton.next_power_of_2(D), num_warps=4,
        )
        sum_partials_kernel[(triton.cdiv(D, 16),)](part, dw, progs, D, BLOCK_P=128, BLOCK_C=16, num_warps=4)
        return dx, dw
