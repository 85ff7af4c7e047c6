import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(images, counts, pixels, BINS: tl.constexpr, BLOCK: tl.constexpr, STEPS: tl.constexpr):
    image = tl.program_id(1)
    first = tl.program_id(0) * BLOCK * STEPS
    lanes = tl.arange(0, BLOCK)
    bins = tl.arange(0, BINS)
    seen = tl.zeros((BINS,), dtype=tl.int32)
    images += image.to(tl.int64) * pixels
    for step in range(STEPS):
        at = first + step * BLOCK + lanes
        mask = at < pixels
        grey = tl.load(images + at, mask=mask, other=0).to(tl.int32)
        seen += tl.histogram(grey, BINS)
        # Lanes beyond the image were counted as black.
        beyond = BLOCK - tl.sum(mask.to(tl.int32))
        seen -= tl.where(bins == 0, beyond, 0)
    tl.atomic_add(counts + image * BINS + bins, seen, mask=seen != 0)


class ModelNew(nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.bins = bins

    def forward(self, images):
        n, pixels = images.shape
        counts = torch.zeros((n, self.bins), dtype=torch.int32, device=images.device)
        steps = 8 if n * pixels > 1 << 23 else 1
        grid = (triton.cdiv(pixels, 2048 * steps), n)
        histogram_kernel[grid](images, counts, pixels, BINS=self.bins, BLOCK=2048, STEPS=steps)
        return counts
