import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm_row(src, dst, width, eps, CHUNK: tl.constexpr):
    src += tl.program_id(0) * width
    dst += tl.program_id(0) * width
    lane = tl.arange(0, CHUNK)
    # sweep 1: mean
    total = tl.zeros([CHUNK], tl.float32)
    for c in range(0, width, CHUNK):
        total += tl.load(src + c + lane, mask=c + lane < width, other=0.0)
    mean = tl.sum(total) / width
    # sweep 2: variance
    total = tl.zeros([CHUNK], tl.float32)
    for c in range(0, width, CHUNK):
        d = tl.where(c + lane < width, tl.load(src + c + lane, mask=c + lane < width, other=0.0) - mean, 0.0)
        total += d * d
    inv = tl.rsqrt(tl.sum(total) / width + eps)
    # sweep 3: result
    for c in range(0, width, CHUNK):
        x = tl.load(src + c + lane, mask=c + lane < width)
        tl.store(dst + c + lane, (x - mean) * inv, mask=c + lane < width)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        norm_row[(x.shape[0],)](x, y, x.shape[1], 1e-5, CHUNK=1024)
        return y
