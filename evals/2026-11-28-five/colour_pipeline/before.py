import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def power(x, p):
    return tl.where(x > 0.0, tl.exp2(p * tl.log2(tl.maximum(x, 1e-30))), 0.0)


@triton.jit
def decode_kernel(src, dst, n, BLOCK: tl.constexpr):
    o = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    v = tl.load(src + o, mask=m, other=0.0)
    lin = tl.where(v <= 0.04045, v / 12.92, power((v + 0.055) / 1.055, 2.4))
    tl.store(dst + o, lin, mask=m)


@triton.jit
def matrix_kernel(src, dst, ccm, plane, BLOCK: tl.constexpr):
    b = tl.program_id(1).to(tl.int64)
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < plane
    base = b * 3 * plane
    r = tl.load(src + base + o, mask=m, other=0.0)
    g = tl.load(src + base + plane + o, mask=m, other=0.0)
    bl = tl.load(src + base + 2 * plane + o, mask=m, other=0.0)
    for c in tl.static_range(3):
        v = tl.load(ccm + c * 3) * r + tl.load(ccm + c * 3 + 1) * g + tl.load(ccm + c * 3 + 2) * bl
        tl.store(dst + base + c * plane + o, tl.maximum(v, 0.0), mask=m)


@triton.jit
def tone_kernel(src, dst, n, inv_gamma, BLOCK: tl.constexpr):
    o = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = o < n
    v = tl.load(src + o, mask=m, other=0.0)
    t = v * (2.51 * v + 0.03) / (v * (2.43 * v + 0.59) + 0.14)
    t = tl.minimum(tl.maximum(t, 0.0), 1.0)
    tl.store(dst + o, power(t, inv_gamma), mask=m)


class ModelNew(nn.Module):
    def __init__(self, gamma):
        super().__init__()
        self.gamma = gamma
        self.ccm = nn.Parameter(torch.tensor([[1.1, -0.05, -0.05], [-0.08, 1.16, -0.08], [0.02, -0.12, 1.1]]))

    def forward(self, rgb):
        rgb = rgb.contiguous()
        B, _, H, W = rgb.shape
        n, plane = rgb.numel(), H * W
        BLOCK = 1024
        linear = torch.empty_like(rgb)
        decode_kernel[(triton.cdiv(n, BLOCK),)](rgb, linear, n, BLOCK=BLOCK)
        corrected = torch.empty_like(rgb)
        matrix_kernel[(triton.cdiv(plane, BLOCK), B)](linear, corrected, self.ccm, plane, BLOCK=BLOCK)
        out = torch.empty_like(rgb)
        tone_kernel[(triton.cdiv(n, BLOCK),)](corrected, out, n, 1.0 / self.gamma, BLOCK=BLOCK)
        return out
