import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def histogram_kernel(images, counts, pixels, BINS: tl.constexpr, BLOCK: tl.constexpr):
    image = tl.program_id(1)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < pixels
    grey = tl.load(images + image.to(tl.int64) * pixels + at, mask=mask, other=0).to(tl.int32)
    tl.atomic_add(counts + image * BINS + grey, 1, mask=mask)


class ModelNew(nn.Module):
    def __init__(self, bins):
        super().__init__()
        self.bins = bins

    def forward(self, images):
        n, pixels = images.shape
        counts = torch.zeros((n, self.bins), dtype=torch.int32, device=images.device)
        histogram_kernel[(triton.cdiv(pixels, 1024), n)](images, counts, pixels, BINS=self.bins, BLOCK=1024)
        return counts
