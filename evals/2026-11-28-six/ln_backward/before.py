import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _ln_bwd_kernel(DY, X, W, MEAN, RSTD, DX, DW, DB, stride, N, BLOCK_N: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_N)
    mask = cols < N
    x = tl.load(X + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(DY + row * stride + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(W + cols, mask=mask, other=0.0)
    mean = tl.load(MEAN + row)
    rstd = tl.load(RSTD + row)

    xhat = tl.where(mask, (x - mean) * rstd, 0.0)
    wdy = w * dy
    c1 = tl.sum(xhat * wdy, axis=0) / N
    c2 = tl.sum(wdy, axis=0) / N
    dx = (wdy - (xhat * c1 + c2)) * rstd
    tl.store(DX + row * stride + cols, dx.to(DX.dtype.element_ty), mask=mask)

    # accumulate the parameter gradients
    tl.atomic_add(DW + cols, dy * xhat, mask=mask)
    tl.atomic_add(DB + cols, dy, mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, dy, x, weight, mean, rstd):
        M, N = x.shape
        dy = dy.contiguous()
        x = x.contiguous()
        dx = torch.empty_like(x)
        dw = torch.zeros(N, device=x.device, dtype=torch.float32)
        db = torch.zeros(N, device=x.device, dtype=torch.float32)
        BLOCK_N = triton.next_power_of_2(N)
        _ln_bwd_kernel[(M,)](dy, x, weight, mean, rstd, dx, dw, db, x.stride(0), N,
                             BLOCK_N=BLOCK_N,
                             num_warps=min(max(BLOCK_N // 256, 1), 8))
        return dx, dw, db
