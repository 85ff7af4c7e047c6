import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def count_kernel(codes_ptr, counts_ptr, n, n_levels,
                 BLOCK: tl.constexpr, STEPS: tl.constexpr, BINS: tl.constexpr):
    col = tl.program_id(1)
    start = tl.program_id(0) * BLOCK * STEPS
    hist = tl.zeros((BINS,), dtype=tl.int32)
    for step in range(STEPS):
        offs = start + step * BLOCK + tl.arange(0, BLOCK)
        mask = offs < n
        code = tl.load(codes_ptr + col * n + offs, mask=mask, other=0).to(tl.int32)
        hist += tl.histogram(code, BINS, mask=mask)
    # one atomic per level and program, not one per element
    level = tl.arange(0, BINS)
    tl.atomic_add(counts_ptr + col * n_levels + level, hist, mask=(level < n_levels) & (hist > 0), sem="relaxed")


@triton.jit
def encode_kernel(codes_ptr, counts_ptr, out_ptr, n, n_levels, BLOCK: tl.constexpr):
    col = tl.program_id(1)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    code = tl.load(codes_ptr + col * n + offs, mask=mask, other=0).to(tl.int32)
    count = tl.load(counts_ptr + col * n_levels + code, mask=mask, other=0)
    freq = count.to(tl.float32) / n
    tl.store(out_ptr + col * n + offs, freq.to(tl.float16), mask=mask)


class ModelNew(nn.Module):
    def __init__(self, num_levels):
        super().__init__()
        self.num_levels = num_levels

    def forward(self, codes):
        codes = codes.contiguous()
        n_cols, n = codes.shape
        counts = torch.zeros((n_cols, self.num_levels), device=codes.device, dtype=torch.int32)
        out = torch.empty((n_cols, n), device=codes.device, dtype=torch.float16)
        BLOCK, STEPS = 2048, 4
        BINS = max(32, triton.next_power_of_2(self.num_levels))
        count_kernel[(triton.cdiv(n, BLOCK * STEPS), n_cols)](
            codes, counts, n, self.num_levels, BLOCK=BLOCK, STEPS=STEPS, BINS=BINS, num_warps=4)
        encode_kernel[(triton.cdiv(n, BLOCK), n_cols)](
            codes, counts, out, n, self.num_levels, BLOCK=BLOCK, num_warps=4)
        return out, counts
