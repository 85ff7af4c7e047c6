import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def hist_kernel(gray, counts, n_pixels, BLOCK: tl.constexpr):
    image = tl.program_id(1)
    gray += image.to(tl.int64) * n_pixels
    lanes = tl.arange(0, BLOCK)
    bins = tl.arange(0, 256)
    local = tl.zeros([256], dtype=tl.int32)
    for start in range(tl.program_id(0) * BLOCK, n_pixels, tl.num_programs(0) * BLOCK):
        offs = start + lanes
        value = tl.load(gray + offs, mask=offs < n_pixels, other=0).to(tl.int32)
        local += tl.histogram(value, 256)
        # lanes past the end were counted as value 0
        surplus = tl.maximum(start + BLOCK - n_pixels, 0)
        local = tl.where(bins == 0, local - surplus, local)
    tl.atomic_add(counts + image * 256 + bins, local, mask=local > 0)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, gray):
        gray = gray.contiguous()
        n = gray.shape[0]
        n_pixels = gray[0].numel()
        counts = torch.zeros((n, 256), dtype=torch.int32, device=gray.device)
        BLOCK = 4096
        programs = min(triton.cdiv(n_pixels, BLOCK), triton.cdiv(1056, n))
        hist_kernel[(programs, n)](gray, counts, n_pixels, BLOCK=BLOCK, num_warps=8)
        return counts.float() / n_pixels
