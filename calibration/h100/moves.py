"""Torch's own kernels that move or pick elements: concatenations of strided parts, copies of slices, indices into tensors, paddings,
triangular factors.

    python moves.py DIR [SECONDS]

Writes ``DIR/h100-torch-ops-2.csv``; the shape says what the call is of (``calibration/fit_torch_ops.py`` reads it).
"""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from measure import Bench, Files, guarded
from torch_ops import SIZE, TorchOp

#: Elements of a result.
SIZES = (1 << 16, 1 << 20, 1 << 23, 1 << 27)


def _of(
    name: str, dtype: str, shape: tuple[int, ...], function: Callable[[torch.Tensor], object], said: str, moved: int
) -> TorchOp:
    def make() -> Callable[[], object]:
        x = torch.randn(*shape, device="cuda").to(getattr(torch, dtype))
        return lambda: function(x)

    return TorchOp(name, dtype, "x".join(map(str, shape)) + (f";{said}" if said else ""), make, moved)


def _parts() -> Iterator[TorchOp]:
    """Parts put side by side: whole tensors, slices, every other row and column."""
    for dtype, size, inner in itertools.product(("float16", "float32"), SIZES, (1, 4, 32, 96, 512)):
        if dtype == "float32" and inner in (4, 96):
            continue
        moved, rows = 2 * size * SIZE[dtype], size // (4 * inner)
        yield _of("cat_last", dtype, (4, rows, inner), lambda x: torch.cat([*x], -1), "", moved)
        yield _of("cat_slices", dtype, (rows, 8 * inner),
                  lambda x, w=inner: torch.cat([x[:, 2 * i * w : 2 * i * w + w] for i in range(4)], -1), "", moved)  # fmt: skip
        side = max(2, int(math.sqrt(size / inner)) // 2 * 2)
        yield _of("cat_patches", dtype, (1, side, side, inner),
                  lambda x: torch.cat([x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)], -1), "",
                  2 * side * side * inner * SIZE[dtype])  # fmt: skip
        yield _of("stack_last", dtype, (2, size // 2), lambda x: torch.stack([*x], -1), "", moved)
        yield _of("slice_step", dtype, (2 * size // inner, inner), lambda x: x[::2].contiguous(), "", moved)
        if inner > 1:
            yield _of("slice_columns", dtype, (size // inner, 2 * inner),
                      lambda x, w=inner: x[:, :w].contiguous(), "", moved)  # fmt: skip
            yield _of("every_other", dtype, (size // inner, 2 * inner), lambda x: x[:, ::2].contiguous(), "", moved)


def _picks() -> Iterator[TorchOp]:
    """Elements and short rows through indices."""
    for dtype, size, table in itertools.product(("float16", "float32"), SIZES[:3], (1 << 14, 1 << 20, 1 << 25)):
        moved = size * (2 * SIZE[dtype] + 8)

        def picked(
            call: Callable[[torch.Tensor, torch.Tensor], object],
            size: int = size,
            table: int = table,
            dtype: str = dtype,
        ) -> Callable[[], Callable[[], object]]:
            def make() -> Callable[[], object]:
                x = torch.randn(table, device="cuda").to(getattr(torch, dtype))
                index = torch.randint(0, table, (size,), device="cuda")
                return lambda: call(x, index)

            return make

        shape = f"{table};n={size}"
        yield TorchOp("index_elements", dtype, shape, picked(lambda x, i: x[i]), moved)
        yield TorchOp("gather_elements", dtype, shape, picked(lambda x, i: x.gather(0, i)), moved)
        if dtype == "float32":
            values = torch.empty(0, device="cuda")
            yield TorchOp("scatter_add_elements", dtype, shape,
                          picked(lambda x, i, v=values: x.scatter_add_(0, i, v.resize_(i.numel()))), moved)  # fmt: skip
    for dtype, width, rows in itertools.product(("float16", "float32"), (2, 8, 32, 128), (1 << 12, 1 << 17, 1 << 20)):

        def embedded(rows: int = rows, width: int = width, dtype: str = dtype) -> Callable[[], object]:
            table = torch.randn(50000, width, device="cuda").to(getattr(torch, dtype))
            index = torch.randint(0, 50000, (rows,), device="cuda")
            return lambda: F.embedding(index, table)

        if rows * width <= 1 << 26:
            yield TorchOp("embedding", dtype, f"{rows}x{width}", embedded, rows * width * 2 * SIZE[dtype])


def _shapes() -> Iterator[TorchOp]:
    """Paddings, rolls, repetitions, triangles: one tensor in, one out."""
    for dtype, size in itertools.product(("float16", "float32"), SIZES):
        rows, columns = size // 1024, 1024
        moved = 2 * size * SIZE[dtype]
        for name, function in (
            ("roll_last", lambda x: x.roll(1, -1)), ("roll_first", lambda x: x.roll(1, 0)), ("pad", lambda x: F.pad(x, (1, 1))),
            ("repeat_rows", lambda x: x.repeat(2, 1)), ("repeat_interleave", lambda x: x.repeat_interleave(2, -1)),
            ("tril", torch.tril), ("where", lambda x: torch.where(x > 0, x, 0.0)), ("clamp_min", lambda x: x.clamp(min=0)),
            ("masked_fill", lambda x: x.masked_fill(x > 0, 0.0)), ("flip_first", lambda x: x.flip(0)),
            ("expand_rows", lambda x: x[:, None].expand(-1, 2, -1).contiguous()), ("glu", F.glu), ("diff", torch.diff),
            ("softplus", F.softplus), ("logsigmoid", F.logsigmoid), ("argsort", lambda x: x.argsort(-1)),
        ):  # fmt: skip
            if size <= 1 << 23 or name not in ("argsort", "where"):
                yield _of(name, dtype, (rows, columns), function, "", moved)


def _factors() -> Iterator[TorchOp]:
    """Triangular factors and their solutions, one matrix or many."""
    for batch, n in ((1, 64), (1, 256), (1, 1024), (1, 4096), (64, 32), (64, 128), (1024, 16), (4096, 8), (256, 64)):

        def definite(batch: int = batch, n: int = n) -> torch.Tensor:
            x = torch.randn(batch, n, n, device="cuda")
            return (x @ x.mT + n * torch.eye(n, device="cuda")).squeeze(0)

        def factor(make: Callable[[], torch.Tensor] = definite) -> Callable[[], object]:
            x = make()
            return lambda: torch.linalg.cholesky_ex(x)

        def solve(make: Callable[[], torch.Tensor] = definite, n: int = n) -> Callable[[], object]:
            x = torch.linalg.cholesky_ex(make())[0]
            b = torch.randn(*x.shape[:-1], 1, device="cuda")
            return lambda: torch.linalg.solve_triangular(x, b, upper=False)

        yield TorchOp("cholesky_ex", "float32", f"{batch}x{n}x{n}", factor, 8 * batch * n * n)
        yield TorchOp("solve_triangular", "float32", f"{batch}x{n}x{n};n=1", solve, 8 * batch * n * n)


def operations() -> Iterator[TorchOp]:
    """All calls, the kinds in turns."""
    for kinds in itertools.zip_longest(_parts(), _picks(), _shapes(), _factors()):
        yield from (one for one in kinds if one is not None)


def main() -> None:
    files = Files(Path(sys.argv[1]))
    bench, deadline = Bench(files), time.time() + float(sys.argv[2] if len(sys.argv) > 2 else 120)
    for operation in operations():
        if time.time() > deadline:
            break
        guarded(files, f"{operation.op} {operation.dtype} {operation.shape}", lambda op=operation: bench.operation(op))
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
