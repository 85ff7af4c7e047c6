"""Butterworth band-pass: rfft2, gain applied in place by a Triton kernel, irfft2."""
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def band_gain_kernel(
    spec_ptr, cut_ptr,
    H, W, W2X,
    norm,
    BLOCK_Y: tl.constexpr, BLOCK_X: tl.constexpr,
):
    # the spectrum as rows of interleaved (re, im) floats: both parts get the same real gain
    xs = tl.program_id(0) * BLOCK_X + tl.arange(0, BLOCK_X)
    ys = tl.program_id(1) * BLOCK_Y + tl.arange(0, BLOCK_Y)
    b = tl.program_id(2)
    mask = (ys < H)[:, None] & (xs < W2X)[None, :]
    ptr = spec_ptr + b.to(tl.int64) * H * W2X + ys[:, None] * W2X + xs[None, :]
    v = tl.load(ptr, mask=mask, other=0.0)

    low = tl.load(cut_ptr)
    high = tl.load(cut_ptr + 1)
    fy = tl.where(ys * 2 < H, ys, ys - H).to(tl.float32) / H
    fx = (xs // 2).to(tl.float32) / W
    r2 = (fy * fy)[:, None] + (fx * fx)[None, :]
    ql = r2 * (1.0 / (low * low))
    qh = r2 * (1.0 / (high * high))
    ql = ql * ql
    qh = qh * qh
    # one division for both factors; the inverse transform's 1/(H W) comes along
    gain = norm * ql / ((1.0 + qh) * (1.0 + ql))
    tl.store(ptr, v * gain, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, low, high):
        super().__init__()
        self.register_buffer("cut", torch.tensor([low, high], dtype=torch.float32))

    def forward(self, x):
        B, H, W = x.shape
        spec = torch.fft.rfft2(x).contiguous()
        W2X = 2 * (W // 2 + 1)
        flat = torch.view_as_real(spec)
        BLOCK_Y, BLOCK_X = 4, 256
        grid = (triton.cdiv(W2X, BLOCK_X), triton.cdiv(H, BLOCK_Y), B)
        band_gain_kernel[grid](
            flat, self.cut, H, W, W2X, 1.0 / (H * W),
            BLOCK_Y=BLOCK_Y, BLOCK_X=BLOCK_X, num_warps=4,
        )
        # norm="forward": no scaling pass after the inverse, the kernel did it
        return torch.fft.irfft2(spec, s=(H, W), norm="forward")
