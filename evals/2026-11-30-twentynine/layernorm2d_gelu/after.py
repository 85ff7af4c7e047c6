import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gelu(x):
    return 0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))


@triton.jit
def layernorm2d_gelu_kernel(x_ptr, w_ptr, b_ptr, out_ptr, HW, eps, C: tl.constexpr, BLOCK_C: tl.constexpr,
                            BLOCK_P: tl.constexpr):
    # a tile of neighbouring pixels (contiguous in memory), all channels
    p = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    n = tl.program_id(1)
    c = tl.arange(0, BLOCK_C)
    mask = (c < C)[:, None] & (p < HW)[None, :]
    offs = (n * C + c)[:, None] * HW + p[None, :]
    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / C
    diff = tl.where(mask, x - mean[None, :], 0.0)
    rstd = tl.rsqrt(tl.sum(diff * diff, axis=0) / C + eps)
    w = tl.load(w_ptr + c, mask=c < C, other=0.0).to(tl.float32)
    b = tl.load(b_ptr + c, mask=c < C, other=0.0).to(tl.float32)
    y = gelu(diff * rstd[None, :] * w[:, None] + b[:, None])
    tl.store(out_ptr + offs, y.to(tl.float16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, channels, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(channels).half() + 0.5, requires_grad=False)
        self.bias = nn.Parameter(torch.randn(channels).half() * 0.1, requires_grad=False)
        self.eps = eps

    def forward(self, x):
        n, c, h, w = x.shape
        out = torch.empty_like(x)
        layernorm2d_gelu_kernel[(triton.cdiv(h * w, 32), n)](x, self.weight, self.bias, out, h * w, self.eps, C=c,
                                                             BLOCK_C=triton.next_power_of_2(c), BLOCK_P=32, num_warps=8)
        return out
