"""Rows that a program takes by its id, under a mask that forgets the id: the last program reads and writes past the end.

    TRITON_INTERPRET=1 python mask_without_the_program.py

Stands for `flash_attention_full_kernel` and `flash_attention_v2_kernel` of cuda-triton-multiarch: `mask_row = offsets_row < seq_len`
beside addresses of `q_start + offsets_row`. The released functions corrupt the heap of the interpreter with 100 rows.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_rows(x, y, rows, FORGETS: tl.constexpr, BLOCK: tl.constexpr, D: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    row = tl.arange(0, BLOCK)
    inside = row < rows if FORGETS else start + row < rows
    at = (start + row)[:, None] * D + tl.arange(0, D)[None, :]
    tl.store(y + at, tl.load(x + at, mask=inside[:, None]), mask=inside[:, None])


def behind(rows, forgets):
    """How many elements behind the output are written."""
    x, y = torch.ones(rows + 64, 64), torch.zeros(rows + 64, 64)
    copy_rows[(triton.cdiv(rows, 64),)](x, y, rows, FORGETS=forgets, BLOCK=64, D=64)
    assert bool((y[:rows] == 1).all())
    return int(y[rows:].sum())


for rows in (128, 100):
    print(
        f"{rows} rows: {behind(rows, True)} elements behind the output written; {behind(rows, False)} with the id in the mask"
    )
    assert (behind(rows, True) > 0) == (rows % 64 != 0) and behind(rows, False) == 0
