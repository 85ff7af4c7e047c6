import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def _popcount(x):
    # Right shifts of negative words drag the sign along; every shifted value is masked.
    x = ((x >> 1) & 0x55555555) + (x & 0x55555555)
    x = ((x >> 2) & 0x33333333) + (x & 0x33333333)
    x = ((x >> 4) & 0x0F0F0F0F) + (x & 0x0F0F0F0F)
    x = x + (x >> 8)
    x = x + (x >> 16)
    return x & 0x3F


@triton.jit
def filter_count_kernel(a_ptr, b_ptr, deleted_ptr, hits_ptr, count_ptr, WORDS, BLOCK: tl.constexpr):
    segment = tl.program_id(0)
    base = segment.to(tl.int64) * WORDS
    count = tl.zeros([BLOCK], tl.int32)
    for start in range(0, WORDS, BLOCK):
        w = start + tl.arange(0, BLOCK)
        mask = w < WORDS
        a = tl.load(a_ptr + base + w, mask=mask, other=0)
        b = tl.load(b_ptr + base + w, mask=mask, other=0)
        dead = tl.load(deleted_ptr + base + w, mask=mask, other=0)
        hits = (a | b) & (dead ^ -1)
        tl.store(hits_ptr + base + w, hits, mask=mask)
        count += _popcount(hits)
    tl.store(count_ptr + segment, tl.sum(count, axis=0))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()

    def forward(self, a, b, deleted):
        segments, words = a.shape
        hits = torch.empty_like(a)
        counts = torch.empty(segments, device=a.device, dtype=torch.int32)
        filter_count_kernel[(segments,)](a, b, deleted, hits, counts, words, BLOCK=1024, num_warps=4)
        return hits, counts
