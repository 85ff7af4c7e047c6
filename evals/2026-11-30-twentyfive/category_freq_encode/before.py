import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def count_kernel(codes_ptr, counts_ptr, n, n_levels, BLOCK: tl.constexpr):
    col = tl.program_id(1)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    code = tl.load(codes_ptr + col * n + offs, mask=mask, other=0).to(tl.int32)
    tl.atomic_add(counts_ptr + col * n_levels + code, 1, mask=mask, sem="relaxed")


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
        BLOCK = 2048
        grid = (triton.cdiv(n, BLOCK), n_cols)
        count_kernel[grid](codes, counts, n, self.num_levels, BLOCK=BLOCK, num_warps=4)
        encode_kernel[grid](codes, counts, out, n, self.num_levels, BLOCK=BLOCK, num_warps=4)
        return out, counts
