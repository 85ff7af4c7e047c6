import torch
from torch import Tensor, nn

import triton
from triton import language as tl


@triton.jit
def _mean(src, dst, length, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for start in tl.range(0, length, BLOCK):
        at = start + lanes
        total += tl.load(src + row.to(tl.int64) * stride + at, at < length, 0.0)
    tl.store(dst + row, tl.sum(total) / length)


@triton.jit
def _correlate(x, y, x_mean, y_mean, out, length, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mx = tl.load(x_mean + row)
    my = tl.load(y_mean + row)
    xx = tl.zeros([BLOCK], tl.float32)
    yy = tl.zeros([BLOCK], tl.float32)
    xy = tl.zeros([BLOCK], tl.float32)
    for start in tl.range(0, length, BLOCK):
        at = start + lanes
        valid = at < length
        dx = tl.where(valid, tl.load(x + row.to(tl.int64) * stride + at, valid, 0.0) - mx, 0.0)
        dy = tl.where(valid, tl.load(y + row.to(tl.int64) * stride + at, valid, 0.0) - my, 0.0)
        xx += dx * dx
        yy += dy * dy
        xy += dx * dy
    tl.store(out + row, tl.sum(xy) / (tl.sqrt(tl.sum(xx) * tl.sum(yy)) + eps))


def row_mean(x: Tensor) -> Tensor:
    means = x.new_empty(x.size(0))
    _mean[(x.size(0),)](x, means, x.size(1), x.stride(0), BLOCK=4096, num_warps=8)
    return means


class ModelNew(nn.Module):
    def __init__(self, eps: float):
        super().__init__()
        self.eps = eps

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        rows, length = x.shape
        out = x.new_empty(rows)
        _correlate[(rows,)](
            x, y, row_mean(x), row_mean(y), out, length, x.stride(0), self.eps, BLOCK=4096, num_warps=8
        )
        return out
