"""What is timed by ``kernlint calibrate``: launches of the kernels in ``kernels.py``, plain data that needs no GPU."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from kernlint.records import dataclass
from kernlint.workload import Storage, Tensor
from kernlint.workload import dtype as dtypes


@dataclass(frozen=True)
class Buffer:
    """A flat array in device memory; ``below``: of random indices in [0, below). Equal buffers share memory."""

    name: str
    dtype: str
    numel: int
    below: int = 0

    def tensor(self) -> Tensor:
        """It as the analysis sees it."""
        storage = Storage(hash((self.name, self.dtype, self.numel)) & 0x7FFFFFFF, "input")
        return Tensor(self.name, dtypes.find(self.dtype), (self.numel,), (1,), storage)


@dataclass(frozen=True)
class Case:
    """One launch: the kernel's name, run-time arguments in order, constants, grid and configuration."""

    kernel: str
    arguments: tuple[Buffer | int, ...]
    constants: Mapping[str, int | bool]
    grid: tuple[int, ...]
    num_warps: int = 4
    num_stages: int = 3

    @property
    def label(self) -> str:
        sizes = [f"{a.dtype}[{a.numel}]" if isinstance(a, Buffer) else str(a) for a in self.arguments]
        return (
            f"{self.kernel}({', '.join(sizes)}) {dict(self.constants)} {self.num_warps} warps, {self.num_stages} stages"
        )


def cases() -> Iterator[Case]:
    """All launches, those first that tell most, so that a run cut short is of use."""
    yield from _products()
    yield from _streams()
    yield from _rows()
    yield from _others()


def _tiles(n: int, block: int) -> tuple[int]:
    return (-(-n // block),)


def _streams() -> Iterator[Case]:
    for n, (dtype, block) in itertools.product(
        (1 << 12, 1 << 18, 1 << 20, 1 << 22, 1 << 23, 1 << 24, 1 << 26), (("float32", 1024), ("float16", 1024))
    ):
        x, other, y = (Buffer(name, dtype, n) for name in ("x", "other", "y"))
        yield Case("scale", (x, y, n), {"BLOCK": block}, _tiles(n, block))
        yield Case("add", (x, other, y, n), {"BLOCK": block}, _tiles(n, block))
    for n in (1 << 16, 1 << 20, 1 << 22):
        x, y = Buffer("x", "float32", n), Buffer("y", "float32", n)
        yield Case("scale", (x, y, n), {"BLOCK": 64}, _tiles(n, 64), 1)
        yield Case("exponentials", (x, y, n), {"REPEAT": 16, "BLOCK": 1024}, _tiles(n, 1024))
        yield Case("multiply_adds", (x, y, 512), {"BLOCK": 256}, (n // 256,))


def _rows() -> Iterator[Case]:
    for (rows, cols, block), dtype in itertools.product(
        (
            (128, 512, 512),
            (4096, 512, 512),
            (4096, 1000, 1024),
            (16384, 1024, 1024),
            (4096, 4096, 4096),
            (2048, 8192, 8192),
        ),
        ("float32", "float16"),
    ):
        x, y = Buffer("x", dtype, rows * cols), Buffer("y", dtype, rows * cols)
        yield Case("softmax", (x, y, cols), {"BLOCK": block}, (rows,), 8 if block > 2048 else 4)
    for rows, cols, block in (
        (1, 1 << 17, 1024),
        (32, 1 << 17, 1024),
        (132, 1 << 16, 1024),
        (1024, 1 << 14, 1024),
        (4096, 4096, 512),
    ):
        x, y = Buffer("x", "float32", rows * cols), Buffer("sums", "float32", rows)
        yield Case("row_sums", (x, y, cols), {"BLOCK": block}, (rows,))
    for rows, cols in ((8192, 64), (65536, 64), (65536, 256)):
        x, y = Buffer("x", "float32", rows * cols), Buffer("sums", "float32", rows)
        yield Case("row_walks", (x, y, cols), {"BLOCK": 128}, (rows // 128,))
    for rows, cols in ((1024, 1024), (8192, 512), (4096, 4096)):
        x, y = Buffer("x", "float32", rows * cols), Buffer("y", "float32", rows * cols)
        yield Case("running_sums", (x, y, cols), {"BLOCK": cols}, (rows,))


def _others() -> Iterator[Case]:
    for table, n in (
        (1 << 12, 1 << 20),
        (1 << 12, 1 << 22),
        (1 << 20, 1 << 20),
        (1 << 20, 1 << 22),
        (1 << 25, 1 << 22),
    ):
        index = Buffer("index", "int32", n, table)
        whole, y = Buffer("table", "float32", table), Buffer("y", "float32", n)
        yield Case("gather", (whole, index, y, n), {"BLOCK": 1024}, _tiles(n, 1024))
    for table, n in ((256, 1 << 20), (4096, 1 << 20), (4096, 1 << 22), (1 << 20, 1 << 22), (1 << 24, 1 << 22)):
        index, bins = Buffer("index", "int32", n, table), Buffer("bins", "int32", table)
        yield Case("count", (index, bins, n), {"BLOCK": 1024}, _tiles(n, 1024))


def _products() -> Iterator[Case]:
    shapes = ((1024, 1024, 1024), (2048, 2048, 2048), (4096, 4096, 1024), (128, 4096, 4096))
    kinds = (("float16", 64, False), ("bfloat16", 64, False), ("float32", 32, False), ("float32", 32, True))
    for (m, n, k), (dtype, bk, exact) in itertools.product(shapes, kinds):
        for bm, bn, warps in ((64, 64, 4), (128, 128, 8)):
            if exact and m * n * k > 1 << 32:
                continue
            a, b, c = Buffer("a", dtype, m * k), Buffer("b", dtype, n * k), Buffer("c", dtype, m * n)
            constants = {"BM": bm, "BN": bn, "BK": bk, "EXACT": exact}
            yield Case("product", (a, b, c, m, n, k), constants, (m // bm, n // bn), warps, 3)
