import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def depthwise3x3_kernel(X, W, Y, C, H, WIDTH, BLOCK: tl.constexpr):
    nc = tl.program_id(0)
    block = tl.program_id(1)
    c = nc % C
    offs = block * BLOCK + tl.arange(0, BLOCK)
    inside = offs < H * WIDTH
    h = offs // WIDTH
    w = offs % WIDTH
    base = X + nc.to(tl.int64) * H * WIDTH
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in tl.static_range(3):
        for j in tl.static_range(3):
            hi = h + i - 1
            wj = w + j - 1
            ok = inside & (hi >= 0) & (hi < H) & (wj >= 0) & (wj < WIDTH)
            tap = tl.load(W + c * 9 + i * 3 + j).to(tl.float32)
            acc += tap * tl.load(base + hi * WIDTH + wj, mask=ok, other=0.0).to(tl.float32)
    tl.store(Y + nc.to(tl.int64) * H * WIDTH + offs, acc.to(Y.dtype.element_ty), mask=inside)


def depthwise_conv3x3(x, weight):
    n, c, h, w = x.shape
    y = torch.empty_like(x)
    depthwise3x3_kernel[(n * c, triton.cdiv(h * w, 1024))](x, weight, y, c, h, w, BLOCK=1024, num_warps=4)
    return y


class ModelNew(nn.Module):
    def forward(self, x, weight, scale, shift):
        y = depthwise_conv3x3(x, weight)
        y = y * scale.view(1, -1, 1, 1)
        y = y + shift.view(1, -1, 1, 1)
        y = F.relu6(y)
        return y + x
