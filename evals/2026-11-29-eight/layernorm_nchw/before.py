import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def layernorm2d_kernel(
    x_ptr, y_ptr, w_ptr, b_ptr,
    HW, C, eps,
    stride_n, stride_c,
    BLOCK_C: tl.constexpr,
):
    # one spatial position of one image
    pid = tl.program_id(0)
    n = pid // HW
    p = pid % HW

    c = tl.arange(0, BLOCK_C)
    mask = c < C
    offs = n.to(tl.int64) * stride_n + c * stride_c + p

    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / C
    d = tl.where(mask, x - mean, 0.0)
    var = tl.sum(d * d, axis=0) / C
    rstd = tl.rsqrt(var + eps)

    w = tl.load(w_ptr + c, mask=mask, other=0.0)
    b = tl.load(b_ptr + c, mask=mask, other=0.0)
    tl.store(y_ptr + offs, d * rstd * w + b, mask=mask)


def layernorm2d(x, weight, bias, eps):
    x = x.contiguous()
    N, C, H, W = x.shape
    y = torch.empty_like(x)
    BLOCK_C = triton.next_power_of_2(C)
    layernorm2d_kernel[(N * H * W,)](
        x, y, weight, bias,
        H * W, C, eps,
        x.stride(0), x.stride(1),
        BLOCK_C=BLOCK_C,
        num_warps=2,
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
