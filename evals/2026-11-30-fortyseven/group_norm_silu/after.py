"""Fused GroupNorm + SiLU, NCHW."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _partial_stats_kernel(x_ptr, part_ptr, hw, splits, CHUNK: tl.constexpr, BLOCK: tl.constexpr):
    # One program per (sample, channel, slice of the image): sum and sum of squares.
    row = tl.program_id(0)
    split = tl.program_id(1)
    cols = tl.arange(0, BLOCK)
    s = tl.zeros([BLOCK], dtype=tl.float32)
    s2 = tl.zeros([BLOCK], dtype=tl.float32)
    for i in tl.static_range(CHUNK // BLOCK):
        offs = split * CHUNK + i * BLOCK + cols
        x = tl.load(x_ptr + row.to(tl.int64) * hw + offs, mask=offs < hw, other=0.0).to(tl.float32)
        s += x
        s2 += x * x
    out = part_ptr + (row * splits + split) * 2
    tl.store(out, tl.sum(s, 0))
    tl.store(out + 1, tl.sum(s2, 0))


@triton.jit
def _apply_kernel(
    x_ptr, part_ptr, w_ptr, b_ptr, y_ptr,
    hw, channels, parts, eps,
    CPG: tl.constexpr, PARTS: tl.constexpr, CHUNK: tl.constexpr, BLOCK: tl.constexpr,
):
    row = tl.program_id(0)
    split = tl.program_id(1)
    i = tl.arange(0, PARTS)
    part = part_ptr + (row // CPG) * parts * 2 + i * 2
    size = (CPG * hw).to(tl.float32)
    mean = tl.sum(tl.load(part, mask=i < parts, other=0.0), 0) / size
    ex2 = tl.sum(tl.load(part + 1, mask=i < parts, other=0.0), 0) / size
    rstd = tl.rsqrt(tl.maximum(ex2 - mean * mean, 0.0) + eps)
    c = row % channels
    w = tl.load(w_ptr + c).to(tl.float32) * rstd
    b = tl.load(b_ptr + c).to(tl.float32) - mean * w
    cols = tl.arange(0, BLOCK)
    base = row.to(tl.int64) * hw
    for j in tl.static_range(CHUNK // BLOCK):
        offs = split * CHUNK + j * BLOCK + cols
        mask = offs < hw
        x = tl.load(x_ptr + base + offs, mask=mask, other=0.0).to(tl.float32)
        y = x * w + b
        y = y * tl.sigmoid(y)
        tl.store(y_ptr + base + offs, y.to(y_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, groups, channels, eps=1e-5):
        super().__init__()
        self.groups, self.eps = groups, eps
        self.weight = nn.Parameter(1.0 + 0.1 * torch.randn(channels))
        self.bias = nn.Parameter(0.1 * torch.randn(channels))

    def forward(self, x):
        x = x.contiguous()
        n, c, h, w = x.shape
        y = torch.empty_like(x)
        hw = h * w
        cpg = c // self.groups
        BLOCK = min(2048, max(256, triton.next_power_of_2(hw)))
        CHUNK = min(8192, max(BLOCK, triton.next_power_of_2(hw)))
        splits = triton.cdiv(hw, CHUNK)
        part = torch.empty((n * c, splits, 2), dtype=torch.float32, device=x.device)
        grid = (n * c, splits)
        _partial_stats_kernel[grid](x, part, hw, splits, CHUNK=CHUNK, BLOCK=BLOCK, num_warps=4)
        _apply_kernel[grid](
            x, part, self.weight, self.bias, y, hw, c, cpg * splits, self.eps,
            CPG=cpg, PARTS=triton.next_power_of_2(cpg * splits), CHUNK=CHUNK, BLOCK=BLOCK, num_warps=4,
        )
        return y
