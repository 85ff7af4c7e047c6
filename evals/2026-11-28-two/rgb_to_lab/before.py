import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _to_linear(c):
    curve = tl.exp(2.4 * tl.log((c + 0.055) / 1.055))
    return tl.where(c > 0.04045, curve, c / 12.92)


@triton.jit
def _lab_f(t):
    root = tl.exp(tl.log(tl.maximum(t, 1e-6)) / 3.0)
    return tl.where(t > 0.008856, root, 7.787 * t + 16.0 / 116.0)


@triton.jit
def rgb2lab_kernel(src, dst, plane, BLOCK: tl.constexpr):
    img = tl.program_id(1).to(tl.int64)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offs < plane
    base = img * 3 * plane

    r = tl.load(src + base + offs, mask=inside, other=0.0).to(tl.float64)
    g = tl.load(src + base + plane + offs, mask=inside, other=0.0).to(tl.float64)
    b = tl.load(src + base + 2 * plane + offs, mask=inside, other=0.0).to(tl.float64)

    r = _to_linear(r)
    g = _to_linear(g)
    b = _to_linear(b)

    # D65 primaries
    x = (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047
    y = 0.2126729 * r + 0.7151522 * g + 0.0721750 * b
    z = (0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883

    fx = _lab_f(x)
    fy = _lab_f(y)
    fz = _lab_f(z)

    L = 116.0 * fy - 16.0
    A = 500.0 * (fx - fy)
    B = 200.0 * (fy - fz)
    tl.store(dst + base + offs, L.to(tl.float32), mask=inside)
    tl.store(dst + base + plane + offs, A.to(tl.float32), mask=inside)
    tl.store(dst + base + 2 * plane + offs, B.to(tl.float32), mask=inside)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, rgb):
        rgb = rgb.contiguous()
        n, _, h, w = rgb.shape
        out = torch.empty_like(rgb)
        grid = (triton.cdiv(h * w, 512), n)
        rgb2lab_kernel[grid](rgb, out, h * w, BLOCK=512, num_warps=4)
        return out
