"""A row quantised in blocks of 32, four blocks a program: where a row has 90, the last program writes two of the next row.

    TRITON_INTERPRET=1 python blocks_past_the_row.py

Stands for `_qk` of axolotl (`quant_mxfp8.py`, and `quant_nvfp4.py` with eight blocks of 16 a program): no access has a mask. Rows
of 2880 elements are those of gpt-oss. Within the output the two blocks are those that the next row has there anyway; behind the last
row they are whatever lies there. One more row stands behind the output here, so that it shows.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def quantise(x, q, s, columns, blocks, PER_PROGRAM: tl.constexpr):
    row = tl.program_id(0)
    block = tl.program_id(1) * PER_PROGRAM + tl.arange(0, PER_PROGRAM)
    column = block[:, None] * 32 + tl.arange(0, 32)[None, :]
    v = tl.load(x + row * columns + column)
    scale = tl.max(tl.abs(v), axis=1) / 448.0
    tl.store(q + row * columns + column, v / scale[:, None])
    tl.store(s + row * blocks + block, scale)


def run(x, per_program=4):
    rows, columns = x.shape
    blocks = columns // 32
    room = torch.ones(rows + 1, columns)
    room[:rows] = x
    q, s = torch.zeros(rows + 1, columns), torch.zeros(rows + 1, blocks)
    quantise[(rows, triton.cdiv(blocks, per_program))](room, q, s, columns, blocks, PER_PROGRAM=per_program)
    return q, s


torch.manual_seed(0)
for columns in (2944, 2880):
    q, s = run(torch.randn(4, columns))
    behind = int((q[4] != 0).sum())
    print(f"{columns} columns: {behind} elements and {int((s[4] != 0).sum())} scales behind the output are written")
    assert (behind > 0) == (columns % 128 != 0)
