"""Lanes that meet in the banks of L1: a warp reads 32 numbers that lie a fixed number of words apart, again and again."""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Case, Launch, micro

STRIDES = (1, 2, 3, 4, 6, 8, 9, 16, 20, 24, 32, 33, 39, 40, 48, 64, 96, 100, 128, 160, 256, 257, 512, 1024, 1056)
TRIPS, PROGRAMS = 512, 132 * 32


@triton.jit
def strided(x, y, n, STRIDE: tl.constexpr, TRIPS: tl.constexpr):
    lane = tl.arange(0, 32)
    total = tl.zeros((32,), dtype=tl.float32)
    first = x + tl.program_id(0) % 2 * 8
    for turn in range(TRIPS):
        total += tl.load(first + lane * STRIDE + (turn % n))
    tl.store(y + tl.program_id(0) * 32 + lane, total)


def strided_case(stride: int) -> Case:
    """32 lanes ``stride`` words apart."""
    x, y = Buffer("x", "float32", 1 << 20), Buffer("y", "float32", PROGRAMS * 32)
    constants = {"STRIDE": stride, "TRIPS": TRIPS}
    launch = Launch(strided, (x, y, 8), constants, (PROGRAMS,), 1)
    return micro("strided", {"STRIDE": stride, "TRIPS": TRIPS, "num_warps": 1}, launch, bytes=y.nbytes)


def cases() -> list[Case]:
    """All cases of this module."""
    return [strided_case(stride) for stride in STRIDES]
