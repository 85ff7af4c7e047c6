"""A score whose tile holds 64 columns whatever the length of the rows: with 128 the second half does not count.

    TRITON_INTERPRET=1 python row_longer_than_tile.py

Stands for `_col_mean_attn_streaming_kernel` of flash-colsum (64 of the head's columns) and `_roq_maxsim_8bit_kernel` of
colsearch (128 of the vector's): the tile is a literal at the launch, the mask keeps lanes below the length, and no loop goes
over the rest.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def scores(q, k, out, D, BLOCK_D: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK_D)
    inside = column < D
    a = tl.load(q + row * D + column, mask=inside, other=0.0)
    b = tl.load(k + row * D + column, mask=inside, other=0.0)
    tl.store(out + row, tl.sum(a * b))


def run(q, k, tile):
    out = torch.empty(q.shape[0])
    scores[(q.shape[0],)](q, k, out, q.shape[1], BLOCK_D=tile)
    return out


torch.manual_seed(0)
for columns in (64, 128):
    q, k = torch.randn(8, columns), torch.randn(8, columns)
    expected = (q * k).sum(1)
    fixed, fitting = run(q, k, 64), run(q, k, triton.next_power_of_2(columns))
    print(f"{columns} columns: error {(fixed - expected).abs().max():.3f} with a tile of 64")
    assert torch.allclose(fitting, expected, atol=1e-4)
    assert torch.allclose(fixed, expected, atol=1e-4) == (columns == 64)
