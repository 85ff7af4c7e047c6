"""Matrix products as the interpreter will hand them over: the launches of the ``h100-gemm.csv`` benchmark by hand."""

from __future__ import annotations

from micro_launches import HERE, LANE, LANE1, PID, PID1, iteration, launch, load, number, store, tensor, tiles

from kernlint.workload import Cast, Compute, Dot, Expr, Launch, Loop, Node, Operand
from kernlint.workload import dtype as dtypes
from kernlint.workload.dtype import Dtype
from kernlint.workload.expr import floordiv, minimum, mod


def gemm(
    m: int,
    n: int,
    k: int,
    tile: tuple[int, int, int] = (128, 128, 64),
    *,
    memory: Dtype = dtypes.FLOAT16,
    fed: Dtype | None = None,
    k_major: bool = True,
    grouped: int = 0,
    flat: bool = False,
    warps: int = 8,
    stages: int = 3,
    out: Dtype = dtypes.FLOAT32,
    precision: str = "tf32",
) -> Launch:
    """C[m, n] = A[m, k] B[k, n], a program a tile: a 2-D grid, or ``flat`` or ``grouped`` over a 1-D grid."""
    fed = fed or memory
    bm, bn, bk = tile
    tiles_m, tiles_n = tiles(m, bm), tiles(n, bn)
    row_block: Expr
    column_block: Expr
    if grouped:
        in_group = grouped * tiles_n
        group = Expr({}) + floordiv(PID, in_group)
        size = Expr({}) + minimum(tiles_m - group * grouped, grouped)
        row_block = group * grouped + mod(PID - group * in_group, size)
        column_block = Expr({}) + floordiv(PID - group * in_group, size)
        grid: tuple[int, ...] = (tiles_m * tiles_n,)
    elif flat:
        row_block, column_block = Expr({}) + floordiv(PID, tiles_n), Expr({}) + mod(PID, tiles_n)
        grid = (tiles_m * tiles_n,)
    else:
        row_block, column_block, grid = PID, PID1, (tiles_m, tiles_n)
    depth = iteration(0) * bk
    a = load(0, "a", memory, (bm, bk), (row_block * bm + LANE) * k + depth + LANE1)
    column = column_block * bn + LANE1
    b_offset = column * k + depth + LANE if k_major else (depth + LANE) * n + column
    b = load(1, "b", memory, (bk, bn), b_offset)
    casts = (Cast(memory, fed, HERE),) if fed is not memory else ()
    dot = Dot(
        0, bm, bn, bk,
        Operand(fed, frozenset({0}), casts, True, 1, k, HERE),
        Operand(fed, frozenset({1}), casts, True, 1 if k_major else n, k if k_major else 1, HERE),
        dtypes.INT32 if fed is dtypes.INT8 else dtypes.FLOAT32, precision, True, HERE,
    )  # fmt: skip
    extra: tuple[Node, ...] = tuple(Compute("cast", bm * bk, memory, HERE) for _ in casts)
    loop = Loop(0, "range", tiles(k, bk), (a, b, *extra, dot), HERE, carried=True)
    c_offset = (row_block * bm + LANE) * n + column_block * bn + LANE1
    end = store(2, "c", out, (bm, bn), c_offset, (row_block * bm + LANE, number(m)))
    arguments = {
        "a": tensor("a", memory, m, k),
        "b": tensor("b", memory, n, k) if k_major else tensor("b", memory, k, n),
        "c": tensor("c", out, m, n),
    }
    return launch("gemm", (loop, end), grid, arguments, warps, stages)
