import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layernorm2d_fwd_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, rstd_ptr,
    eps,
    C: tl.constexpr,
    HW: tl.constexpr,
    BLOCK_C: tl.constexpr,
    BLOCK_P: tl.constexpr,
):
    # one program normalises BLOCK_P neighbouring pixels: lanes run along the contiguous pixel axis
    pix = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    img = tl.program_id(1).to(tl.int64)

    ch = tl.arange(0, BLOCK_C)
    cmask = ch < C
    pmask = pix < HW
    mask = cmask[:, None] & pmask[None, :]
    offs = img * C * HW + ch[:, None] * HW + pix[None, :]

    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / C
    diff = tl.where(cmask[:, None], x - mean[None, :], 0.0)
    var = tl.sum(diff * diff, axis=0) / C
    rstd = 1.0 / tl.sqrt(var + eps)

    w = tl.load(w_ptr + ch, mask=cmask, other=0.0)
    b = tl.load(b_ptr + ch, mask=cmask, other=0.0)
    y = diff * rstd[None, :] * w[:, None] + b[:, None]

    tl.store(y_ptr + offs, y.to(y_ptr.dtype.element_ty), mask=mask)
    tl.store(mean_ptr + img * HW + pix, mean, mask=pmask)
    tl.store(rstd_ptr + img * HW + pix, rstd, mask=pmask)


class ModelNew(nn.Module):
    def __init__(self, channels, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(channels))
        self.bias = nn.Parameter(0.1 * torch.randn(channels))

    def forward(self, x):
        x = x.contiguous()
        B, C, H, W = x.shape
        y = torch.empty_like(x)
        mean = torch.empty(B, H, W, device=x.device, dtype=torch.float32)
        rstd = torch.empty_like(mean)
        block_c = triton.next_power_of_2(C)
        block_p = 32 if block_c <= 512 else 16
        layernorm2d_fwd_kernel[(triton.cdiv(H * W, block_p), B)](
            x, self.weight, self.bias, y, mean, rstd,
            self.eps,
            C=C, HW=H * W, BLOCK_C=block_c, BLOCK_P=block_p,
            num_warps=8,
        )
        return y, mean, rstd
