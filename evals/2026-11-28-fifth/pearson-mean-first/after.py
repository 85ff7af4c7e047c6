from torch import Tensor, nn

import triton
from triton import language as tl


@triton.jit
def _correlate(x, y, out, length, stride, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    x += row.to(tl.int64) * stride
    y += row.to(tl.int64) * stride
    # Sums about the row's first element: no cancellation where the mean is far from zero.
    x0 = tl.load(x)
    y0 = tl.load(y)
    sx = tl.zeros([BLOCK], tl.float32)
    sy = tl.zeros([BLOCK], tl.float32)
    xx = tl.zeros([BLOCK], tl.float32)
    yy = tl.zeros([BLOCK], tl.float32)
    xy = tl.zeros([BLOCK], tl.float32)
    for start in tl.range(0, length, BLOCK):
        at = start + lanes
        valid = at < length
        dx = tl.where(valid, tl.load(x + at, valid, 0.0) - x0, 0.0)
        dy = tl.where(valid, tl.load(y + at, valid, 0.0) - y0, 0.0)
        sx += dx
        sy += dy
        xx += dx * dx
        yy += dy * dy
        xy += dx * dy
    tx = tl.sum(sx)
    ty = tl.sum(sy)
    cxx = tl.sum(xx) - tx * tx / length
    cyy = tl.sum(yy) - ty * ty / length
    cxy = tl.sum(xy) - tx * ty / length
    tl.store(out + row, cxy / (tl.sqrt(cxx * cyy) + eps))


class ModelNew(nn.Module):
    def __init__(self, eps: float):
        super().__init__()
        self.eps = eps

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        rows, length = x.shape
        out = x.new_empty(rows)
        _correlate[(rows,)](x, y, out, length, x.stride(0), self.eps, BLOCK=2048, num_warps=8)
        return out
