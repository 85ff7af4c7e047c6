import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(img, hist, n_pixels, BLOCK: tl.constexpr):
    image_id = tl.program_id(1)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    valid = offs < n_pixels
    level = tl.load(img + image_id.to(tl.int64) * n_pixels + offs, mask=valid, other=0).to(tl.int32)
    tl.atomic_add(hist + image_id * 256 + level, 1, mask=valid, sem="relaxed")


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, images):
        images = images.contiguous()
        count = images.shape[0]
        n_pixels = images[0].numel()
        hist = torch.zeros((count, 256), dtype=torch.int32, device=images.device)
        BLOCK = 4096
        histogram_kernel[(triton.cdiv(n_pixels, BLOCK), count)](images, hist, n_pixels, BLOCK=BLOCK, num_warps=8)
        return hist
