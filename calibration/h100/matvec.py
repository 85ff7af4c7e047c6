"""Matrix times vector, and row sums by tiles: reductions along the contiguous axis of a [rows, cols] matrix."""

from __future__ import annotations

import itertools

import triton
import triton.language as tl
from case import Buffer, Case, Launch, cdiv, micro


@triton.jit
def matvec(w, x, y, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    """y [rows] = w [rows, cols] x [cols]: BR rows per program, a loop over BC columns, one reduction at the end."""
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    acc = tl.zeros((BR, BC), dtype=tl.float32)
    for start in range(0, cols, BC):
        column = start + tl.arange(0, BC)
        inside = (row[:, None] < rows) & (column[None, :] < cols)
        tile = tl.load(w + row[:, None] * cols + column[None, :], mask=inside, other=0.0).to(tl.float32)
        acc += tile * tl.load(x + column, mask=column < cols, other=0.0).to(tl.float32)[None, :]
    tl.store(y + row, tl.sum(acc, axis=1).to(y.dtype.element_ty), mask=row < rows)


@triton.jit
def row_tile_sum(x, y, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    """y [rows] = sum of x [rows, cols] over columns, a [BR, BC] tile per iteration reduced in every iteration."""
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    total = tl.zeros((BR,), dtype=tl.float32)
    for start in range(0, cols, BC):
        column = start + tl.arange(0, BC)
        inside = (row[:, None] < rows) & (column[None, :] < cols)
        total += tl.sum(
            tl.load(x + row[:, None] * cols + column[None, :], mask=inside, other=0.0).to(tl.float32), axis=1
        )
    tl.store(y + row, total.to(y.dtype.element_ty), mask=row < rows)


def tile_case(kind: str, rows: int, cols: int, dtype: str, br: int, bc: int, warps: int = 4) -> Case:
    """`matvec` or `row_tile_sum`."""
    matrix, vector, out = Buffer("w", dtype, rows * cols), Buffer("x", dtype, cols), Buffer("sums", dtype, rows)
    kernel, args = (matvec, (matrix, vector, out)) if kind == "matvec" else (row_tile_sum, (matrix, out))
    params = {"rows": rows, "cols": cols, "dtype": dtype, "BR": br, "BC": bc, "num_warps": warps}
    launch = Launch(kernel, (*args, rows, cols), {"BR": br, "BC": bc}, (cdiv(rows, br),), warps)
    flops = (2 if kind == "matvec" else 1) * rows * cols
    return micro(kind, params, launch, bytes=sum(x.nbytes for x in args), flops=flops)


def cases() -> list[Case]:
    """All cases of this module."""
    found = []
    shapes = [(1536, 1536), (3072, 12288), (12288, 3072)]
    tiles = [(1, 512), (1, 2048), (4, 512), (16, 128), (16, 512), (64, 64)]
    for (rows, cols), (br, bc), dtype in itertools.product(shapes, tiles, ("float16", "float32")):
        found.append(tile_case("matvec", rows, cols, dtype, br, bc))
    shapes = [(512, 6144), (20000, 768), (100000, 96)]
    tiles = [(1, 1024), (8, 128), (32, 32), (128, 16), (128, 64), (256, 4)]
    for (rows, cols), (br, bc), dtype in itertools.product(shapes, tiles, ("float16", "float32")):
        found.append(tile_case("row_tile_sum", rows, cols, dtype, br, bc))
    return found
