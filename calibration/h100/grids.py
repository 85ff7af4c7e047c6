"""What the shape of a grid costs: programs that walk many tiles, few programs with deep loops, waves that do not fill the card,
programs that return early or have unequal work, data about as large as L2, and small launches one after the other."""

from __future__ import annotations

import itertools

import triton
import triton.language as tl
from case import BYTES, Buffer, Case, Launch, cdiv, micro

SMS = 132


@triton.jit
def walk_tiles(x, y, n, tiles, BLOCK: tl.constexpr):
    """y = x / 2 + 1, each program walking every so many tiles."""
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        offset = tile * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(x + offset, mask=offset < n)
        tl.store(y + offset, value * 0.5 + 1.0, mask=offset < n)


@triton.jit
def walk_sum(x, y, n, BLOCK: tl.constexpr):
    """y[p] = sum of every so many tiles of x, one addition a lane and iteration."""
    program = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(program * BLOCK, n, tl.num_programs(0) * BLOCK):
        offset = start + tl.arange(0, BLOCK)
        total += tl.load(x + offset, mask=offset < n, other=0.0).to(tl.float32)
    tl.store(y + program, tl.sum(total, axis=0))


@triton.jit
def walk_rows_softmax(x, y, rows, cols, BLOCK: tl.constexpr):
    """Softmax of whole rows, each program walking every so many rows."""
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        offset = tl.arange(0, BLOCK)
        value = tl.load(x + row * cols + offset, mask=offset < cols, other=-float("inf")).to(tl.float32)
        top = tl.exp(value - tl.max(value, axis=0))
        tl.store(y + row * cols + offset, (top / tl.sum(top, axis=0)).to(y.dtype.element_ty), mask=offset < cols)


@triton.jit
def deep_map(x, y, depth, BLOCK: tl.constexpr):
    """y = x / 2 + 1, a long stretch of memory for each program."""
    base = tl.program_id(0) * depth
    for start in range(0, depth, BLOCK):
        offset = start + tl.arange(0, BLOCK)
        value = tl.load(x + base + offset, mask=offset < depth)
        tl.store(y + base + offset, value * 0.5 + 1.0, mask=offset < depth)


@triton.jit
def deep_sum(x, y, depth, BLOCK: tl.constexpr):
    """y[p] = sum of a long stretch, one addition a lane and iteration."""
    program = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, depth, BLOCK):
        offset = start + tl.arange(0, BLOCK)
        total += tl.load(x + program * depth + offset, mask=offset < depth, other=0.0).to(tl.float32)
    tl.store(y + program, tl.sum(total, axis=0))


@triton.jit
def deep_product(x, other, y, depth, BLOCK: tl.constexpr):
    """y[p] = inner product of two long stretches, one reduction an iteration."""
    program = tl.program_id(0)
    total = 0.0
    for start in range(0, depth, BLOCK):
        offset = start + tl.arange(0, BLOCK)
        first = tl.load(x + program * depth + offset, mask=offset < depth, other=0.0).to(tl.float32)
        second = tl.load(other + program * depth + offset, mask=offset < depth, other=0.0).to(tl.float32)
        total += tl.sum(first * second, axis=0)
    tl.store(y + program, total)


@triton.jit
def deep_tile(x, y, rows, cols, BR: tl.constexpr, BC: tl.constexpr):
    """y = sums over the rows of x, a strip of BC columns for each program."""
    column = tl.program_id(0) * BC + tl.arange(0, BC)
    total = tl.zeros((BR, BC), dtype=tl.float32)
    for start in range(0, rows, BR):
        row = start + tl.arange(0, BR)
        inside = (row[:, None] < rows) & (column[None, :] < cols)
        total += tl.load(x + row[:, None] * cols + column[None, :], mask=inside, other=0.0).to(tl.float32)
    tl.store(y + column, tl.sum(total, axis=0), mask=column < cols)


@triton.jit
def same_work(x, y, steps, BLOCK: tl.constexpr):
    """`steps` dependent multiply-adds an element: programs that all take the same time."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + offset)
    for _ in range(steps):
        value = value * 0.75 + 0.5
    tl.store(y + offset, value)


@triton.jit
def stairs(x, y, BLOCK: tl.constexpr):
    """Program p sums the first p + 1 blocks: the last ones have the most to do."""
    program = tl.program_id(0)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for block in range(program + 1):
        total += tl.load(x + block * BLOCK + tl.arange(0, BLOCK))
    tl.store(y + program * BLOCK + tl.arange(0, BLOCK), total)


@triton.jit
def return_beyond(x, y, limit, BLOCK: tl.constexpr):
    """A copy by the first `limit` programs: the others return."""
    program = tl.program_id(0)
    if program >= limit:
        return
    offset = program * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offset, tl.load(x + offset) * 0.5)


@triton.jit
def return_where(flags, x, y, BLOCK: tl.constexpr):
    """A copy by the programs whose flag is not 0."""
    program = tl.program_id(0)
    if tl.load(flags + program) == 0:
        return
    offset = program * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offset, tl.load(x + offset) * 0.5)


@triton.jit
def return_above(x, y, n, BLOCK: tl.constexpr):
    """The lower triangle of a square copied in tiles: a program above the diagonal returns."""
    row_block = tl.program_id(0)
    column_block = tl.program_id(1)
    if column_block > row_block:
        return
    row = row_block * BLOCK + tl.arange(0, BLOCK)
    column = column_block * BLOCK + tl.arange(0, BLOCK)
    offset = row[:, None] * n + column[None, :]
    tl.store(y + offset, tl.load(x + offset) * 0.5)


@triton.jit
def block_sum(x, y, BLOCK: tl.constexpr):
    """y[p] = sum of a block: reads only."""
    program = tl.program_id(0)
    tl.store(y + program, tl.sum(tl.load(x + program * BLOCK + tl.arange(0, BLOCK)).to(tl.float32), axis=0))


@triton.jit
def block_map(x, y, n, BLOCK: tl.constexpr):
    """y = x / 2 + 1; in place where both are one."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offset, tl.load(x + offset, mask=offset < n) * 0.5 + 1.0, mask=offset < n)


@triton.jit
def block_add(x, other, y, n, BLOCK: tl.constexpr):
    """y = x + other."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    first = tl.load(x + offset, mask=offset < n)
    tl.store(y + offset, first + tl.load(other + offset, mask=offset < n), mask=offset < n)


@triton.jit
def many_arguments(a, b, c, d, e, f, g, h, y, n, p, q, r, s, BLOCK: tl.constexpr):
    """A small sum of eight inputs and four scalars."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offset < n
    total = tl.load(a + offset, mask=inside) * p + tl.load(b + offset, mask=inside) * q
    total += tl.load(c + offset, mask=inside) * r + tl.load(d + offset, mask=inside) * s
    total += tl.load(e + offset, mask=inside) + tl.load(f + offset, mask=inside)
    total += tl.load(g + offset, mask=inside) + tl.load(h + offset, mask=inside)
    tl.store(y + offset, total, mask=inside)


def walk_case(term, programs, n, block, dtype, warps) -> Case:
    """`walk_tiles` or `walk_sum` of `n` elements by so many programs."""
    x = Buffer("x", dtype, n)
    params = {"programs": programs, "n": n, "BLOCK": block, "dtype": dtype, "num_warps": warps}
    if term == "walk_sum":
        launch = Launch(walk_sum, (x, Buffer("y", "float32", programs), n), {"BLOCK": block}, (programs,), warps)
        return micro(term, params, launch, bytes=x.nbytes, flops=n)
    launch = Launch(
        walk_tiles, (x, Buffer("y", dtype, n), n, cdiv(n, block)), {"BLOCK": block}, (programs,), warps
    )  # fmt: skip
    return micro(term, params, launch, bytes=2 * x.nbytes, flops=2 * n)


def walk_softmax_case(programs, rows, cols, block, dtype, warps) -> Case:
    """`walk_rows_softmax` by so many programs."""
    x, y = Buffer("x", dtype, rows * cols), Buffer("y", dtype, rows * cols)
    params = {"programs": programs, "rows": rows, "cols": cols, "BLOCK": block, "dtype": dtype, "num_warps": warps}
    launch = Launch(walk_rows_softmax, (x, y, rows, cols), {"BLOCK": block}, (programs,), warps)
    return micro("walk_rows_softmax", params, launch, bytes=2 * x.nbytes, flops=5 * rows * cols)


def deep_case(term, programs, depth, block, dtype, warps) -> Case:
    """`deep_map`, `deep_sum` or `deep_product`: `programs` stretches of `depth` elements."""
    n = programs * depth
    x, other = Buffer("x", dtype, n), Buffer("other", dtype, n)
    params = {"programs": programs, "cols": depth, "BLOCK": block, "dtype": dtype, "num_warps": warps}
    if term == "deep_map":
        launch = Launch(deep_map, (x, Buffer("y", dtype, n), depth), {"BLOCK": block}, (programs,), warps)
        return micro(term, params, launch, bytes=2 * x.nbytes, flops=2 * n)
    y = Buffer("sums", "float32", programs)
    if term == "deep_sum":
        return micro(
            term, params, Launch(deep_sum, (x, y, depth), {"BLOCK": block}, (programs,), warps), bytes=x.nbytes
        )
    launch = Launch(deep_product, (x, other, y, depth), {"BLOCK": block}, (programs,), warps)
    return micro(term, params, launch, bytes=2 * x.nbytes)


def deep_tile_case(rows, cols, tile, dtype, warps) -> Case:
    """`deep_tile` of a matrix by strips."""
    x, y = Buffer("x", dtype, rows * cols), Buffer("sums", "float32", cols)
    params = {"rows": rows, "cols": cols, "BR": tile[0], "BC": tile[1], "dtype": dtype, "num_warps": warps}
    launch = Launch(deep_tile, (x, y, rows, cols), {"BR": tile[0], "BC": tile[1]}, (cdiv(cols, tile[1]),), warps)
    return micro("deep_tile", params, launch, bytes=x.nbytes)


def same_work_case(programs, steps, block, warps) -> Case:
    """`same_work`: so many programs of equal length."""
    x, y = Buffer("x", "float32", programs * block), Buffer("y", "float32", programs * block)
    params = {"programs": programs, "steps": steps, "BLOCK": block, "num_warps": warps}
    launch = Launch(same_work, (x, y, steps), {"BLOCK": block}, (programs,), warps)
    return micro("same_work", params, launch, bytes=2 * x.nbytes, flops=2 * steps * programs * block)


def stairs_case(programs, block, warps) -> Case:
    """`stairs` of so many programs."""
    x, y = Buffer("x", "float32", programs * block), Buffer("y", "float32", programs * block)
    params = {"programs": programs, "BLOCK": block, "num_warps": warps}
    return micro("stairs", params, Launch(stairs, (x, y), {"BLOCK": block}, (programs,), warps), bytes=2 * x.nbytes)


def return_case(term, programs, share, block, warps) -> Case:
    """Of `programs` one in `share` has something to do."""
    x, y = Buffer("x", "float32", programs * block), Buffer("y", "float32", programs * block)
    params = {"programs": programs, "share": share, "BLOCK": block, "num_warps": warps}
    moved = 2 * x.nbytes // share
    if term == "return_beyond":
        launch = Launch(return_beyond, (x, y, programs // share), {"BLOCK": block}, (programs,), warps)
    else:
        flags = Buffer("flags", "int32", programs, share)
        # One in `share` indices below `share` is 0: those return, so that 2 halves and 16 leaves most.
        moved = 2 * x.nbytes - moved
        launch = Launch(return_where, (flags, x, y), {"BLOCK": block}, (programs,), warps)
    return micro(term, params, launch, bytes=moved)


def above_case(n, block, warps) -> Case:
    """`return_above` of an n x n matrix."""
    x, y = Buffer("x", "float32", n * n), Buffer("y", "float32", n * n)
    params = {"n": n, "BLOCK": block, "num_warps": warps}
    launch = Launch(return_above, (x, y, n), {"BLOCK": block}, (n // block, n // block), warps)
    return micro("return_above", params, launch, bytes=x.nbytes)


def near_l2_case(kind, megabytes, dtype, block=1024, warps=4) -> Case:
    """A pass over `megabytes` in all: read, copied, added from two inputs, changed in place, or a chain of copies."""
    parts = {"read": 1, "copy": 2, "add": 3, "in_place": 1, "chain_2": 3, "chain_4": 5}[kind]
    n = megabytes * 10**6 // parts // BYTES[dtype] // block * block
    held = [Buffer(f"part{index}", dtype, n) for index in range(parts)]
    grid, constants = (cdiv(n, block),), {"BLOCK": block}
    params = {"kind": kind, "megabytes": megabytes, "dtype": dtype, "BLOCK": block, "num_warps": warps}
    if kind == "read":
        launches = [Launch(block_sum, (held[0], Buffer("sums", "float32", n // block)), constants, grid, warps)]
    elif kind == "add":
        launches = [Launch(block_add, (*held, n), constants, grid, warps)]
    elif kind == "in_place":
        launches = [Launch(block_map, (held[0], held[0], n), constants, grid, warps)]
    else:
        launches = [
            Launch(block_map, (source, target, n), constants, grid, warps)
            for source, target in itertools.pairwise(held)
        ]
    moved = n * BYTES[dtype] * (parts if "chain" not in kind else 2 * (parts - 1))
    return micro("near_l2", params, *launches, bytes=moved)


def launches_case(kind, programs, block, count, warps) -> Case:
    """`count` small launches one after the other: the same one, two in turns, each from the result of the one before, or with many
    arguments."""
    n = programs * block
    held = [Buffer(f"small{index}", "float32", n) for index in range(9)]
    grid, constants = (programs,), {"BLOCK": block}
    params = {"kind": kind, "programs": programs, "BLOCK": block, "count": count, "num_warps": warps}
    same = Launch(block_map, (held[0], held[1], n), constants, grid, warps)
    if kind == "same":
        launches = [same] * count
    elif kind == "turns":
        sums = Launch(block_sum, (held[2], held[3]), constants, grid, 2 * warps)
        launches = [same, sums] * (count // 2)
    elif kind == "sums":
        launches = [Launch(block_sum, (held[2], held[3]), constants, grid, warps)] * count
    elif kind == "chain":
        launches = [
            Launch(block_map, (held[index % 2], held[(index + 1) % 2], n), constants, grid, warps)
            for index in range(count)
        ]
    else:
        launches = [Launch(many_arguments, (*held, n, 0.5, 0.25, 2.0, 1.5), constants, grid, warps)] * count
    return micro("launches", params, *launches, bytes=2 * held[0].nbytes * count)


def cases() -> list[Case]:
    """All cases of this module."""
    found: list[Case] = []
    shares = (SMS // 4, SMS, 4 * SMS, 16 * SMS)
    for term, programs, n in itertools.product(("walk_tiles", "walk_sum"), shares, (1 << 20, 1 << 23, 1 << 26)):
        for dtype, block, warps in (
            ("float32", 1024, 4),
            ("float16", 2048, 4),
            ("float32", 4096, 8),
            ("float32", 256, 4),
        ):
            if n // block >= programs:
                found.append(walk_case(term, programs, n, block, dtype, warps))
    for programs, (rows, cols, block) in itertools.product(
        (SMS, 2 * SMS, 8 * SMS), ((4096, 1024, 1024), (16384, 1000, 1024), (8192, 4096, 4096), (2048, 16384, 16384))
    ):
        for dtype, warps in (("float32", 4), ("float16", 8)):
            found.append(walk_softmax_case(programs, rows, cols, block, dtype, warps))
    for term, programs in itertools.product(("deep_map", "deep_sum", "deep_product"), (1, 8, 32, SMS, 4 * SMS)):
        for depth, block, dtype, warps in (
            (1 << 14, 1024, "float32", 4), (1 << 17, 1024, "float32", 4), (1 << 17, 4096, "float32", 8),
            (1 << 17, 256, "float32", 4), (1 << 17, 1024, "float16", 4), (100_000, 2048, "float16", 8),
            (1 << 17, 1024, "float32", 1), (1 << 17, 16384, "float32", 16),
        ):  # fmt: skip
            found.append(deep_case(term, programs, depth, block, dtype, warps))
    for rows, cols, tile, dtype, warps in itertools.product(
        (4096, 65536), (64, 512, 4096), ((32, 32), (64, 64), (8, 128), (128, 16)), ("float16", "float32"), (4,)
    ):
        if rows * cols <= 1 << 27:
            found.append(deep_tile_case(rows, cols, tile, dtype, warps))
    for (block, warps, resident), steps in itertools.product(((1024, 32, 2), (256, 8, 8), (128, 4, 16)), (256, 4096)):
        for waves in (0.25, 0.5, 1, 1.01, 1.25, 1.5, 2, 2.01, 2.5, 3.01, 5, 8.01):
            found.append(same_work_case(int(waves * resident * SMS + 0.5), steps, block, warps))
    for programs, (block, warps) in itertools.product((64, SMS, 512, 2048), ((256, 4), (1024, 4), (2048, 8))):
        found.append(stairs_case(programs, block, warps))
    for term, programs, share in itertools.product(("return_beyond", "return_where"), (2048, 65536), (1, 2, 16)):
        if term == "return_beyond" or share > 1:
            found += [return_case(term, programs, share, block, warps) for block, warps in ((256, 4), (1024, 4))]
    found += [above_case(n, block, 4) for n, block in ((1024, 32), (4096, 32), (4096, 64), (8192, 64))]
    for kind, megabytes in itertools.product(
        ("read", "copy", "add", "in_place", "chain_2", "chain_4"), (4, 12, 20, 26, 32, 38, 44, 52, 60, 70, 84, 100, 130)
    ):
        found.append(near_l2_case(kind, megabytes, "float32"))
        if kind in ("copy", "read", "add"):
            found.append(near_l2_case(kind, megabytes, "float16", 2048))
    for kind, (programs, block), count in itertools.product(
        ("same", "sums", "turns", "chain", "arguments"),
        ((1, 128), (16, 256), (SMS, 256), (1024, 256), (1024, 1024)),
        (2, 8),
    ):
        found.append(launches_case(kind, programs, block, count, 4))
    return found
