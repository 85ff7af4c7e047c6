"""Torch's Fourier transforms, along one axis or two, of lengths that are powers of two and others.

    python fourier.py DIR [SECONDS]

Writes ``DIR/h100-torch-ops-2.csv``; the shape ends in the number of axes transformed.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from measure import Bench, Files, guarded
from torch_ops import SIZE, TorchOp

#: Lengths of the axis, and elements of the whole.
LENGTHS = (16, 64, 100, 256, 400, 512, 1000, 1024, 2048, 2310, 4096, 5003, 16384, 65536, 1 << 20)
SIZES = (1 << 12, 1 << 17, 1 << 20, 1 << 22, 1 << 25)
CALLS: tuple[tuple[str, Callable[[torch.Tensor], object], bool], ...] = (
    ("rfft", torch.fft.rfft, False), ("irfft", torch.fft.irfft, True), ("fft", torch.fft.fft, True), ("ifft", torch.fft.ifft, True),
)  # fmt: skip
PLANES: tuple[tuple[str, Callable[[torch.Tensor], object], bool], ...] = (
    ("rfft2", torch.fft.rfft2, False), ("irfft2", torch.fft.irfft2, True), ("fft2", torch.fft.fft2, True),
)  # fmt: skip


def _of(
    name: str, call: Callable[[torch.Tensor], object], is_complex: bool, shape: tuple[int, ...], axes: int
) -> TorchOp:
    def make() -> Callable[[], object]:
        *outer, last = shape
        if name.startswith("irfft"):
            last = last // 2 + 1
        x = torch.randn(*outer, last, device="cuda", dtype=torch.complex64 if is_complex else torch.float32)
        return lambda: call(x)

    n = math.prod(shape)
    return TorchOp(name, "float32", "x".join(map(str, shape)) + f";axes={axes}", make, 4 * SIZE["float32"] * n)


def operations() -> Iterator[TorchOp]:
    """All calls."""
    for place, size in enumerate(SIZES):
        for number, length in enumerate(LENGTHS):
            if length <= size:
                for name, call, is_complex in (CALLS[(place + number) % 4], CALLS[(place + number + 1) % 4]):
                    yield _of(name, call, is_complex, (size // length, length), 1)
        for number, side in enumerate((32, 64, 100, 128, 224, 256, 512, 1024, 4096)):
            if side * side <= size:
                name, call, is_complex = PLANES[(place + number) % 3]
                yield _of(name, call, is_complex, (size // side // side, side, side), 2)


def main() -> None:
    files = Files(Path(sys.argv[1]))
    bench, deadline = Bench(files), time.time() + float(sys.argv[2] if len(sys.argv) > 2 else 60)
    for operation in operations():
        if time.time() > deadline:
            break
        guarded(files, f"{operation.op} {operation.dtype} {operation.shape}", lambda op=operation: bench.operation(op))


if __name__ == "__main__":
    main()
