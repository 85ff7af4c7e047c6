import math

import torch
import torch.nn as nn
import triton
import triton.language as tl

POLE = math.sqrt(3.0) - 2.0


@triton.jit
def first_order(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2


@triton.jit
def prefilter_row_scan_kernel(x_ptr, c_ptr, W, pole, log2_abs_pole, BLOCK_W: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, BLOCK_W)
    mask = k < W
    x = tl.load(x_ptr + row * W + k, mask=mask, other=0.0)

    # start value of the causal filter: sum of pole**k * x[k] (pole is negative)
    sign = (1 - 2 * (k % 2)).to(tl.float32)
    start = tl.sum(sign * tl.exp2(k.to(tl.float32) * log2_abs_pole) * x, axis=0)

    # causal: c[k] = 6 x[k] + pole c[k-1]
    a = tl.where(k == 0, 0.0, pole)
    b = tl.where(k == 0, 6.0 * start, 6.0 * x)
    _, cp = tl.associative_scan((a, b), 0, first_order)

    # anti-causal: c[k] = pole c[k+1] - pole cp[k]
    last = tl.sum(tl.where(k == W - 1, cp, 0.0), axis=0)
    last2 = tl.sum(tl.where(k == W - 2, cp, 0.0), axis=0)
    end = (pole / (pole * pole - 1.0)) * (last + pole * last2)
    a = tl.where(k >= W - 1, 0.0, pole)
    b = tl.where(k == W - 1, end, -pole * cp)
    b = tl.where(k >= W, 0.0, b)
    _, c = tl.associative_scan((a, b), 0, first_order, reverse=True)
    tl.store(c_ptr + row * W + k, c, mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        W = x.shape[-1]
        n_rows = x.numel() // W
        out = torch.empty_like(x)
        BLOCK_W = triton.next_power_of_2(W)
        num_warps = max(1, min(8, BLOCK_W // 256))
        prefilter_row_scan_kernel[(n_rows,)](
            x, out, W, POLE, math.log2(-POLE), BLOCK_W=BLOCK_W, num_warps=num_warps)
        return out
