import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm_row(src, dst, width, eps, P: tl.constexpr):
    src += tl.program_id(0) * width
    dst += tl.program_id(0) * width
    lane = tl.arange(0, P)
    x = tl.load(src + lane, mask=lane < width, other=0.0)
    mean = tl.sum(x) / width
    d = tl.where(lane < width, x - mean, 0.0)
    tl.store(dst + lane, d * tl.rsqrt(tl.sum(d * d) / width + eps), mask=lane < width)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        width = x.shape[1]
        norm_row[(x.shape[0],)](x, y, width, 1e-5, P=triton.next_power_of_2(width), num_warps=8 if width <= 4096 else 16)
        return y
