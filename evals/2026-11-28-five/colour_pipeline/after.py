import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def power(x, p):
    return tl.where(x > 0.0, tl.exp2(p * tl.log2(tl.maximum(x, 1e-30))), 0.0)


@triton.jit
def decode(v):
    return tl.where(v <= 0.04045, v / 12.92, power((v + 0.055) / 1.055, 2.4))


@triton.jit
def colour_kernel(src, dst, ccm, plane, inv_gamma, BLOCK: tl.constexpr):
    b = tl.program_id(1).to(tl.int64)
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = o < plane
    base = b * 3 * plane
    r = decode(tl.load(src + base + o, mask=m, other=0.0))
    g = decode(tl.load(src + base + plane + o, mask=m, other=0.0))
    bl = decode(tl.load(src + base + 2 * plane + o, mask=m, other=0.0))
    for c in tl.static_range(3):
        v = tl.load(ccm + c * 3) * r + tl.load(ccm + c * 3 + 1) * g + tl.load(ccm + c * 3 + 2) * bl
        v = tl.maximum(v, 0.0)
        t = v * (2.51 * v + 0.03) / (v * (2.43 * v + 0.59) + 0.14)
        t = tl.minimum(tl.maximum(t, 0.0), 1.0)
        tl.store(dst + base + c * plane + o, power(t, inv_gamma), mask=m)


class ModelNew(nn.Module):
    def __init__(self, gamma):
        super().__init__()
        self.gamma = gamma
        self.ccm = nn.Parameter(torch.tensor([[1.1, -0.05, -0.05], [-0.08, 1.16, -0.08], [0.02, -0.12, 1.1]]))

    def forward(self, rgb):
        rgb = rgb.contiguous()
        B, _, H, W = rgb.shape
        plane = H * W
        BLOCK = 512
        out = torch.empty_like(rgb)
        colour_kernel[(triton.cdiv(plane, BLOCK), B)](rgb, out, self.ccm, plane, 1.0 / self.gamma, BLOCK=BLOCK)
        return out
