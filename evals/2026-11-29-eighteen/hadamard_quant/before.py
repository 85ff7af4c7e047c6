import math

import torch
import torch.nn as nn
import triton
import triton.language as tl


def sylvester(d):
    h = torch.ones(1, 1)
    while h.shape[0] < d:
        h = torch.cat([torch.cat([h, h], 1), torch.cat([h, -h], 1)], 0)
    return h


@triton.jit
def rotate_quant_kernel(
    x_ptr,        # [rows, D] fp16
    had_ptr,      # [D, D] fp16, entries +1 / -1
    q_ptr,        # [rows, D] int8
    scale_ptr,    # [rows] fp32
    rows,
    norm,
    D: tl.constexpr,
    BLOCK_R: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    r = pid * BLOCK_R + tl.arange(0, BLOCK_R)
    d = tl.arange(0, D)
    mask = r < rows

    h = tl.load(had_ptr + d[:, None] * D + d[None, :])
    x = tl.load(x_ptr + r[:, None] * D + d[None, :], mask=mask[:, None], other=0.0)
    y = tl.dot(x, h) * norm

    amax = tl.maximum(tl.max(tl.abs(y), axis=1), 1e-6)
    scale = amax / 127.0
    inv = 127.0 / amax
    q = tl.floor(y * inv[:, None] + 0.5)
    q = tl.minimum(tl.maximum(q, -127.0), 127.0)

    tl.store(q_ptr + r[:, None] * D + d[None, :], q.to(tl.int8), mask=mask[:, None])
    tl.store(scale_ptr + r, scale, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, head_dim: int):
        super().__init__()
        self.register_buffer("had", sylvester(head_dim).half())
        self.norm = 1.0 / math.sqrt(head_dim)

    def forward(self, x):
        x = x.contiguous()
        D = x.shape[-1]
        rows = x.numel() // D
        q = torch.empty(x.shape, device=x.device, dtype=torch.int8)
        scale = torch.empty(x.shape[:-1], device=x.device, dtype=torch.float32)
        BLOCK_R = 128
        grid = (triton.cdiv(rows, BLOCK_R),)
        rotate_quant_kernel[grid](x, self.had, q, scale, rows, self.norm, D=D, BLOCK_R=BLOCK_R, num_warps=4)
        return q, scale
