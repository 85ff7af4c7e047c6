"""`total == 0 | (total != total)` compares with `0 | isnan`, so that a NaN is never caught.

    TRITON_INTERPRET=1 python bit_or_in_a_comparison.py

Stands for the epilogue of the flash attention kernels of FlagGems, which mean (total == 0) | (total != total).
"""

import torch
import triton
import triton.language as tl


@triton.jit
def guarded(x, bare, parenthesised, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.load(x + i)
    tl.store(bare + i, tl.where(total == 0 | (total != total), 1.0, 1.0 / total))
    tl.store(parenthesised + i, tl.where((total == 0) | (total != total), 1.0, 1.0 / total))


x = torch.tensor([0.0, float("nan"), 2.0, 4.0])
bare, parenthesised = torch.empty(4), torch.empty(4)
guarded[(1,)](x, bare, parenthesised, 4)
print("sums         ", x.tolist())
print("as written   ", bare.tolist())
print("parenthesised", parenthesised.tolist())
assert bare[1].isnan() and parenthesised[1] == 1.0
