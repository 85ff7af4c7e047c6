import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layernorm2d_fwd(x_ptr, w_ptr, b_ptr, y_ptr, C, HW, eps, BLOCK_C: tl.constexpr):
    pixel = tl.program_id(0)
    image = pixel // HW
    spatial = pixel % HW

    c = tl.arange(0, BLOCK_C)
    mask = c < C
    offs = image.to(tl.int64) * C * HW + c * HW + spatial

    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / C
    centered = tl.where(mask, x - mean, 0.0)
    var = tl.sum(centered * centered, axis=0) / C
    rstd = 1.0 / tl.sqrt(var + eps)

    w = tl.load(w_ptr + c, mask=mask, other=0.0)
    b = tl.load(b_ptr + c, mask=mask, other=0.0)
    tl.store(y_ptr + offs, centered * rstd * w + b, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))
        self.eps = eps

    def forward(self, x):
        x = x.contiguous()
        n, c, h, w = x.shape
        y = torch.empty_like(x)
        layernorm2d_fwd[(n * h * w,)](
            x, self.weight, self.bias, y, c, h * w, self.eps,
            BLOCK_C=triton.next_power_of_2(c), num_warps=2,
        )
        return y
