"""Access against the grain: column reductions, columns as rows, transposing tiles, strided blocks, gathers."""

from __future__ import annotations

import itertools

import triton
import triton.language as tl
from case import Buffer, Case, Launch, cdiv, micro, next_power_of_2


@triton.jit
def column_sum(x, y, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    """y [cols] = sum of x [rows, cols] over rows: a [BR, BC] accumulator, one reduction at the end."""
    column = tl.program_id(0) * BC + tl.arange(0, BC)
    total = tl.zeros((BR, BC), dtype=tl.float32)
    for start in range(0, rows, BR):
        row = start + tl.arange(0, BR)
        tile = x + row[:, None] * cols + column[None, :]
        total += tl.load(tile, mask=(row[:, None] < rows) & (column[None, :] < cols), other=0.0).to(tl.float32)
    tl.store(y + column, tl.sum(total, axis=0).to(y.dtype.element_ty), mask=column < cols)


@triton.jit
def column_sum_split(x, y, rows, cols, PART: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr):
    """As `column_sum`, but each program sums PART rows and adds its [BC] result to y atomically."""
    column = tl.program_id(0) * BC + tl.arange(0, BC)
    total = tl.zeros((BR, BC), dtype=tl.float32)
    for start in range(0, PART, BR):
        row = tl.program_id(1) * PART + start + tl.arange(0, BR)
        tile = x + row[:, None] * cols + column[None, :]
        total += tl.load(tile, mask=(row[:, None] < rows) & (column[None, :] < cols), other=0.0).to(tl.float32)
    tl.atomic_add(y + column, tl.sum(total, axis=0), mask=column < cols, sem="relaxed")


@triton.jit
def column_per_program(x, y, rows, cols, BLOCK: tl.constexpr):
    """y [cols] = sum over rows, one program per column: a 1-D block whose elements are `cols` apart."""
    column = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, rows, BLOCK):
        row = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * cols + column, mask=row < rows, other=0.0).to(tl.float32)
    tl.store(y + column, tl.sum(total, axis=0).to(y.dtype.element_ty))


@triton.jit
def row_to_column(x, y, rows, cols, BLOCK: tl.constexpr):
    """y [cols, rows] = transpose of x [rows, cols], one program per row: coalesced load, store stride `rows`."""
    row = tl.program_id(0)
    offset = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + offset, mask=offset < cols)
    tl.store(y + offset * rows + row, value, mask=offset < cols)


@triton.jit
def transpose_tile(x, y, rows, cols, TRANS: tl.constexpr, BR: tl.constexpr, BC: tl.constexpr):
    """y [cols, rows] = transpose of x, a [BR, BC] tile per program; TRANS transposes the tile before the store."""
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    column = tl.program_id(1) * BC + tl.arange(0, BC)
    value = tl.load(x + row[:, None] * cols + column[None, :])
    if TRANS:
        tl.store(y + column[:, None] * rows + row[None, :], tl.trans(value))
    else:
        tl.store(y + column[None, :] * rows + row[:, None], value)


@triton.jit
def stride_copy(x, y, STRIDE_IN: tl.constexpr, STRIDE_OUT: tl.constexpr, BLOCK: tl.constexpr):
    """y[i * STRIDE_OUT] = x[i * STRIDE_IN] for a block of i per program."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offset * STRIDE_OUT, tl.load(x + offset * STRIDE_IN))


@triton.jit
def gather(x, index, y, BLOCK: tl.constexpr):
    """y[i] = x[index[i]]: one random element per thread."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offset, tl.load(x + tl.load(index + offset)))


@triton.jit
def scatter_add(x, index, y, BLOCK: tl.constexpr):
    """y[index[i]] += x[i] atomically, random addresses."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y + tl.load(index + offset), tl.load(x + offset), sem="relaxed")


@triton.jit
def embed(table, index, y, D, BLOCK: tl.constexpr):
    """y [n, D] = table [., D] rows chosen by index [n], one program per row."""
    row = tl.program_id(0)
    offset = tl.arange(0, BLOCK)
    source = tl.load(index + row).to(tl.int64)
    tl.store(y + row * D + offset, tl.load(table + source * D + offset, mask=offset < D), mask=offset < D)


def column_case(rows, cols, dtype, br, bc, warps=4, part=0) -> Case:
    """Column sums; `part` > 0 also splits the rows into parts that add atomically to an fp32 result."""
    x = Buffer("x", dtype, rows * cols)
    y = Buffer("sums", "float32" if part else dtype, cols)
    params = {"rows": rows, "cols": cols, "dtype": dtype, "BR": br, "BC": bc, "num_warps": warps}
    if part:
        params["part"] = part
        grid = (cdiv(cols, bc), cdiv(rows, part))
        launch = Launch(column_sum_split, (x, y, rows, cols), {"PART": part, "BR": br, "BC": bc}, grid, warps)
    else:
        launch = Launch(column_sum, (x, y, rows, cols), {"BR": br, "BC": bc}, (cdiv(cols, bc),), warps)
    return micro("col_reduce_split" if part else "col_reduce", params, launch, bytes=x.nbytes + y.nbytes)


def column_per_program_case(rows, cols, dtype, block, warps=4) -> Case:
    """One program per column."""
    x, y = Buffer("x", dtype, rows * cols), Buffer("sums", dtype, cols)
    params = {"rows": rows, "cols": cols, "dtype": dtype, "BLOCK": block, "num_warps": warps}
    launch = Launch(column_per_program, (x, y, rows, cols), {"BLOCK": block}, (cols,), warps)
    return micro("col_per_program", params, launch, bytes=x.nbytes + y.nbytes)


def row_to_column_case(rows, cols, dtype, warps=4) -> Case:
    """Transpose with a strided 1-D store."""
    x, y = Buffer("x", dtype, rows * cols), Buffer("y", dtype, rows * cols)
    params = {"rows": rows, "cols": cols, "dtype": dtype, "num_warps": warps}
    launch = Launch(row_to_column, (x, y, rows, cols), {"BLOCK": next_power_of_2(cols)}, (rows,), warps)
    return micro("row_to_column", params, launch, bytes=x.nbytes + y.nbytes)


def transpose_case(rows, cols, dtype, br, bc, trans, warps=4) -> Case:
    """2-D tile transpose."""
    x, y = Buffer("x", dtype, rows * cols), Buffer("y", dtype, rows * cols)
    params = {
        "rows": rows,
        "cols": cols,
        "dtype": dtype,
        "BR": br,
        "BC": bc,
        "num_warps": warps,
        "store": "trans" if trans else "as-is",
    }
    constants = {"TRANS": trans, "BR": br, "BC": bc}
    launch = Launch(transpose_tile, (x, y, rows, cols), constants, (rows // br, cols // bc), warps)
    return micro("tile_transpose", params, launch, bytes=x.nbytes + y.nbytes)


def stride_case(n, dtype, stride_in, stride_out, block=1024, warps=4) -> Case:
    """Strided load or store of n elements; `bytes` counts the n elements, not the sectors they touch."""
    x, y = Buffer("x", dtype, n * stride_in), Buffer("y", dtype, n * stride_out)
    params = {
        "n": n,
        "dtype": dtype,
        "stride_in": stride_in,
        "stride_out": stride_out,
        "BLOCK": block,
        "num_warps": warps,
    }
    constants = {"STRIDE_IN": stride_in, "STRIDE_OUT": stride_out, "BLOCK": block}
    launch = Launch(stride_copy, (x, y), constants, (n // block,), warps)
    return micro("stride_copy", params, launch, bytes=2 * Buffer("n", dtype, n).nbytes)


def gather_case(kind, n, table, dtype, index_dtype, block=1024) -> Case:
    """Random element gather or atomic scatter over a table of `table` elements."""
    index = Buffer("index", index_dtype, n, table)
    small, big = Buffer("small", dtype, n), Buffer("table", dtype, table)
    kernel, args = (gather, (big, index, small)) if kind == "gather" else (scatter_add, (small, index, big))
    params = {"n": n, "table": table, "dtype": dtype, "index": index_dtype, "BLOCK": block}
    launch = Launch(kernel, args, {"BLOCK": block}, (n // block,))
    return micro(f"{kind}_elements", params, launch, bytes=index.nbytes + 2 * small.nbytes)


def embed_case(rows, table, d, dtype, warps=4) -> Case:
    """Random row gather with one program per row."""
    index = Buffer("index", "int64", rows, table)
    source, y = Buffer("table", dtype, table * d), Buffer("y", dtype, rows * d)
    params = {"rows": rows, "table": table, "D": d, "dtype": dtype, "num_warps": warps}
    launch = Launch(embed, (source, index, y, d), {"BLOCK": next_power_of_2(d)}, (rows,), warps)
    return micro("embed_rows", params, launch, bytes=index.nbytes + 2 * y.nbytes)


def cases() -> list[Case]:
    """All cases of this module."""
    found = []
    shapes = [(4096, 512), (65536, 256), (1024, 16384), (16384, 4096)]
    for (rows, cols), bc, elements in itertools.product(shapes, (1, 8, 32, 64, 128), (1024, 4096)):
        br = elements // bc
        found.append(column_case(rows, cols, "float32", br, bc))
        if elements == 4096 and bc > 1:
            found.append(column_case(rows, cols, "float16", br, bc, 8))
        if bc in (32, 128) and elements == 4096:
            found += [column_case(rows, cols, "float32", br, bc, 4, part) for part in (256, 1024)]
    for (rows, cols), block in itertools.product([*shapes, (2000, 3000)], (256, 1024)):
        found.append(column_per_program_case(rows, cols, "float32", block))
        found.append(column_per_program_case(rows, cols, "float16", block))
    for rows, cols, dtype in itertools.product((512, 6144), (1024, 3072), ("float16", "float32")):
        found.append(row_to_column_case(rows, cols, dtype))
    tiles = [(16, 16), (32, 32), (64, 64), (32, 128), (128, 32), (128, 128)]
    for (rows, cols), (br, bc), dtype in itertools.product([(1536, 3072), (6144, 8192)], tiles, ("float16", "float32")):
        found.append(transpose_case(rows, cols, dtype, br, bc, False))
        if br == bc:
            found.append(transpose_case(rows, cols, dtype, br, bc, True))
    for n, stride, dtype in itertools.product(
        (2**16, 2**18, 2**20), (1, 8, 32, 64, 128, 256, 512), ("float16", "float32")
    ):
        found.append(stride_case(n, dtype, 1, stride))
        if stride > 1:
            found.append(stride_case(n, dtype, stride, 1))
    for n, table, kind in itertools.product((2**20, 2**24), (2**14, 2**20, 2**26), ("gather", "scatter_add")):
        found.append(gather_case(kind, n, table, "float32", "int32"))
        found.append(gather_case(kind, n, table, "float32", "int64"))
    for rows, d, dtype in itertools.product((4096, 65536), (64, 256, 1024, 4096), ("float16", "float32")):
        found.append(embed_case(rows, 50000, d, dtype))
    return found
