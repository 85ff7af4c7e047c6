"""Lanes that meet in sectors: shifted loads of the same lines, lanes that walk along rows of their own, and reductions that
carry an index.

What one load fetches, the next one finds in L1: the taps of a stencil, and the next iteration of a lane that steps by less
than a sector.
"""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Case, Launch, cdiv, micro

#: Elements before the first point of a stencil: keeps its centre on a sector while the taps to its left stay inside.
LEAD = 16


@triton.jit
def stencil(u, y, nx, TAPS: tl.constexpr, TY: tl.constexpr, TX: tl.constexpr, LEAD: tl.constexpr):
    """y [ny, nx] = sum of TAPS (1, 3: a column, 5: a cross, 9: a box) neighbours in u [ny + 2, nx], LEAD elements in."""
    row = tl.program_id(1) * TY + tl.arange(0, TY)
    column = tl.program_id(0) * TX + tl.arange(0, TX)
    here = row[:, None] * nx + column[None, :]
    centre = u + LEAD + nx + here
    total = tl.load(centre).to(tl.float32)
    if TAPS >= 3:
        total += tl.load(centre - nx).to(tl.float32)
        total += tl.load(centre + nx).to(tl.float32)
    if TAPS >= 5:
        total += tl.load(centre - 1).to(tl.float32)
        total += tl.load(centre + 1).to(tl.float32)
    if TAPS >= 9:
        total += tl.load(centre - nx - 1).to(tl.float32)
        total += tl.load(centre - nx + 1).to(tl.float32)
        total += tl.load(centre + nx - 1).to(tl.float32)
        total += tl.load(centre + nx + 1).to(tl.float32)
    tl.store(y + here, total.to(y.dtype.element_ty))


@triton.jit
def walk_rows(x, y, length, BLOCK: tl.constexpr):
    """y [rows] = sums of x [rows, length]: a row a lane, one element of each row an iteration."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in range(length):
        total += tl.load(x + row * length + i).to(tl.float32)
    tl.store(y + row, total)


@triton.jit
def top_of_rows(x, y, which, K: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """The K largest of each row of x [rows, BLOCK] and their columns, one after the other, into y and which [rows, K]."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    left = tl.load(x + row[:, None] * BLOCK + column[None, :]).to(tl.float32)
    for i in tl.static_range(K):
        top, at = tl.max(left, axis=1, return_indices=True)
        tl.store(y + row * K + i, top)
        tl.store(which + row * K + i, at)
        left = tl.where(column[None, :] == at[:, None], float("-inf"), left)


@triton.jit
def largest_of_rows(x, y, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """The largest of each row of x [rows, BLOCK] into y [rows]: :func:`top_of_rows` without an index."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    value = tl.load(x + row[:, None] * BLOCK + column[None, :]).to(tl.float32)
    tl.store(y + row, tl.max(value, axis=1))


def stencil_case(taps, rows, cols, ty, tx, dtype, warps) -> Case:
    """A stencil of `taps` points over a plane of [rows, cols]."""
    u, y = Buffer("u", dtype, (rows + 2) * cols + 2 * LEAD), Buffer("y", dtype, rows * cols)
    params = {"taps": taps, "rows": rows, "cols": cols, "TY": ty, "TX": tx, "dtype": dtype, "num_warps": warps}
    constants = {"TAPS": taps, "TY": ty, "TX": tx, "LEAD": LEAD}
    launch = Launch(stencil, (u, y, cols), constants, (cols // tx, rows // ty), warps)
    return micro("stencil", params, launch, bytes=u.nbytes + y.nbytes, flops=taps * rows * cols)


def walk_case(rows, length, block, dtype, warps) -> Case:
    """Rows of `length` elements, walked by a lane each."""
    x, y = Buffer("x", dtype, rows * length), Buffer("y", "float32", rows)
    params = {"rows": rows, "cols": length, "BLOCK": block, "dtype": dtype, "num_warps": warps}
    launch = Launch(walk_rows, (x, y, length), {"BLOCK": block}, (cdiv(rows, block),), warps)
    return micro("walk_rows", params, launch, bytes=x.nbytes + y.nbytes)


def top_case(rows, block, count, tile, dtype, warps) -> Case:
    """The `count` largest of rows of `block`, `tile` rows a program; one without their places where `count` is 0."""
    x, y = Buffer("x", dtype, rows * block), Buffer("y", "float32", rows * max(1, count))
    params = {"count": count, "rows": rows, "cols": block, "ROWS": tile, "dtype": dtype, "num_warps": warps}
    if not count:
        launch = Launch(largest_of_rows, (x, y), {"ROWS": tile, "BLOCK": block}, (rows // tile,), warps)
        return micro("largest_of_rows", params, launch, bytes=x.nbytes + y.nbytes)
    which = Buffer("which", "int32", rows * count)
    launch = Launch(top_of_rows, (x, y, which), {"K": count, "ROWS": tile, "BLOCK": block}, (rows // tile,), warps)
    return micro("top_of_rows", params, launch, bytes=x.nbytes + y.nbytes + which.nbytes)


def cases() -> list[Case]:
    """All cases of this module."""
    found = []
    for rows, cols in ((1024, 1024), (2048, 4096), (4096, 8192)):
        for ty, tx, warps in ((1, 512, 4), (1, 1024, 4), (4, 256, 4), (8, 128, 4), (16, 64, 8), (32, 32, 4)):
            for taps in (1, 3, 5, 9):
                found.append(stencil_case(taps, rows, cols, ty, tx, "float32", warps))
                if ty in (1, 4) and tx != 1024:
                    found.append(stencil_case(taps, rows, cols, ty, tx, "float16", warps))
    for rows in (4096, 65536, 524288):
        for length in (16, 64, 256):
            if rows * length > 1 << 26:
                continue
            for block, warps in ((32, 1), (128, 4), (512, 4), (1024, 8)):
                found += [walk_case(rows, length, block, dtype, warps) for dtype in ("float32", "float16")]
    for rows in (4096, 65536):
        for block in (32, 128, 512):
            for tile in (1, 8, 32):
                if tile * block > 8192:
                    continue
                for count in (0, 1, 2, 4, 8):
                    found.append(top_case(rows, block, count, tile, "float32", 4))
    return found
