"""Addresses from loaded indices: gathers of elements and short rows, sparse rows, bags, scatters, and atomics by kind.

Indices are uniformly random, sorted, nearly sorted, strided or of few distinct values (``fill.py``): the same program, with the
same sizes, costs up to five times less where its indices are local. Loops over a loaded count read their bounds from row pointers.
"""

from __future__ import annotations

import itertools

import triton
import triton.language as tl
from case import Buffer, Case, Launch, cdiv, micro, next_power_of_2

#: Kinds of atomic that :func:`change` knows.
ADD, MAX, EXCHANGE, COMPARE = 0, 1, 2, 3
KINDS = {"add": ADD, "max": MAX, "xchg": EXCHANGE, "cas": COMPARE}


@triton.jit
def pick(table, index, y, BLOCK: tl.constexpr):
    """y[i] = table[index[i]]: an element a lane."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offset, tl.load(table + tl.load(index + offset)))


@triton.jit
def pick_rows(table, index, y, D, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """y [n, D] = rows of table [., D] chosen by index [n], ROWS of them a program."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    source = tl.load(index + row)
    inside = column[None, :] < D
    value = tl.load(table + source[:, None] * D + column[None, :], mask=inside)
    tl.store(y + row[:, None] * D + column[None, :], value, mask=inside)


@triton.jit
def bag_counted(table, index, offsets, y, D, BLOCK: tl.constexpr):
    """y [n, D] = sum of the rows that index names from offsets[n] to offsets[n + 1], one after the other."""
    bag = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    first = tl.load(offsets + bag)
    last = tl.load(offsets + bag + 1)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for at in range(first, last):
        source = tl.load(index + at)
        total += tl.load(table + source * D + column, mask=column < D, other=0.0).to(tl.float32)
    tl.store(y + bag * D + column, total, mask=column < D)


@triton.jit
def bag_fixed(table, index, y, length, D, BLOCK: tl.constexpr):
    """As :func:`bag_counted` with ``length`` rows in every bag."""
    bag = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for at in range(length):
        source = tl.load(index + bag * length + at)
        total += tl.load(table + source * D + column, mask=column < D, other=0.0).to(tl.float32)
    tl.store(y + bag * D + column, total, mask=column < D)


@triton.jit
def bag_tile(table, index, y, D, LENGTH: tl.constexpr, BLOCK: tl.constexpr):
    """As :func:`bag_fixed`, all rows of a bag in one tile."""
    bag = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    source = tl.load(index + bag * LENGTH + tl.arange(0, LENGTH))
    inside = column[None, :] < D
    rows = tl.load(table + source[:, None] * D + column[None, :], mask=inside, other=0.0).to(tl.float32)
    tl.store(y + bag * D + column, tl.sum(rows, axis=0), mask=column < D)


@triton.jit
def sparse_rows(values, columns, offsets, x, y, BLOCK: tl.constexpr):
    """y = A x, A in rows of (values, columns) from offsets[row] to offsets[row + 1]: a row a program, by blocks."""
    row = tl.program_id(0)
    first = tl.load(offsets + row)
    last = tl.load(offsets + row + 1)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(first, last, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < last
        column = tl.load(columns + at, mask=inside, other=0)
        total += tl.load(values + at, mask=inside, other=0.0) * tl.load(x + column, mask=inside, other=0.0)
    tl.store(y + row, tl.sum(total, axis=0))


@triton.jit
def sparse_scalar(values, columns, offsets, x, y):
    """As :func:`sparse_rows`, an element an iteration."""
    row = tl.program_id(0)
    first = tl.load(offsets + row)
    last = tl.load(offsets + row + 1)
    total = 0.0
    for at in range(first, last):
        total += tl.load(values + at) * tl.load(x + tl.load(columns + at))
    tl.store(y + row, total)


@triton.jit
def sparse_lanes(values, columns, x, y, rows, length, BLOCK: tl.constexpr):
    """As :func:`sparse_rows` with ``length`` elements in every row, stored by columns: a row a lane."""
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(length):
        at = k * rows + row
        total += tl.load(values + at) * tl.load(x + tl.load(columns + at))
    tl.store(y + row, total)


@triton.jit
def sparse_tile(values, columns, x, y, LENGTH: tl.constexpr, ROWS: tl.constexpr):
    """As :func:`sparse_rows` with LENGTH elements in every row: a tile of ROWS of them a program."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    at = row[:, None] * LENGTH + tl.arange(0, LENGTH)[None, :]
    product = tl.load(values + at) * tl.load(x + tl.load(columns + at))
    tl.store(y + row, tl.sum(product, axis=1))


@triton.jit
def neighbours(points, index, y, length, BLOCK: tl.constexpr):
    """y [n] = sum of the squared distances of points [n, 3] to their ``length`` neighbours index [n, length]."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    u = tl.load(points + at * 3)
    v = tl.load(points + at * 3 + 1)
    w = tl.load(points + at * 3 + 2)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(length):
        other = tl.load(index + at * length + k)
        du = tl.load(points + other * 3) - u
        dv = tl.load(points + other * 3 + 1) - v
        dw = tl.load(points + other * 3 + 2) - w
        total += du * du + dv * dv + dw * dw
    tl.store(y + at, total)


@triton.jit
def put(x, index, y, BLOCK: tl.constexpr):
    """y[index[i]] = x[i]."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + tl.load(index + offset), tl.load(x + offset))


@triton.jit
def put_rows(x, index, y, D, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Rows index [n] of y [., D] = x [n, D], ROWS of them a program."""
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    target = tl.load(index + row)
    inside = column[None, :] < D
    value = tl.load(x + row[:, None] * D + column[None, :], mask=inside)
    tl.store(y + target[:, None] * D + column[None, :], value, mask=inside)


@triton.jit
def count(index, y, SEM: tl.constexpr, BLOCK: tl.constexpr):
    """y[index[i]] += 1 atomically."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y + tl.load(index + offset), 1, sem=SEM)


@triton.jit
def change(x, index, y, old, KIND: tl.constexpr, USED: tl.constexpr, SEM: tl.constexpr, BLOCK: tl.constexpr):
    """An atomic of KIND on y[index[i]] with x[i]; old[i] = the value before where USED."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    where = y + tl.load(index + offset)
    value = tl.load(x + offset)
    if KIND == 0:
        before = tl.atomic_add(where, value, sem=SEM)
    elif KIND == 1:
        before = tl.atomic_max(where, value, sem=SEM)
    elif KIND == 2:
        before = tl.atomic_xchg(where, value, sem=SEM)
    else:
        before = tl.atomic_cas(where, value, value, sem=SEM)
    if USED:
        tl.store(old + offset, before)


@triton.jit
def change_scalar(x, index, y, SEM: tl.constexpr):
    """y[index[i]] += x[i] atomically, an element a program."""
    at = tl.program_id(0)
    tl.atomic_add(y + tl.load(index + at), tl.load(x + at), sem=SEM)


@triton.jit
def change_rows(x, index, y, D, SEM: tl.constexpr, BLOCK: tl.constexpr):
    """Row index[n] of y [., D] += row n of x atomically, a row a program."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    value = tl.load(x + row * D + column, mask=column < D, other=0.0)
    tl.atomic_add(y + tl.load(index + row) * D + column, value, mask=column < D, sem=SEM)


@triton.jit
def narrow(x, y, BLOCK: tl.constexpr):
    """y = 2 x by blocks narrower than a warp."""
    offset = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + offset, tl.load(x + offset) * 2.0)


@triton.jit
def pick_scalar(table, index, y):
    """y[i] = table[index[i]], an element a program."""
    at = tl.program_id(0)
    tl.store(y + at, tl.load(table + tl.load(index + at)))


@triton.jit
def pick_walk(table, index, y, length):
    """y [n] = sums of the elements that ``length`` indices a program name, one after the other."""
    at = tl.program_id(0)
    total = 0.0
    for k in range(length):
        total += tl.load(table + tl.load(index + at * length + k))
    tl.store(y + at, total)


def _indices(n: int, below: int, order: str, dtype: str = "int32", name: str = "index") -> Buffer:
    return Buffer(name, dtype, n, below, order)


def pick_case(n, table, order="random", dtype="float32", index="int32", block=1024, warps=4) -> Case:
    """`n` elements of a table of `table`."""
    chosen, y = _indices(n, table, order, index), Buffer("y", dtype, n)
    params = {
        "n": n,
        "table": table,
        "order": order,
        "dtype": dtype,
        "index": index,
        "BLOCK": block,
        "num_warps": warps,
    }
    launch = Launch(pick, (Buffer("table", dtype, table), chosen, y), {"BLOCK": block}, (n // block,), warps)
    return micro("pick", params, launch, bytes=chosen.nbytes + 2 * y.nbytes)


def pick_rows_case(n, table, d, order="random", dtype="float32", tile=32, warps=4) -> Case:
    """`n` rows of `d` elements out of `table` rows."""
    chosen, y = _indices(n, table, order), Buffer("y", dtype, n * d)
    params = {"rows": n, "table": table, "D": d, "order": order, "dtype": dtype, "ROWS": tile, "num_warps": warps}
    constants = {"ROWS": tile, "BLOCK": next_power_of_2(d)}
    launch = Launch(pick_rows, (Buffer("table", dtype, table * d), chosen, y, d), constants, (n // tile,), warps)
    return micro("pick_rows", params, launch, bytes=chosen.nbytes + 2 * y.nbytes)


def bag_case(kind, bags, length, table, d, order="random", dtype="float32", warps=4) -> Case:
    """`bags` sums of `length` rows of `d` elements each; `kind`: counted, fixed or tile."""
    chosen, y = _indices(bags * length, table, order), Buffer("y", "float32", bags * d)
    rows, block = Buffer("table", dtype, table * d), next_power_of_2(d)
    params = {"n": bags, "length": length, "table": table, "D": d, "order": order, "dtype": dtype, "num_warps": warps}
    if kind == "counted":
        pointers = _indices(bags + 1, length, "segments", name="offsets")
        launch = Launch(bag_counted, (rows, chosen, pointers, y, d), {"BLOCK": block}, (bags,), warps)
    elif kind == "fixed":
        launch = Launch(bag_fixed, (rows, chosen, y, length, d), {"BLOCK": block}, (bags,), warps)
    else:
        launch = Launch(bag_tile, (rows, chosen, y, d), {"LENGTH": length, "BLOCK": block}, (bags,), warps)
    return micro(f"bag_{kind}", params, launch, bytes=chosen.nbytes + y.nbytes + bags * length * d * 4)


def sparse_case(kind, rows, length, width, order="random", block=128, warps=4) -> Case:
    """A matrix of `rows` rows with `length` elements each times a vector of `width`; `kind`: rows, scalar, lanes or tile
    (of `block` rows)."""
    n = rows * length
    values, columns = Buffer("values", "float32", n), _indices(n, width, order, name="columns")
    x, y = Buffer("x", "float32", width), Buffer("y", "float32", rows)
    pointers = _indices(rows + 1, length, "segments", name="offsets")
    params = {"rows": rows, "length": length, "table": width, "order": order, "BLOCK": block, "num_warps": warps}
    if kind == "rows":
        launch = Launch(sparse_rows, (values, columns, pointers, x, y), {"BLOCK": block}, (rows,), warps)
    elif kind == "scalar":
        launch = Launch(sparse_scalar, (values, columns, pointers, x, y), {}, (rows,), warps)
    elif kind == "lanes":
        args = (values, columns, x, y, rows, length)
        launch = Launch(sparse_lanes, args, {"BLOCK": block}, (cdiv(rows, block),), warps)
    else:
        constants = {"LENGTH": length, "ROWS": block}
        launch = Launch(sparse_tile, (values, columns, x, y), constants, (cdiv(rows, block),), warps)
    return micro(f"sparse_{kind}", params, launch, bytes=2 * values.nbytes + x.nbytes + y.nbytes)


def neighbours_case(n, length, order, block=128, warps=4) -> Case:
    """`n` points with `length` neighbours each."""
    points, chosen = Buffer("points", "float32", 3 * n), _indices(n * length, n, order)
    params = {"n": n, "length": length, "order": order, "BLOCK": block, "num_warps": warps}
    args = (points, chosen, Buffer("y", "float32", n), length)
    launch = Launch(neighbours, args, {"BLOCK": block}, (n // block,), warps)
    return micro("neighbours", params, launch, bytes=chosen.nbytes + points.nbytes + 4 * n)


def put_case(n, table, order, dtype="float32", block=1024, warps=4) -> Case:
    """`n` elements stored into a table of `table`."""
    x, chosen = Buffer("x", dtype, n), _indices(n, table, order)
    params = {"n": n, "table": table, "order": order, "dtype": dtype, "BLOCK": block, "num_warps": warps}
    launch = Launch(put, (x, chosen, Buffer("table", dtype, table)), {"BLOCK": block}, (n // block,), warps)
    return micro("put", params, launch, bytes=chosen.nbytes + 2 * x.nbytes)


def put_rows_case(n, table, d, order, dtype="float32", tile=32, warps=4) -> Case:
    """`n` rows of `d` elements stored into `table` rows."""
    x, chosen = Buffer("x", dtype, n * d), _indices(n, table, order)
    params = {"rows": n, "table": table, "D": d, "order": order, "dtype": dtype, "ROWS": tile, "num_warps": warps}
    constants = {"ROWS": tile, "BLOCK": next_power_of_2(d)}
    launch = Launch(put_rows, (x, chosen, Buffer("table", dtype, table * d), d), constants, (n // tile,), warps)
    return micro("put_rows", params, launch, bytes=chosen.nbytes + 2 * x.nbytes)


def count_case(n, counters, dtype, sem, order="random", block=1024, warps=4) -> Case:
    """`n` ones added to `counters` counters."""
    chosen, y = _indices(n, counters, order), Buffer("counters", dtype, counters)
    params = {"n": n, "table": counters, "order": order, "dtype": dtype, "sem": sem, "BLOCK": block, "num_warps": warps}
    launch = Launch(count, (chosen, y), {"SEM": sem, "BLOCK": block}, (n // block,), warps)
    return micro("count", params, launch, bytes=chosen.nbytes + y.nbytes)


def change_case(kind, n, counters, dtype, used=False, sem="relaxed", order="random", block=1024, warps=4) -> Case:
    """`n` atomics of `kind` on `counters` addresses; `used`: the old values are stored."""
    x, chosen = Buffer("x", dtype, n), _indices(n, counters, order)
    params = {"op": kind, "n": n, "table": counters, "order": order, "dtype": dtype, "used": int(used), "sem": sem,
              "BLOCK": block, "num_warps": warps}  # fmt: skip
    args = (x, chosen, Buffer("counters", dtype, counters), Buffer("y", dtype, n))
    constants = {"KIND": KINDS[kind], "USED": used, "SEM": sem, "BLOCK": block}
    launch = Launch(change, args, constants, (n // block,), warps)
    return micro("change", params, launch, bytes=x.nbytes * (1 + used) + chosen.nbytes)


def change_scalar_case(n, counters, dtype, sem, warps=4) -> Case:
    """`n` programs add an element each to `counters` addresses."""
    x, chosen = Buffer("x", dtype, n), _indices(n, counters, "random")
    params = {"n": n, "table": counters, "dtype": dtype, "sem": sem, "num_warps": warps}
    launch = Launch(change_scalar, (x, chosen, Buffer("counters", dtype, counters)), {"SEM": sem}, (n,), warps)
    return micro("change_scalar", params, launch, bytes=x.nbytes + chosen.nbytes)


def change_rows_case(n, table, d, dtype, sem="relaxed", warps=4) -> Case:
    """`n` programs add a row of `d` elements each to `table` rows."""
    x, chosen = Buffer("x", dtype, n * d), _indices(n, table, "random")
    params = {"rows": n, "table": table, "D": d, "dtype": dtype, "sem": sem, "num_warps": warps}
    args, constants = (x, chosen, Buffer("counters", dtype, table * d), d), {"SEM": sem, "BLOCK": next_power_of_2(d)}
    launch = Launch(change_rows, args, constants, (n,), warps)
    return micro("change_rows", params, launch, bytes=2 * x.nbytes + chosen.nbytes)


def narrow_case(n, block, warps) -> Case:
    """`n` elements by blocks of `block`."""
    x, y = Buffer("x", "float32", n), Buffer("y", "float32", n)
    params = {"n": n, "BLOCK": block, "num_warps": warps}
    return micro("narrow", params, Launch(narrow, (x, y), {"BLOCK": block}, (n // block,), warps), bytes=8 * n)


def scalar_case(n, table, length=0, warps=4, order="random") -> Case:
    """A program an element; with `length`, a program that many elements."""
    chosen, y = _indices(n * max(1, length), table, order), Buffer("y", "float32", n)
    params = {"n": n, "length": length, "table": table, "order": order, "num_warps": warps}
    args = (Buffer("table", "float32", table), chosen, y)
    launch = (
        Launch(pick_walk, (*args, length), {}, (n,), warps) if length else Launch(pick_scalar, args, {}, (n,), warps)
    )
    return micro("pick_walk" if length else "pick_scalar", params, launch, bytes=chosen.nbytes + 2 * y.nbytes)


def _gathers() -> list[Case]:
    found = [pick_case(2**22, 2**bits) for bits in (8, 12, 14, 15, 16, 17, 20, 22, 23, 25)]
    found += [
        pick_case(2**22, 2**bits, order) for bits in (12, 20, 25) for order in ("sorted", "near", "stride", "few")
    ]
    found += [pick_case(2**22, 2**bits, dtype="float16") for bits in (12, 20, 25)]
    found += [pick_case(2**22, 2**bits, index="int64") for bits in (12, 20)]
    found += [pick_case(2**18, 2**bits) for bits in (8, 12, 20, 25)]
    found += [pick_case(2**22, 2**bits, block=block, warps=warps)
              for bits in (12, 20) for block, warps in ((128, 4), (256, 1), (4096, 4))]  # fmt: skip
    for d, table in itertools.product((3, 4, 8, 16, 32, 64), (1000, 2**19)):
        found.append(pick_rows_case(2**18, table, d))
    for d, table in itertools.product((8, 16, 64), (1000, 2**20)):
        found.append(pick_rows_case(2**18, table, d, dtype="float16"))
    found += [pick_rows_case(2**18, 2**19, d, order) for d in (4, 16, 64) for order in ("near", "sorted")]
    found += [pick_rows_case(2**18, 2**19, 16, tile=tile, warps=warps) for tile, warps in ((1, 1), (8, 4), (128, 4))]
    for kind, length in (("counted", 8), ("counted", 64), ("fixed", 8), ("fixed", 64), ("tile", 8), ("tile", 64)):
        for d, table in ((16, 1000), (64, 1000), (64, 2**19), (256, 2**17)):
            if kind == "tile" and length * d > 8192:
                continue
            found.append(bag_case(kind, 2**14, length, table, d))
        found.append(bag_case(kind, 2**14, length, 2**19, 64, "near"))
    for length, block, warps in ((8, 32, 1), (32, 32, 1), (64, 128, 4), (512, 128, 4), (512, 512, 4)):
        rows = 2**17 if length < 64 else 2**15
        found += [sparse_case("rows", rows, length, 2**17, order, block, warps) for order in ("random", "near")]
    found.append(sparse_case("rows", 2**17, 32, 2**23, "random", 32, 1))
    for length, width in itertools.product((8, 32), (2**13, 2**17, 2**23)):
        found += [sparse_case("lanes", 2**17, length, width, order, 256, 4) for order in ("random", "near")]
    for length, tile in ((8, 128), (32, 32), (32, 128)):
        found += [sparse_case("tile", 2**17, length, 2**17, order, tile) for order in ("random", "near")]
    found += [
        sparse_case("scalar", 2**14, length, 2**17, "random", 1, warps) for length, warps in ((8, 1), (64, 1), (64, 4))
    ]
    for n, length, order in itertools.product((2**15, 2**18), (8, 32), ("random", "near")):
        found.append(neighbours_case(n, length, order))
    return found


def _scatters() -> list[Case]:
    found = []
    for bits, order in itertools.product((12, 20, 25), ("random", "near")):
        found.append(put_case(2**21, 2**bits, order))
    found += [put_case(2**21, 2**20, "few"), put_case(2**21, 2**21, "permuted"), put_case(2**21, 2**21, "sorted")]
    found += [put_case(2**21, 2**bits, "random", "float16") for bits in (12, 20)]
    found += [put_rows_case(2**18, 2**18, d, order) for d in (4, 16, 64) for order in ("permuted", "near")]
    for block, warps in itertools.product((1, 2, 8, 32), (1, 4)):
        found.append(narrow_case(2**17, block, warps))
    found += [scalar_case(n, table) for n in (2**14, 2**17) for table in (2**12, 2**23)]
    found += [scalar_case(2**14, table, 32, warps) for table in (2**12, 2**23) for warps in (1, 4)]
    return found


def _atomics() -> list[Case]:
    found = []
    for bits, dtype, sem in itertools.product((0, 3, 6, 8, 12, 18), ("int32", "float32"), ("relaxed", "acq_rel")):
        found.append(count_case(2**20, 2**bits, dtype, sem))
    for n, bits, dtype, sem in itertools.product((2**17, 2**22), (6, 8), ("int32", "float32"), ("relaxed", "acq_rel")):
        found.append(count_case(n, 2**bits, dtype, sem))
    for bits, order in itertools.product((8, 16), ("sorted", "near", "few")):
        found += [count_case(2**20, 2**bits, dtype, "relaxed", order) for dtype in ("int32", "float32")]
    for block, warps in ((128, 4), (256, 1), (4096, 8)):
        found += [count_case(2**20, 64, dtype, sem, "random", block, warps)
                  for dtype, sem in (("int32", "acq_rel"), ("float32", "relaxed"))]  # fmt: skip
    kinds = [("add", "float32"), ("add", "int32"), ("add", "float16"), ("add", "int64"), ("add", "float64"),
             ("add", "bfloat16"), ("max", "int32"), ("max", "float32"), ("xchg", "int32"), ("cas", "int32"),
             ("cas", "int64")]  # fmt: skip
    for (kind, dtype), bits in itertools.product(kinds, (6, 12, 20)):
        found.append(change_case(kind, 2**20, 2**bits, dtype))
    for dtype, bits in itertools.product(("float32", "int32"), (6, 12, 20)):
        found.append(change_case("add", 2**20, 2**bits, dtype, True))
    for n, bits, dtype in itertools.product((2**14, 2**17), (0, 6, 14), ("int32", "float32")):
        found.append(change_scalar_case(n, 2**bits, dtype, "relaxed"))
    found += [change_scalar_case(2**17, 64, "float32", "acq_rel", warps) for warps in (1, 4)]
    for d, table, dtype in itertools.product((16, 64, 256), (64, 2**16), ("float32", "float16")):
        found.append(change_rows_case(2**16, table, d, dtype))
    return found


def cases() -> list[Case]:
    """All cases of this module."""
    return [*_atomics(), *_gathers(), *_scatters()]
