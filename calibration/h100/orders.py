"""The order in which lanes go through a tile or a structure: windows whose indices are clamped, so that the compiler sees no
neighbours, and fields of structures that are written one after the other."""

from __future__ import annotations

import triton
import triton.language as tl
from case import Buffer, Case, Launch, cdiv, micro

PLANES, SIDE, REACH, STRUCTURES = 3, 512, 7, 1 << 19


@triton.jit
def blur(x, taps, y, height, width, R: tl.constexpr, H: tl.constexpr, W: tl.constexpr, CLAMPED: tl.constexpr):
    """A window of 2 R + 1 by 2 R + 1 taps; ``x`` has a row more before and behind, which it meets unless columns
    are CLAMPED at the border."""
    plane = tl.program_id(2).to(tl.int64) * height * width
    row = tl.program_id(1) * H + tl.arange(0, H)
    column = tl.program_id(0) * W + tl.arange(0, W)
    total = tl.zeros((H, W), dtype=tl.float32)
    for i in range(2 * R + 1):
        weight = tl.load(taps + i)
        first = x + width + plane + tl.minimum(tl.maximum(row + (i - R), 0), height - 1)[:, None] * width
        for j in range(2 * R + 1):
            other = column + (j - R)
            if CLAMPED:
                other = tl.minimum(tl.maximum(other, 0), width - 1)
            total += tl.load(first + other[None, :]) * (weight * tl.load(taps + j))
    inside = (row < height)[:, None] & (column < width)[None, :]
    tl.store(y + plane + row[:, None] * width + column[None, :], total, mask=inside)


@triton.jit
def fields(y, n, COUNT: tl.constexpr, STRIDE: tl.constexpr, BLOCK: tl.constexpr):
    """COUNT numbers of each structure of STRIDE, one store each."""
    which = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for field in tl.static_range(COUNT):
        tl.store(y + which * STRIDE + field, which.to(tl.float32) * (field + 0.5), mask=which < n)


def blur_case(tile: tuple[int, int], clamped: bool) -> Case:
    """`blur` of three planes of 512 by 512."""
    elements = PLANES * SIDE * SIDE
    x, y, taps = (
        Buffer("x", "float32", elements + 2 * SIDE),
        Buffer("y", "float32", elements),
        Buffer("taps", "float32", 15),
    )
    params = {"R": REACH, "H": tile[0], "W": tile[1], "CLAMPED": int(clamped), "num_warps": 4}
    constants = {"R": REACH, "H": tile[0], "W": tile[1], "CLAMPED": clamped}
    grid = (cdiv(SIDE, tile[1]), cdiv(SIDE, tile[0]), PLANES)
    return micro("blur", params, Launch(blur, (x, taps, y, SIDE, SIDE), constants, grid, 4), bytes=2 * y.nbytes)


def fields_case(count: int, stride: int) -> Case:
    """`fields` of half a million structures."""
    y = Buffer("y", "float32", STRUCTURES * stride)
    params = {"COUNT": count, "STRIDE": stride, "BLOCK": 256, "num_warps": 4}
    constants = {"COUNT": count, "STRIDE": stride, "BLOCK": 256}
    launch = Launch(fields, (y, STRUCTURES), constants, (STRUCTURES // 256,), 4)
    return micro("fields", params, launch, bytes=STRUCTURES * count * 4)


def cases() -> list[Case]:
    """All cases of this module."""
    tiles = [((8, 128), True), ((8, 128), False), ((1, 128), True), ((8, 32), True)]
    structures = [(16, 16), (8, 16), (1, 16), (8, 8), (4, 4), (2, 2), (1, 8), (3, 3), (6, 6)]
    return [blur_case(*tile) for tile in tiles] + [fields_case(*structure) for structure in structures]
