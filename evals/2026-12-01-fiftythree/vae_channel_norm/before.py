import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def channel_norm_silu_kernel(
    x_ptr, gamma_ptr, y_ptr,
    C, HW, root_c, eps,
    BLOCK_C: tl.constexpr,
):
    pix = tl.program_id(0)
    b = pix // HW
    p = pix % HW
    offs_c = tl.arange(0, BLOCK_C)
    mask = offs_c < C
    offs = b.to(tl.int64) * C * HW + offs_c.to(tl.int64) * HW + p

    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    norm = tl.sqrt(tl.sum(x * x, axis=0))
    inv = root_c / tl.maximum(norm, eps)
    gamma = tl.load(gamma_ptr + offs_c, mask=mask, other=0.0)
    y = x * inv * gamma
    y = y / (1.0 + tl.exp(-y))
    tl.store(y_ptr + offs, y.to(y_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gamma = nn.Parameter(1.0 + 0.1 * torch.randn(c))

    def forward(self, x):
        x = x.contiguous()
        B, C, H, W = x.shape
        y = torch.empty_like(x)
        channel_norm_silu_kernel[(B * H * W,)](
            x, self.gamma, y,
            C, H * W, math.sqrt(C), 1e-12,
            BLOCK_C=triton.next_power_of_2(C), num_warps=2,
        )
        return y
