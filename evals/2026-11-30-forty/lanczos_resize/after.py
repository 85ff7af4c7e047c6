"""Antialiased Lanczos-3 downscaling, uint8 NCHW -> float16 NCHW in 0..1."""
import math
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lanczos3(x):
    px = x * 3.141592653589793
    d = tl.where(tl.abs(x) < 1e-4, 1.0, px)
    w = 3.0 * tl.sin(d) * tl.sin(d * (1.0 / 3.0)) / (d * d)
    w = tl.where(tl.abs(x) < 1e-4, 1.0, w)
    return tl.where(tl.abs(x) < 3.0, w, 0.0)


def taps(scale):
    return math.ceil(6.0 * scale) + 2


@triton.jit
def resample_axis_kernel(
    src_ptr, dst_ptr,
    total, LEN, OLEN, INNER,
    scale, gain,
    TAPS: tl.constexpr, CLAMP: tl.constexpr, BLOCK: tl.constexpr,
):
    """One axis of [outer, LEN, INNER] -> [outer, OLEN, INNER]."""
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < total
    inner = offs % INNER
    row = offs // INNER
    o = row % OLEN
    outer = row // OLEN
    c = (o + 0.5) * scale
    i0 = tl.floor(c - 3.0 * scale).to(tl.int32)
    base = src_ptr + outer * LEN * INNER + inner
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    norm = tl.zeros((BLOCK,), dtype=tl.float32)
    for t in range(TAPS):
        i = i0 + t
        ok = mask & (i >= 0) & (i < LEN)
        w = tl.where(ok, lanczos3((i + 0.5 - c) / scale), 0.0)
        acc += w * tl.load(base + i * INNER, mask=ok, other=0).to(tl.float32)
        norm += w
    res = acc * gain / tl.where(mask, norm, 1.0)
    if CLAMP:
        res = tl.minimum(tl.maximum(res, 0.0), 1.0)
    tl.store(dst_ptr + offs, res.to(dst_ptr.dtype.element_ty), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, out_h, out_w):
        super().__init__()
        self.out_h = out_h
        self.out_w = out_w

    def forward(self, img):
        B, C, H, W = img.shape
        OH, OW = self.out_h, self.out_w
        mid = torch.empty((B, C, H, OW), device=img.device, dtype=torch.float32)
        out = torch.empty((B, C, OH, OW), device=img.device, dtype=torch.float16)
        sy, sx = H / OH, W / OW
        BLOCK = 128
        n = mid.numel()
        resample_axis_kernel[(triton.cdiv(n, BLOCK),)](
            img, mid, n, W, OW, 1, sx, 1.0 / 255.0,
            TAPS=taps(sx), CLAMP=False, BLOCK=BLOCK, num_warps=4,
        )
        n = out.numel()
        resample_axis_kernel[(triton.cdiv(n, BLOCK),)](
            mid, out, n, H, OH, OW, sy, 1.0,
            TAPS=taps(sy), CLAMP=True, BLOCK=BLOCK, num_warps=4,
        )
        return out
