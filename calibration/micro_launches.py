"""The micro-benchmarks of ``calibration/facts`` as the workload model sees them.

One builder per family makes by hand the :class:`~kernlint.workload.Launch` that the interpreter makes from the source
of the same kernel. The fitting script prices these; the tests check the model against the measurements through them.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kernlint.workload import (
    Atomic,
    Compute,
    Expr,
    Kernel,
    Lane,
    Launch,
    Load,
    Loop,
    LoopIndex,
    Node,
    ProgramId,
    Reduce,
    Scan,
    Span,
    Storage,
    Store,
    Tensor,
)
from kernlint.workload import dtype as dtypes
from kernlint.workload.dtype import Dtype
from kernlint.workload.expr import mod, opaque

FACTS = Path(__file__).resolve().parent.parent / "calibration" / "facts"
HERE = Span("micro.py", 1, 1, 1, 1)
PID = Expr.atom(ProgramId(0))
PID1 = Expr.atom(ProgramId(1))
LANE = Expr.atom(Lane(0))
LANE1 = Expr.atom(Lane(1))


@dataclass(frozen=True)
class Sample:
    """One measured micro-benchmark: its launch and the microseconds of a warm graph replay on ``device``. ``ordered`` says that
    its loaded indices are in an order, or of few values, which the source does not tell."""

    family: str
    name: str
    launch: Launch
    us: float
    size: str
    device: str = "h100-sxm"
    ordered: bool = False


def iteration(loop: int) -> Expr:
    return Expr.atom(LoopIndex(loop))


def tiles(extent: int, tile: int) -> int:
    """Tiles that cover ``extent``."""
    return -(-extent // tile)


def tensor(name: str, dtype: Dtype, *shape: int) -> Tensor:
    """A contiguous tensor of its own storage."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return Tensor(name, dtype, tuple(shape), tuple(strides), Storage(abs(hash((name, shape))), "input"))


def launch(
    name: str, body: tuple[Node, ...], grid: tuple[int, ...], arguments: dict[str, Tensor], warps: int, stages: int = 3
) -> Launch:
    kernel = Kernel(name, body, HERE, HERE, "micro.py")
    return Launch(kernel, grid, dict(arguments), {}, warps, stages, HERE, "bench")


def load(id: int, base: str, dtype: Dtype, shape: tuple[int, ...], offset: Expr, *mask: tuple[Expr, Expr]) -> Load:
    return Load(id, base, dtype, shape, offset, mask or None, HERE)


def store(id: int, base: str, dtype: Dtype, shape: tuple[int, ...], offset: Expr, *mask: tuple[Expr, Expr]) -> Store:
    return Store(id, base, dtype, shape, offset, mask or None, HERE)


def number(value: int) -> Expr:
    return Expr.constant(value)


def arith(elements: int, kind: str = "arith", dtype: Dtype = dtypes.FLOAT32) -> Compute:
    return Compute(kind, elements, dtype, HERE)


def reduce(op: str, *shape: int, axis: int = 0) -> Reduce:
    return Reduce(op, shape, axis, len(shape) == 1, frozenset(), HERE)


# -- families ---------------------------------------------------------------------------------------------------------


def store_only(programs: int, block: int, warps: int) -> Launch:
    """``empty_program``: each program stores one block, all to the same place."""
    body = (store(0, "y", dtypes.FLOAT32, (block,), LANE),)
    return launch("empty", body, (programs,), {"y": tensor("y", dtypes.FLOAT32, block)}, warps)


def copy_block(n: int, dtype: Dtype, block: int, warps: int, ops: int = 0) -> Launch:
    """``y[i] = f(x[i])`` by blocks; ``ops`` arithmetic operations an element."""
    offset = PID * block + LANE
    bound = (offset, number(n))
    math_nodes = tuple(arith(block) for _ in range(ops))
    body: tuple[Node, ...] = (
        load(0, "x", dtype, (block,), offset, bound), *math_nodes, store(1, "y", dtype, (block,), offset, bound)
    )  # fmt: skip
    arguments = {"x": tensor("x", dtype, n), "y": tensor("y", dtype, n)}
    return launch("copy", body, (tiles(n, block),), arguments, warps)


def strided_load(n: int, stride: int, block: int, warps: int) -> Launch:
    offset = PID * block + LANE
    body = (
        load(0, "x", dtypes.FLOAT32, (block,), offset * stride, (offset, number(n))),
        arith(block),
        store(1, "y", dtypes.FLOAT32, (block,), offset, (offset, number(n))),
    )
    arguments = {"x": tensor("x", dtypes.FLOAT32, n * stride), "y": tensor("y", dtypes.FLOAT32, n)}
    return launch("strided", body, (tiles(n, block),), arguments, warps)


def row_loop(
    rows: int, cols: int, block: int, warps: int, passes: int = 1, stages: int | None = None, each: bool = False
) -> Launch:
    """One program a row, ``passes`` loops over its columns; a reduction at the end, or in each iteration."""
    body: list[Node] = []
    for index in range(passes):
        column = iteration(index) * block + LANE
        inner: list[Node] = [
            load(index, "x", dtypes.FLOAT32, (block,), PID * cols + column, (column, number(cols))),
        ]
        inner.append(reduce("sum", block) if each else arith(block))
        trip = tiles(cols, block)
        kind = "tl.range" if stages else "range"
        body.append(Loop(index, kind, trip, tuple(inner), HERE, num_stages=stages, carried=1 if each else block))
        if not each:
            body.append(reduce("sum", block))
    body.append(store(9, "y", dtypes.FLOAT32, (), PID))
    arguments = {"x": tensor("x", dtypes.FLOAT32, rows, cols), "y": tensor("y", dtypes.FLOAT32, rows)}
    return launch("row_loop", tuple(body), (rows,), arguments, warps)


def row_softmax(rows: int, cols: int, dtype: Dtype, warps: int) -> Launch:
    offset = PID * cols + LANE
    bound = (LANE, number(cols))
    body = (
        load(0, "x", dtype, (cols,), offset, bound),
        arith(cols, "cast"),
        reduce("max", cols),
        arith(cols),
        arith(cols, "special"),
        reduce("sum", cols),
        arith(cols, "special"),
        store(1, "y", dtype, (cols,), offset, bound),
    )
    arguments = {"x": tensor("x", dtype, rows, cols), "y": tensor("y", dtype, rows, cols)}
    return launch("softmax", body, (rows,), arguments, warps)


def tile_copy(rows: int, cols: int, dtype: Dtype, tile_rows: int, tile_cols: int, transposed: bool) -> Launch:
    row = PID * tile_rows + LANE
    column = PID1 * tile_cols + LANE1
    shape = (tile_rows, tile_cols)
    target = column * rows + row if transposed else row * cols + column
    body = (load(0, "x", dtype, shape, row * cols + column), store(1, "y", dtype, shape, target))
    out = (cols, rows) if transposed else (rows, cols)
    arguments = {"x": tensor("x", dtype, rows, cols), "y": tensor("y", dtype, *out)}
    return launch("tile_copy", body, (tiles(rows, tile_rows), tiles(cols, tile_cols)), arguments, 4)


def col_reduce(rows: int, cols: int, tile_rows: int, tile_cols: int) -> Launch:
    row = iteration(0) * tile_rows + LANE
    column = PID * tile_cols + LANE1
    shape = (tile_rows, tile_cols)
    inner = (load(0, "x", dtypes.FLOAT32, shape, row * cols + column), arith(tile_rows * tile_cols))
    out = PID * tile_cols + LANE
    body = (
        Loop(0, "range", tiles(rows, tile_rows), inner, HERE, carried=tile_rows * tile_cols),
        reduce("sum", *shape, axis=0),
        store(1, "y", dtypes.FLOAT32, (tile_cols,), out),
    )
    arguments = {"x": tensor("x", dtypes.FLOAT32, rows, cols), "y": tensor("y", dtypes.FLOAT32, cols)}
    return launch("col_reduce", body, (tiles(cols, tile_cols),), arguments, 4)


def atomic_add(n: int, block: int, addresses: int, scalar: bool) -> Launch:
    offset = PID * block + LANE
    bound = (offset, number(n))
    head: tuple[Node, ...] = (load(0, "x", dtypes.FLOAT32, (block,), offset, bound),)
    if scalar:
        where = Expr({}) + mod(PID, addresses)
        head = (*head, reduce("sum", block), Atomic(1, "y", dtypes.FLOAT32, (), where, None, HERE))
    else:
        where = Expr({}) + mod(offset, addresses)
        head = (*head, Atomic(1, "y", dtypes.FLOAT32, (block,), where, (bound,), HERE))
    arguments = {"x": tensor("x", dtypes.FLOAT32, n), "y": tensor("y", dtypes.FLOAT32, addresses)}
    return launch("atomic", head, (tiles(n, block),), arguments, 4)


def gather_rows(rows: int, width: int, block: int) -> Launch:
    """``y[r, :] = x[index[r], :]``, a program a row, a loop over the columns."""
    column = iteration(0) * block + LANE
    bound = (column, number(width))
    index = opaque("load", number(0), key=0)
    inner = (
        load(1, "x", dtypes.FLOAT16, (block,), index * width + column, bound),
        store(2, "y", dtypes.FLOAT16, (block,), PID * width + column, bound),
    )
    body = (
        load(0, "index", dtypes.INT64, (), PID),
        Loop(0, "range", tiles(width, block), inner, HERE),
    )
    arguments = {
        "x": tensor("x", dtypes.FLOAT16, rows, width),
        "y": tensor("y", dtypes.FLOAT16, rows, width),
        "index": tensor("index", dtypes.INT64, rows),
    }
    return launch("gather", body, (rows,), arguments, 4)


def scalar_chain(rows: int, steps: int) -> Launch:
    """A linear recurrence along a row, one element an iteration."""
    where = PID * steps + iteration(0)
    inner = (
        load(0, "x", dtypes.FLOAT32, (), where),
        arith(1),
        store(1, "y", dtypes.FLOAT32, (), where),
    )
    arguments = {"x": tensor("x", dtypes.FLOAT32, rows, steps), "y": tensor("y", dtypes.FLOAT32, rows, steps)}
    return launch("chain", (Loop(0, "range", steps, inner, HERE, carried=1),), (rows,), arguments, 4)


def block_scan(rows: int, steps: int, block: int) -> Launch:
    """The same recurrence as a scan of blocks with a carried last element."""
    column = iteration(0) * block + LANE
    where = PID * steps + column
    inner = (
        load(0, "x", dtypes.FLOAT32, (block,), where, (column, number(steps))),
        Scan("add", (block,), 0, HERE),
        arith(block),
        reduce("sum", block),
        store(1, "y", dtypes.FLOAT32, (block,), where, (column, number(steps))),
    )
    arguments = {"x": tensor("x", dtypes.FLOAT32, rows, steps), "y": tensor("y", dtypes.FLOAT32, rows, steps)}
    trip = tiles(steps, block)
    return launch("scan", (Loop(0, "range", trip, inner, HERE, carried=1),), (rows,), arguments, 4)


# -- the fact files ---------------------------------------------------------------------------------------------------


def _dtype(name: str) -> Dtype:
    found = dtypes.find(name)
    if found is None:
        raise ValueError(f"unknown dtype {name!r} in the facts")
    return found


_MICRO: dict[str, Callable[[dict[str, str]], Launch]] = {
    "empty_program": lambda p: store_only(int(p["programs"]), int(p["BLOCK"]), int(p["num_warps"])),
    "copy_block": lambda p: copy_block(int(p["n"]), _dtype(p["dtype"]), int(p["BLOCK"]), int(p["num_warps"])),
    "row_loop": lambda p: row_loop(
        int(p["rows"]), int(p["cols"]), int(p["BLOCK"]), int(p["num_warps"]), int(p["passes"])
    ),
    "row_loop_pipelined": lambda p: row_loop(
        int(p["rows"]), int(p["cols"]), int(p["BLOCK"]), int(p["num_warps"]), stages=3
    ),
    "row_loop_reduce_each": lambda p: row_loop(
        int(p["rows"]), int(p["cols"]), int(p["BLOCK"]), int(p["num_warps"]), each=True
    ),
    "row_softmax": lambda p: row_softmax(int(p["rows"]), int(p["cols"]), _dtype(p["dtype"]), int(p["num_warps"])),
    "tile_copy": lambda p: tile_copy(
        int(p["rows"]), int(p["cols"]), _dtype(p["dtype"]), int(p["BR"]), int(p["BC"]), p["store"] == "transposed"
    ),
    "col_reduce": lambda p: col_reduce(int(p["rows"]), int(p["cols"]), int(p["BR"]), int(p["BC"])),
    "atomic_scalar": lambda p: atomic_add(int(p["n"]), int(p["BLOCK"]), int(p["addresses"]), scalar=True),
    "atomic_block": lambda p: atomic_add(int(p["n"]), int(p["BLOCK"]), int(p["addresses"]), scalar=False),
    "gather_rows": lambda p: gather_rows(int(p["rows"]), int(p["D"]), int(p["BLOCK"])),
    "scalar_chain": lambda p: scalar_chain(int(p["rows"]), int(p["steps"])),
    "block_scan": lambda p: block_scan(int(p["rows"]), int(p["steps"]), int(p["BLOCK"])),
    "divmod_copy": lambda p: copy_block(int(p["n"]), dtypes.FLOAT16, 1024, 4),
}

_SIZES = {"programs", "n", "rows", "cols", "D", "steps"}


def micro_samples() -> Iterator[Sample]:
    """Every row of ``h100-micro.csv``."""
    with (FACTS / "h100-micro.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            params = dict(item.split("=") for item in row["params"].split(";"))
            size = ";".join(f"{k}={v}" for k, v in params.items() if k in _SIZES)
            yield Sample(
                row["term"], f"{row['term']} {row['params']}", _MICRO[row["term"]](params), float(row["gpu_us"]), size
            )


#: do_bench times one eager launch after a flush: about this much above the kernel's time in a graph (copy_block, the
#: cold minus warm column where the data exceeds L2 three times over).
COLD_OVERHEAD_US = 3.0
#: A kernel that mostly reads also waits for the flush's own dirty lines to leave L2, which a warm replay does not have
#: (row_loop with one pass, cold minus warm: 11 to 13 us from 33 MB to 268 MB).
COLD_READ_OVERHEAD_US = 12.0


def stream_samples() -> Iterator[Sample]:
    """The rows of ``h100-stream.csv`` whose data exceeds L2: cold and warm differ by the launch overhead alone."""
    with (FACTS / "h100-stream.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            n, block, warps = int(row["n_or_rows"]), int(row["BLOCK"]), int(row["num_warps"])
            dtype = _dtype(row["dtype"])
            if row["kind"] == "elementwise":
                if 2 * n * dtype.bytes < 60e6:
                    continue
                made = copy_block(n, dtype, block, warps, int(row["ops"]))
            elif row["kind"] == "strided_load":
                stride = int(row["stride"])
                if n * dtype.bytes * stride < 60e6:
                    continue
                made = strided_load(n, stride, block, warps)
            else:
                made = row_loop(n, int(row["cols"]), block, warps)
            name = f"stream_{row['kind']}"
            label = ";".join(f"{k}={v}" for k, v in row.items() if k not in ("device", "us", "GBps"))
            us = float(row["us"]) - (COLD_OVERHEAD_US if row["kind"] == "elementwise" else COLD_READ_OVERHEAD_US)
            yield Sample(name, f"{name} {label}", made, us, f"n={n};cols={row['cols']};stride={row['stride']}")


def samples() -> list[Sample]:
    return [*micro_samples(), *stream_samples()]
