import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _one_channel(src, dst, mean_ptr, std_ptr, pix, mask, num_pixels, CH: tl.constexpr):
    inv_std = 1.0 / tl.load(std_ptr + CH)
    scale = inv_std * (1.0 / 255.0)
    shift = -tl.load(mean_ptr + CH) * inv_std
    value = tl.load(src + pix * 3 + CH, mask=mask, other=0).to(tl.float32)
    tl.store(dst + CH * num_pixels + pix, value * scale + shift, mask=mask)


@triton.jit
def to_planar_kernel(src, dst, mean_ptr, std_ptr, num_pixels, PIX: tl.constexpr):
    image = tl.program_id(1).to(tl.int64)
    pix = tl.program_id(0) * PIX + tl.arange(0, PIX)
    mask = pix < num_pixels
    src += image * num_pixels * 3
    dst += image * num_pixels * 3
    _one_channel(src, dst, mean_ptr, std_ptr, pix, mask, num_pixels, 0)
    _one_channel(src, dst, mean_ptr, std_ptr, pix, mask, num_pixels, 1)
    _one_channel(src, dst, mean_ptr, std_ptr, pix, mask, num_pixels, 2)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.tensor([0.485, 0.456, 0.406]))
        self.register_buffer("std", torch.tensor([0.229, 0.224, 0.225]))

    def forward(self, images):
        images = images.contiguous()
        b, h, w, _ = images.shape
        out = torch.empty((b, 3, h, w), device=images.device, dtype=torch.float32)
        grid = (triton.cdiv(h * w, 1024), b)
        to_planar_kernel[grid](images, out, self.mean, self.std, h * w, PIX=1024, num_warps=4)
        return out
