"""A grid for blocks of 1024 elements, and an autotuner that may choose a block of 256: three quarters are not written.

    TRITON_INTERPRET=1 python grid_for_the_largest_block.py

Stands for the KL747 rows of docs/llm-failures.md. The block is given by hand, as the tuner would.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def hardtanh(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, tl.minimum(tl.maximum(value, -1.0), 1.0), mask=at < n)


def unwritten(block):
    """Elements of a poisoned output that still hold the poison."""
    x = torch.randn(1 << 14)
    out = torch.full_like(x, float("nan"))
    hardtanh[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK=block)
    written = ~out.isnan()
    assert torch.equal(out[written], x.clamp(-1, 1)[written])
    return int(out.isnan().sum())


for block in (1024, 512, 256):
    print(f"block {block}: {unwritten(block)} of {1 << 14} elements not written")
assert [unwritten(block) for block in (1024, 512, 256)] == [0, 1 << 13, 3 << 12]
