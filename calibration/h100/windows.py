"""Windows that torch writes out (``F.unfold``), reductions of short rows, and sums into few places.

    python windows.py DIR

Times each operation on the GPU at hand and writes ``DIR/h100-torch-ops-2.csv``; takes half a minute. A file of its own, as these
operations were met after the others had been measured.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from measure import Bench, Files
from torch_ops import SIZE, TorchOp


def _unfolds() -> Iterator[TorchOp]:
    sizes = [(1, 16, 64), (4, 16, 64), (16, 16, 64), (1, 64, 64), (8, 64, 32), (4, 128, 56), (32, 32, 28), (2, 3, 224)]
    for (images, channels, side), taps, dtype in itertools.product(sizes, (1, 3, 5, 7), ("float16", "float32")):

        def make(
            n: int = images, c: int = channels, s: int = side, k: int = taps, d: str = dtype
        ) -> Callable[[], object]:
            x = torch.randn(n, c, s, s, device="cuda", dtype=getattr(torch, d))
            return lambda: F.unfold(x, k, padding=k // 2)

        moved = SIZE[dtype] * images * channels * side * side * (1 + taps * taps)
        yield TorchOp("unfold", dtype, f"{images}x{channels}x{side}x{side}x{taps}x{taps}", make, moved)


def _short_rows() -> Iterator[TorchOp]:
    shapes = [
        (1 << 20, 128),
        (1 << 17, 128),
        (1 << 20, 32),
        (1 << 17, 32),
        (1 << 16, 64),
        (1 << 12, 128),
        (1 << 18, 16),
    ]
    functions = {"amax": torch.amax, "sum": torch.sum, "mean": torch.mean}
    for (rows, columns), name, dtype in itertools.product(shapes, functions, ("float16", "float32")):

        def make(r: int = rows, c: int = columns, f: str = name, d: str = dtype) -> Callable[[], object]:
            x = torch.randn(r, c, device="cuda", dtype=getattr(torch, d))
            return lambda: functions[f](x, -1)

        yield TorchOp(f"{name}_inner", dtype, f"{rows}x{columns}", make, SIZE[dtype] * rows * (columns + 1))


def main() -> None:
    bench = Bench(Files(Path(sys.argv[1])))
    for operation in (*_unfolds(), *_short_rows()):
        bench.operation(operation)


if __name__ == "__main__":
    main()
