import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _layernorm2d_fwd(x_ptr, w_ptr, b_ptr, y_ptr, stride_n, stride_c, HW, C, eps, BLOCK_C: tl.constexpr):
    pixel = tl.program_id(0)
    n = (pixel // HW).to(tl.int64)
    p = pixel % HW
    c = tl.arange(0, BLOCK_C)
    mask = c < C
    offs = n * stride_n + c * stride_c + p

    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / C
    xc = tl.where(mask, x - mean, 0.0)
    var = tl.sum(xc * xc, axis=0) / C
    rstd = tl.rsqrt(var + eps)

    w = tl.load(w_ptr + c, mask=mask, other=0.0)
    b = tl.load(b_ptr + c, mask=mask, other=0.0)
    tl.store(y_ptr + offs, xc * rstd * w + b, mask=mask)


def layernorm2d(x, weight, bias, eps):
    x = x.contiguous()
    n, c, h, w = x.shape
    y = torch.empty_like(x)
    _layernorm2d_fwd[(n * h * w,)](
        x, weight, bias, y, x.stride(0), x.stride(1), h * w, c, eps,
        BLOCK_C=triton.next_power_of_2(c), num_warps=2,
    )
    return y


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(channels) + 0.5)
        self.bias = nn.Parameter(torch.randn(channels) * 0.1)
        self.eps = 1e-6

    def forward(self, x):
        return layernorm2d(x, self.weight, self.bias, self.eps)
