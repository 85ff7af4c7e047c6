import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layernorm2d_kernel(
    x_ptr, w_ptr, b_ptr, y_ptr,
    C, HW, eps,
    BLOCK_C: tl.constexpr, BLOCK_P: tl.constexpr,
):
    # one program normalises BLOCK_P neighbouring positions of one image: loads run along the contiguous axis
    img = tl.program_id(1).to(tl.int64)
    offs_p = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    offs_c = tl.arange(0, BLOCK_C)
    c_ok = offs_c < C
    mask = c_ok[:, None] & (offs_p[None, :] < HW)
    offs = img * C * HW + offs_c[:, None] * HW + offs_p[None, :]

    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / C
    xc = tl.where(c_ok[:, None], x - mean[None, :], 0.0)
    var = tl.sum(xc * xc, axis=0) / C
    rstd = 1.0 / tl.sqrt(var + eps)

    w = tl.load(w_ptr + offs_c, mask=c_ok, other=0.0)
    b = tl.load(b_ptr + offs_c, mask=c_ok, other=0.0)
    y = xc * rstd[None, :] * w[:, None] + b[:, None]
    tl.store(y_ptr + offs, y, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(channels))
        self.bias = nn.Parameter(0.1 * torch.randn(channels))
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        n, c, h, w = x.shape
        y = torch.empty_like(x)
        BLOCK_C = triton.next_power_of_2(c)
        BLOCK_P = max(8, min(64, 8192 // BLOCK_C))
        grid = (triton.cdiv(h * w, BLOCK_P), n)
        layernorm2d_kernel[grid](
            x, self.weight, self.bias, y,
            c, h * w, self.eps,
            BLOCK_C=BLOCK_C, BLOCK_P=BLOCK_P, num_warps=8,
        )
        return y
