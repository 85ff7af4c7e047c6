"""QK-norm backward: dx and the weight gradient in one launch, one program per (token, head)."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def qk_norm_bwd_kernel(x_ptr, dy_ptr, w_ptr, dx_ptr, dw_ptr, D, eps, BLOCK_D: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK_D)
    mask = cols < D
    x = tl.load(x_ptr + row * D + cols, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * D + cols, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + cols, mask=mask, other=0.0)

    rstd = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / D + eps)
    xhat = x * rstd
    wdy = dy * w
    c = tl.sum(wdy * xhat, axis=0) / D
    dx = rstd * (wdy - xhat * c)
    tl.store(dx_ptr + row * D + cols, dx.to(dx_ptr.dtype.element_ty), mask=mask)

    # weight gradient: every head of every token contributes
    tl.atomic_add(dw_ptr + cols, dy * xhat, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, d=128, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(d))

    def forward(self, x, dy):
        T, H, D = x.shape
        dx = torch.empty_like(x)
        dw = torch.zeros(D, device=x.device, dtype=torch.float32)
        qk_norm_bwd_kernel[(T * H,)](
            x, dy, self.weight.detach(), dx, dw, D, self.eps,
            BLOCK_D=triton.next_power_of_2(D), num_warps=1,
        )
        return dx, dw
