"""Products with few rows, in both orders: C = A B with the rows of A on the M side of the dot, or C^T = B^T A^T.

    python swapped.py --out h100-swapped.csv      # needs a GPU of compute capability 9.0; about three minutes

Hopper's warp-group instruction multiplies 64 rows at once, so a dot of 16 rows falls back to the older one, and for fp8 to
fp16 arithmetic. With the operands swapped, the many columns of B are the rows. A [M, K] and B [N, K] are K-major, C [M, N]
is row-major. Each line is the fastest of its tiles: microseconds of a CUDA graph replay, warm L2.
"""

from __future__ import annotations

import argparse
import csv
import itertools
from pathlib import Path

import torch
import triton
import triton.language as tl

SHAPES = [(16, 4096, 4096), (16, 14336, 4096), (32, 4096, 14336), (64, 4096, 4096)]
DTYPES = {
    "fp16": (torch.float16, tl.float32, torch.float16),
    "fp8": (torch.float8_e4m3fn, tl.float32, torch.float16),
    "int8": (torch.int8, tl.int32, torch.int32),
}
COLUMNS = [
    "device",
    "mode",
    "M",
    "N",
    "K",
    "order",
    "tile_rows",
    "tile_columns",
    "BK",
    "num_warps",
    "num_stages",
    "warm_us",
]


@triton.jit
def product(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SWAP: tl.constexpr, ACC: tl.constexpr
):
    """One BM x BN tile of C per program, as A B or, with SWAP, as the transpose of B^T A^T."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    if SWAP:
        acc = tl.zeros((BN, BM), dtype=ACC)
        for start in range(0, K, BK):
            x = tl.load(a + (start + k)[:, None] + m[None, :] * K, mask=m[None, :] < M, other=0.0)
            y = tl.load(b + n[:, None] * K + (start + k)[None, :])
            acc = tl.dot(y, x, acc, out_dtype=ACC)
        tl.store(c + n[:, None] + m[None, :] * N, acc.to(c.dtype.element_ty), mask=m[None, :] < M)
    else:
        acc = tl.zeros((BM, BN), dtype=ACC)
        for start in range(0, K, BK):
            x = tl.load(a + m[:, None] * K + (start + k)[None, :], mask=m[:, None] < M, other=0.0)
            y = tl.load(b + (start + k)[:, None] + n[None, :] * K)
            acc = tl.dot(x, y, acc, out_dtype=ACC)
        tl.store(c + m[:, None] * N + n[None, :], acc.to(c.dtype.element_ty), mask=m[:, None] < M)


def operands(mode: str, M: int, N: int, K: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A [M, K], B [N, K] of the mode's type, C [M, N] of its output type."""
    dtype, _, out = DTYPES[mode]
    a, b = (torch.randint(-8, 9, (rows, K), device="cuda").to(dtype) for rows in (M, N))
    return a, b, torch.empty(M, N, device="cuda", dtype=out)


def fastest(mode: str, M: int, N: int, K: int, swap: bool) -> dict[str, object] | None:
    """The best tile of one order; None where none runs."""
    a, b, c = operands(mode, M, N, K)
    expected = a.float() @ b.float().T
    best: dict[str, object] | None = None
    for bn, bk, warps, stages in itertools.product((64, 128), (64, 128), (4,), (3, 5)):
        bm = max(16, M)
        grid = (triton.cdiv(M, bm), N // bn)
        arguments = (a, b, c, M, N, K, bm, bn, bk, swap, DTYPES[mode][1])

        def call() -> None:
            product[grid](*arguments, num_warps=warps, num_stages=stages)  # noqa: B023 (called before the next turn)

        try:
            call()
            error = (c.float() - expected).abs().max() / expected.abs().max()
            microseconds = 1000 * triton.testing.do_bench_cudagraph(call, rep=10)
        except Exception as failure:  # out of shared memory, or a layout that the compiler does not know
            print(mode, M, N, K, swap, bn, bk, warps, stages, type(failure).__name__, flush=True)
            continue
        assert error < 0.01, (mode, M, N, K, swap, error)
        if best is None or microseconds < float(str(best["warm_us"])):
            tile = {"tile_rows": bm, "tile_columns": bn, "BK": bk, "num_warps": warps, "num_stages": stages}
            best = {**tile, "warm_us": round(microseconds, 2)}
    return best


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    with options.out.open("w", newline="") as handle:
        writer = csv.DictWriter(handle, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for (M, N, K), mode, swap in itertools.product(SHAPES, DTYPES, (False, True)):
            best = fastest(mode, M, N, K, swap)
            if best is not None:
                shape = {"device": torch.cuda.get_device_name(0), "mode": mode, "M": M, "N": N, "K": K}
                writer.writerow({**shape, "order": "swapped" if swap else "plain", **best})
                handle.flush()


if __name__ == "__main__":
    main()
