import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def channel_norm_silu_kernel(
    x_ptr, gamma_ptr, y_ptr,
    C, HW, root_c, eps,
    BLOCK_C: tl.constexpr, BLOCK_P: tl.constexpr,
):
    b = tl.program_id(1)
    p = tl.program_id(0) * BLOCK_P + tl.arange(0, BLOCK_P)
    offs_c = tl.arange(0, BLOCK_C)
    cmask = offs_c < C
    mask = cmask[:, None] & (p < HW)[None, :]
    offs = b.to(tl.int64) * C * HW + offs_c[:, None].to(tl.int64) * HW + p[None, :]

    x = tl.load(x_ptr + offs, mask=mask, other=0.0).to(tl.float32)
    norm = tl.sqrt(tl.sum(x * x, axis=0))
    inv = root_c / tl.maximum(norm, eps)
    gamma = tl.load(gamma_ptr + offs_c, mask=cmask, other=0.0)
    y = x * inv[None, :] * gamma[:, None]
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
        BLOCK_P = 64
        channel_norm_silu_kernel[(triton.cdiv(H * W, BLOCK_P), B)](
            x, self.gamma, y,
            C, H * W, math.sqrt(C), 1e-12,
            BLOCK_C=triton.next_power_of_2(C), BLOCK_P=BLOCK_P, num_warps=8,
        )
        return y
