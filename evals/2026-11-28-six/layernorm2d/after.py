import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _layernorm2d_fwd(x_ptr, w_ptr, b_ptr, y_ptr, stride_n, stride_c, HW, C, eps,
                     BLOCK_C: tl.constexpr, BLOCK_P: tl.constexpr):
    n = tl.program_id(1).to(tl.int64)
    p = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    c = tl.arange(0, BLOCK_C)
    cmask = c < C
    mask = cmask[:, None] & (p[None, :] < HW)
    offs = n * stride_n + c[:, None] * stride_c + p[None, :]

    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / C
    xc = tl.where(cmask[:, None], x - mean[None, :], 0.0)
    var = tl.sum(xc * xc, axis=0) / C
    rstd = tl.rsqrt(var + eps)

    w = tl.load(w_ptr + c, mask=cmask, other=0.0)
    b = tl.load(b_ptr + c, mask=cmask, other=0.0)
    tl.store(y_ptr + offs, xc * rstd[None, :] * w[:, None] + b[:, None], mask=mask)


def layernorm2d(x, weight, bias, eps):
    x = x.contiguous()
    n, c, h, w = x.shape
    y = torch.empty_like(x)
    BLOCK_P = 32
    _layernorm2d_fwd[(triton.cdiv(h * w, BLOCK_P), n)](
        x, weight, bias, y, x.stride(0), x.stride(1), h * w, c, eps,
        BLOCK_C=triton.next_power_of_2(c), BLOCK_P=BLOCK_P, num_warps=8,
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
