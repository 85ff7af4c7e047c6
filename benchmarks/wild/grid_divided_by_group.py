"""A grouped order of tiles whose grid is divided by the group size: only part of the tiles has a program.

    TRITON_INTERPRET=1 python grid_divided_by_group.py

Stands for the KL794 row of docs/llm-failures.md: grouping changes the order in which tiles are visited, not their number.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def fill(y, M, N, BLOCK: tl.constexpr, GROUP: tl.constexpr):
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(M, BLOCK), tl.cdiv(N, BLOCK)
    first = pid // (GROUP * columns) * GROUP
    size = tl.minimum(rows - first, GROUP)
    within = pid % (GROUP * columns)
    m = (first + within % size) * BLOCK + tl.arange(0, BLOCK)
    n = within // size * BLOCK + tl.arange(0, BLOCK)
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(y + m[:, None] * N + n[None, :], tl.zeros((BLOCK, BLOCK), tl.float32), mask=inside)


def unwritten(programs):
    """Elements of a poisoned 128 x 64 output that still hold the poison."""
    y = torch.full((128, 64), float("nan"))
    fill[(programs,)](y, 128, 64, BLOCK=16, GROUP=2)
    return int(y.isnan().sum())


rows, columns = triton.cdiv(128, 16), triton.cdiv(64, 16)
as_written, one_per_tile = triton.cdiv(rows, 2) * columns, rows * columns
print(f"as written, {as_written} programs: {unwritten(as_written)} of {128 * 64} elements not written")
print(f"one program a tile, {one_per_tile}: {unwritten(one_per_tile)} not written")
assert unwritten(as_written) == 128 * 64 // 2 and unwritten(one_per_tile) == 0
