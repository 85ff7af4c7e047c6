import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layernorm2d_kernel(
    x_ptr, y_ptr, w_ptr, b_ptr,
    HW, C, eps,
    stride_n, stride_c,
    BLOCK_C: tl.constexpr, BLOCK_P: tl.constexpr,
):
    # a strip of neighbouring positions of one image, all channels
    p = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    n = tl.program_id(1)

    c = tl.arange(0, BLOCK_C)
    cm = c < C
    mask = cm[:, None] & (p < HW)[None, :]
    offs = n.to(tl.int64) * stride_n + c[:, None] * stride_c + p[None, :]

    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / C
    d = tl.where(cm[:, None], x - mean[None, :], 0.0)
    var = tl.sum(d * d, axis=0) / C
    rstd = tl.rsqrt(var + eps)

    w = tl.load(w_ptr + c, mask=cm, other=0.0)
    b = tl.load(b_ptr + c, mask=cm, other=0.0)
    tl.store(y_ptr + offs, d * rstd[None, :] * w[:, None] + b[:, None], mask=mask)


def layernorm2d(x, weight, bias, eps):
    x = x.contiguous()
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    BLOCK_C = triton.next_power_of_2(C)
    BLOCK_P = 32
    layernorm2d_kernel[(triton.cdiv(H * W, BLOCK_P), N)](
        x, y, weight, bias,
        H * W, C, eps,
        x.stride(0), x.stride(1),
        BLOCK_C=BLOCK_C, BLOCK_P=BLOCK_P,
        num_warps=8,
    )
    return y


class ModelNew(nn.Module):
    def __init__(self, channels, eps):
        super().__init__()
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(channels))
        self.bias = nn.Parameter(0.1 * torch.randn(channels))
        self.eps = eps

    def forward(self, x):
        return layernorm2d(x, self.weight, self.bias, self.eps)
