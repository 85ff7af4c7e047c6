"""Torch's own kernels over large tensors: long rows, pooling with its indices, losses, scans, norms, batches of products, attention.

    python library.py DIR [SECONDS]

Times each operation on the GPU at hand and writes ``DIR/h100-torch-ops-2.csv``, sizes drawn at random, the kinds in turns; stops by
itself at the deadline.
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

DRAWS = 14
#: Elements of what is read.
FEWEST, MOST = 1 << 18, 1 << 29


def _between(random_: random.Random, low: float, high: float) -> int:
    return int(math.exp(random_.uniform(math.log(low), math.log(high))))


def _op(
    name: str, dtype: str, shape: tuple[int, ...], function: Callable[..., object], said: str = "", inputs: int = 1, written: int = 0,
    flops: int = 0, also: Callable[[], tuple[torch.Tensor, ...]] = tuple,
) -> TorchOp:  # fmt: skip
    """``function`` of ``inputs`` tensors of ``shape`` and of what ``also`` makes, which writes so many bytes."""

    def make() -> Callable[[], object]:
        tensors = [torch.randn(*shape, device="cuda", dtype=getattr(torch, dtype)) for _ in range(inputs)] + [*also()]
        return lambda: function(*tensors)

    moved = inputs * SIZE[dtype] * math.prod(shape) + written
    return TorchOp(name, dtype, "x".join(map(str, shape)) + (f";{said}" if said else ""), make, moved, flops)


def _rows(random_: random.Random, dtype: str) -> Iterator[TorchOp]:
    """Softmaxes of long rows and scans, along either axis of a matrix."""
    columns = _between(random_, 1 << 10, 1 << 19)
    rows = max(1, _between(random_, FEWEST, MOST) // columns)
    shape = rows, columns
    for name, function in (("softmax", F.softmax), ("log_softmax", F.log_softmax)):
        yield _op(name, dtype, shape, lambda x, f=function: f(x, -1), written=SIZE[dtype] * math.prod(shape))
    for name in ("cumsum", "cumprod"):
        function = getattr(torch, name)
        yield _op(name, dtype, shape, lambda x, f=function: f(x, -1), "inner", written=SIZE[dtype] * math.prod(shape))
    yield _op(
        "cumsum", dtype, shape[::-1], lambda x: torch.cumsum(x, 0), "outer", written=SIZE[dtype] * math.prod(shape)
    )
    for name in ("logsumexp", "argmax", "amax", "sum", "var"):
        function = getattr(torch, name)
        yield _op(name, dtype, shape, lambda x, f=function: f(x, -1), "inner")
        yield _op(name, dtype, shape[::-1], lambda x, f=function: f(x, 0), "outer")


def _pools(random_: random.Random, dtype: str) -> Iterator[TorchOp]:
    for dims in (1, 2, 3):
        planes = _between(random_, 16, 2048)
        side = max(8, int((_between(random_, FEWEST, MOST) / planes) ** (1 / dims)))
        window, stride = random_.choice(((2, 2), (3, 2), (3, 1), (4, 1), (5, 3)))
        shape = 1, planes, *[side] * dims
        out = planes * ((side - window) // stride + 1) ** dims
        for name, size in ((f"max_pool{dims}d", SIZE[dtype] + 8), (f"avg_pool{dims}d", SIZE[dtype])):
            function = getattr(F, name)
            yield _op(
                name,
                dtype,
                shape,
                lambda x, f=function, k=window, s=stride: f(x, k, s),
                f"k={window};stride={stride}",
                written=size * out,
            )


def _losses(random_: random.Random, dtype: str) -> Iterator[TorchOp]:
    rows = _between(random_, 64, 1 << 14)
    shape = rows, max(1, _between(random_, FEWEST, MOST // 2) // rows)
    for name in ("smooth_l1_loss", "huber_loss", "mse_loss", "l1_loss", "kl_div", "binary_cross_entropy_with_logits"):
        yield _op(name, dtype, shape, getattr(F, name), inputs=2)
    classes = _between(random_, 16, 1 << 15)
    shape = max(1, _between(random_, FEWEST, MOST // 2) // classes), classes
    yield _op(
        "cross_entropy",
        dtype,
        shape,
        F.cross_entropy,
        also=lambda s=shape: (torch.randint(s[1], (s[0],), device="cuda"),),
    )
    shape = _between(random_, 64, 1 << 14), _between(random_, 256, 1 << 14)
    yield _op("cosine_similarity", dtype, shape, lambda x, y: F.cosine_similarity(x, y, 1), inputs=2)


def _norms(random_: random.Random, dtype: str) -> Iterator[TorchOp]:
    channels = random_.choice((8, 16, 32, 64, 128))
    side = _between(random_, 16, 512)
    images = max(1, _between(random_, FEWEST, MOST) // channels // side**2)
    shape, bytes_ = (images, channels, side, side), SIZE[dtype] * images * channels * side**2
    yield _op("batch_norm", dtype, shape, lambda x: F.batch_norm(x, None, None, training=True), written=bytes_)
    yield _op("instance_norm", dtype, shape, F.instance_norm, written=bytes_)
    yield _op("group_norm", dtype, shape, lambda x: F.group_norm(x, 8), written=bytes_)
    yield _op("layer_norm", dtype, shape, lambda x: F.layer_norm(x, x.shape[1:]), written=bytes_)
    yield _op("norm", dtype, (images, channels * side**2), lambda x: torch.norm(x, dim=1))
    yield _op("frobenius", dtype, shape, torch.norm)
    yield _op("normalize", dtype, (images * channels, side**2), lambda x: F.normalize(x, dim=1), written=bytes_)


def _products(random_: random.Random, dtype: str) -> Iterator[TorchOp]:
    """Batches of products, small ones among them, products with a thin side, attention."""
    m, n, k = (_between(random_, 16, 2048) // 8 * 8 for _ in range(3))
    batch = _between(random_, 1, max(2.0, min(1 << 13, 2e11 / (2 * m * n * k))))
    flops = 2 * batch * m * n * k
    second = _sized(dtype, batch, k, n)
    yield _op(
        "bmm",
        dtype,
        (batch, m, k),
        torch.bmm,
        f"n={n}",
        written=SIZE[dtype] * batch * n * (m + k),
        flops=flops,
        also=second,
    )
    m, n, k = _between(random_, 16, 1 << 14), _between(random_, 16, 1 << 14), _between(random_, 16, 1 << 15)
    if 2 * m * n * k < 4e11:
        second = _sized(dtype, k, n)
        yield _op(
            "matmul",
            dtype,
            (m, k),
            torch.matmul,
            f"n={n}",
            written=SIZE[dtype] * n * (m + k),
            flops=2 * m * n * k,
            also=second,
        )
    heads, length, width = (
        _between(random_, 4, 1024),
        _between(random_, 64, 2048),
        random_.choice((32, 64, 128, 256, 512)),
    )
    if heads * length**2 * width * 4 < 4e11:
        attention = F.scaled_dot_product_attention
        shape = 1, heads, length, width
        bytes_ = SIZE[dtype] * math.prod(shape)
        yield _op("attention", dtype, shape, attention, inputs=3, written=bytes_, flops=4 * heads * length**2 * width)


def _sized(dtype: str, *shape: int) -> Callable[[], tuple[torch.Tensor, ...]]:
    return lambda: (torch.randn(*shape, device="cuda", dtype=getattr(torch, dtype)),)


def operations() -> Iterator[TorchOp]:
    """All draws, the kinds in turns."""
    random_ = random.Random(11)
    for draw in range(DRAWS):
        dtype = "float16" if draw % 4 == 3 else "float32"
        for kind in (_rows, _pools, _losses, _norms, _products):
            yield from kind(random_, dtype)


def main() -> None:
    files = Files(Path(sys.argv[1]))
    bench, deadline = Bench(files), time.time() + float(sys.argv[2] if len(sys.argv) > 2 else 120)
    for operation in operations():
        if time.time() > deadline:
            break
        guarded(files, f"{operation.op} {operation.shape}", lambda operation=operation: bench.operation(operation))
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
