"""Convolutions of torch's: in one to three dimensions, transposed, grouped, by channel, strided and dilated, of sizes drawn at random.

    python convs.py DIR [SECONDS [larger]]

Times each on the GPU at hand and writes ``DIR/h100-torch-ops-2.csv``; stops by itself at the deadline, the draws of each class in turns.
"""

from __future__ import annotations

import math
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
import torch.nn.functional as F
from measure import Bench, Files, guarded
from torch_ops import SIZE, TorchOp

DRAWS, HALF_DRAWS = 9, 2
KINDS = ("plain", "pointwise", "strided", "dilated", "strided dilated", "grouped", "depthwise")
#: Work and bytes of a draw, and those of a ``larger`` one (``h200-convs-2.csv``).
FLOPS, MOST_BYTES = (2e8, 6e10), 3e9
LARGER, MOST_LARGER = (4e9, 4e11), 8e9


def _drawn(random_: random.Random, dims: int, transposed: bool, kind: str, dtype: str, larger: bool) -> TorchOp | None:
    """A convolution of random sizes; None where it is too small or too large."""
    (least, most), most_bytes = (LARGER, MOST_LARGER) if larger else (FLOPS, MOST_BYTES)
    channels = [random_.choice((3, 16, 32, 48, 64, 96, 128, 256)) for _ in range(2)]
    groups = 1
    if kind == "depthwise":
        channels[1] = groups = channels[0]
    elif kind == "grouped":
        groups = random_.choice((2, 4, 8))
        channels = [max(channel // 16, 1) * 16 for channel in channels]
    batch = random_.choice((1, 4, 8, 16, 32, 64))
    extent = {1: (1 << 10, 1 << 17), 2: (28, 512), 3: (12, 96)}[dims]
    if larger:
        extent = {1: (1 << 13, 1 << 18), 2: (64, 1024), 3: (16, 128)}[dims]
    size = [int(math.exp(random_.uniform(*map(math.log, extent)))) for _ in range(dims)]
    window = [1 if kind == "pointwise" else random_.choice((3, 3, 5, 7)) for _ in range(dims)]
    stride = random_.choice((2, 3)) if "strided" in kind else 1
    dilation = random_.choice((2, 3)) if "dilated" in kind else 1
    padding = random_.choice((0, 1, window[0] // 2))
    if any(n <= dilation * (k - 1) + 1 for n, k in zip(size, window)):
        return None
    if transposed:
        out = [(n - 1) * stride - 2 * padding + dilation * (k - 1) + 1 for n, k in zip(size, window)]
    else:
        out = [(n + 2 * padding - dilation * (k - 1) - 1) // stride + 1 for n, k in zip(size, window)]
    taps = math.prod(window) * channels[0] * channels[1] // groups
    flops = 2 * batch * taps * math.prod(size if transposed else out)
    moved = SIZE[dtype] * batch * (channels[0] * math.prod(size) + channels[1] * math.prod(out))
    if min(out) < 1 or not least <= flops <= most or moved > most_bytes:
        return None
    name = f"conv{'_transpose' if transposed else ''}{dims}d"

    def make() -> Callable[[], object]:
        kinds = {"device": "cuda", "dtype": getattr(torch, dtype)}
        x = torch.randn(batch, channels[0], *size, **kinds)
        first, second = (channels[0], channels[1]) if transposed else (channels[1], channels[0])
        weight = torch.randn(first, second // groups, *window, **kinds)
        options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        return lambda: getattr(F, name)(x, weight, **options)

    said = {"kind": kind.replace(" ", "-"), "n": batch, "cin": channels[0], "cout": channels[1], "size": "x".join(map(str, size)),
            "k": "x".join(map(str, window)), "stride": stride, "pad": padding, "dil": dilation, "groups": groups}  # fmt: skip
    return TorchOp(name, dtype, ";".join(f"{key}={value}" for key, value in said.items()), make, moved, flops)


def operations(larger: bool = False) -> Iterator[TorchOp]:
    """All draws, those of a class spread out."""
    random_ = random.Random(8 if larger else 7)
    for draw in range(DRAWS + HALF_DRAWS):
        dtype = "float32" if draw < DRAWS else "float16"
        for dims in (1, 2, 3):
            for transposed in (False, True):
                for kind in KINDS:
                    drawn = None
                    while drawn is None:
                        drawn = _drawn(random_, dims, transposed, kind, dtype, larger)
                    yield drawn


def main() -> None:
    files = Files(Path(sys.argv[1]))
    bench, deadline = Bench(files), time.time() + float(sys.argv[2] if len(sys.argv) > 2 else 120)
    for operation in operations(larger="larger" in sys.argv[3:]):
        if time.time() > deadline:
            break
        # What torch would do by itself: cuDNN takes tf32, and chooses without trying.
        guarded(files, operation.shape, lambda operation=operation: bench.operation(operation))


if __name__ == "__main__":
    main()
