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
):
    # one program normalises the channel vector of one pixel
    pix = tl.program_id(0)
    img = tl.program_id(1).to(tl.int64)

    ch = tl.arange(0, BLOCK_C)
    mask = ch < C
    offs = img * C * HW + ch * HW + pix

    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / C
    diff = tl.where(mask, x - mean, 0.0)
    var = tl.sum(diff * diff, axis=0) / C
    rstd = 1.0 / tl.sqrt(var + eps)

    w = tl.load(w_ptr + ch, mask=mask, other=0.0)
    b = tl.load(b_ptr + ch, mask=mask, other=0.0)
    y = diff * rstd * w + b

    tl.store(y_ptr + offs, y.to(y_ptr.dtype.element_ty), mask=mask)
    tl.store(mean_ptr + img * HW + pix, mean)
    tl.store(rstd_ptr + img * HW + pix, rstd)


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
        layernorm2d_fwd_kernel[(H * W, B)](
            x, self.weight, self.bias, y, mean, rstd,
            self.eps,
            C=C, HW=H * W, BLOCK_C=block_c,
            num_warps=4 if block_c >= 512 else 2,
        )
        return y, mean, rstd
