import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def shuffle_prelu(x, slope, y, channels, H, W, R: tl.constexpr, BLOCK_Y: tl.constexpr, BLOCK_X: tl.constexpr):
    plane = tl.program_id(2)
    oy = (tl.program_id(1) * BLOCK_Y + tl.arange(0, BLOCK_Y))[:, None]
    ox = (tl.program_id(0) * BLOCK_X + tl.arange(0, BLOCK_X))[None, :]
    inside = (oy < H * R) & (ox < W * R)
    # Which of the R * R channels of this plane, and which of its pixels.
    source = (oy % R) * R + ox % R
    src = x + (plane.to(tl.int64) * R * R + source) * H * W + (oy // R) * W + ox // R
    value = tl.load(src, mask=inside)
    a = tl.load(slope + plane % channels)
    dst = y + plane.to(tl.int64) * H * W * R * R + oy * W * R + ox
    tl.store(dst, tl.where(value >= 0, value, value * a), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.slope = nn.Parameter(torch.rand(channels) * 0.3)

    def forward(self, x):
        b, c4, h, w = x.shape
        c = c4 // 4
        y = torch.empty((b, c, 2 * h, 2 * w), device=x.device, dtype=x.dtype)
        grid = lambda meta: (triton.cdiv(2 * w, meta["BLOCK_X"]), triton.cdiv(2 * h, meta["BLOCK_Y"]), b * c)
        shuffle_prelu[grid](x=x, slope=self.slope, y=y, channels=c, H=h, W=w, R=2, BLOCK_Y=8, BLOCK_X=128)
        return y
