"""A row of more columns than the block that a function takes by default: what is behind it is never written.

    TRITON_INTERPRET=1 python columns_behind_the_block.py

Stands for `dropout_matrix` and `dropout_matrix_v2` of cuda_mode, whose `block_size` is 128.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def kept(x, mask, y, p, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    at = row * columns + i
    there = i < columns
    value = tl.load(x + at, mask=there, other=0.0)
    keep = tl.load(mask + at, mask=there, other=0.0)
    tl.store(y + at, tl.where(keep != 0, value / (1 - p), 0.0), mask=there)


def dropout(x, mask, p=0.5, block=128):
    y = torch.full_like(x, float("nan"))  # what `torch.empty_like` may hold
    kept[(x.shape[0],)](x, mask, y, p, x.shape[1], BLOCK=block)
    return y


for columns in (100, 128, 200):
    x, mask = torch.randn(4, columns), (torch.rand(4, columns) > 0.5).float()
    got, right = dropout(x, mask), torch.where(mask != 0, x / 0.5, torch.zeros(()))
    missing = int((got != right).sum())
    print(f"{columns} columns: {missing} of {got.numel()} elements are wrong")
    assert missing == 4 * max(columns - 128, 0)
