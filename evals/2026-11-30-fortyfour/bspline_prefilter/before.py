import math

import torch
import torch.nn as nn
import triton
import triton.language as tl

POLE = math.sqrt(3.0) - 2.0
HORIZON = 16  # |POLE| ** 16 is below 1e-9


@triton.jit
def prefilter_rows_kernel(x_ptr, c_ptr, n_rows, W, pole, horizon, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = rows < n_rows
    src = x_ptr + rows.to(tl.int64) * W
    dst = c_ptr + rows.to(tl.int64) * W

    # start value of the causal filter (mirror boundary)
    acc = tl.load(src, mask=mask, other=0.0)
    zk = pole
    for k in range(1, horizon):
        acc += zk * tl.load(src + k, mask=mask, other=0.0)
        zk = zk * pole
    prev2 = acc * 0.0
    prev = 6.0 * acc
    tl.store(dst, prev, mask=mask)

    # causal pass
    for k in range(1, W):
        v = tl.load(src + k, mask=mask, other=0.0)
        cur = 6.0 * v + pole * prev
        tl.store(dst + k, cur, mask=mask)
        prev2 = prev
        prev = cur

    # anti-causal pass
    cur = (pole / (pole * pole - 1.0)) * (prev + pole * prev2)
    tl.store(dst + W - 1, cur, mask=mask)
    for j in range(1, W):
        k = W - 1 - j
        v = tl.load(dst + k, mask=mask, other=0.0)
        cur = pole * (cur - v)
        tl.store(dst + k, cur, mask=mask)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, x):
        x = x.contiguous()
        W = x.shape[-1]
        n_rows = x.numel() // W
        out = torch.empty_like(x)
        BLOCK = 32
        prefilter_rows_kernel[(triton.cdiv(n_rows, BLOCK),)](
            x, out, n_rows, W, POLE, min(HORIZON, W), BLOCK=BLOCK, num_warps=1)
        return out
