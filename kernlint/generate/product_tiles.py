"""Which tile a matrix product is made in, and into how many parts its summed axis is cut."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kernlint.records import dataclass, replace


@dataclass(frozen=True)
class Tile:
    """Extents of a tile of a product, along rows, columns and the summed axis, the options of its launch, and the ``parts`` of the
    summed axis that programs of their own take, 1 where it stays whole."""

    m: int
    n: int
    k: int
    num_warps: int
    num_stages: int
    parts: int


@dataclass(frozen=True)
class ProductForm:
    """What the tile of a product is chosen by: its extents, with ``batch`` products of them, and the bits of what is fed."""

    m: float
    n: float
    k: float
    batch: float
    bits: int

    @property
    def elements(self) -> float:
        """How many elements are multiplied."""
        return self.m * self.n * self.k * self.batch


#: Rows, columns and warps.
_TILES = (
    (128, 128, 8), (128, 64, 4), (64, 128, 4), (64, 64, 4), (32, 64, 4), (64, 32, 4), (16, 64, 4), (16, 128, 4)
)  # fmt: skip
#: Multiprocessors of a large GPU, elements of the summed axis that a part has at least, and how much longer a tile may be than what
#: is left for it at the end.
_SMS, _PART, _WASTE = 132, 256, 1.05
#: Nanoseconds for an element along the summed axis of a tile of one element, by the bits of what is fed (fp32 takes three products of
#: tf32); for a byte of the planes that parts leave; and for the launch that adds them.
_STEP_NS = {8: 0.002, 16: 0.003, 32: 0.02}
_PLANE_NS, _LAUNCH_NS = 1 / 2000, 2500.0


def fits(extent: float) -> bool:
    """Whether tiles of 128 along ``extent`` waste next to nothing at its end."""
    return math.ceil(extent / 128) * 128 <= _WASTE * extent


def default_tile(form: ProductForm) -> Tile:
    """A tile that fills the device where the product is large enough, and wastes little where it is small."""
    m, n, k, batch, bits = form.m, form.n, form.k, form.batch, form.bits
    best, least = None, math.inf
    for tile_m, tile_n, warps in _TILES:
        if tile_m > 16 and tile_m >= 2 * m:
            continue
        tiles = math.ceil(m / tile_m) * math.ceil(n / tile_n) * batch
        for parts in {1, max(1, int(min(_SMS // tiles, k / _PART))), max(1, int(min(2 * _SMS // tiles, k / _PART)))}:
            time = math.ceil(tiles * parts / _SMS) * (tile_m * tile_n) ** 0.8 * k / parts * _STEP_NS.get(bits, 0.02)
            if parts > 1:
                time += parts * m * n * batch * 4 * _PLANE_NS + _LAUNCH_NS
            if time < least:
                best, least = (tile_m, tile_n, warps, parts), time
    assert best is not None
    depth = {8: 128, 16: 64}.get(bits, 32)
    depth = max(16, min(depth, 1 << max(4, int(k - 1).bit_length())))
    return Tile(best[0], best[1], depth, best[2], 3, best[3])


#: Bytes of shared memory that the steps of a loop may fill, and elements of a tile that a thread adds up at least and at most.
_STAGED, _LEAST_EACH, _MOST_EACH = 200_000, 4, 128


def other_tiles(form: ProductForm, tile: Tile) -> Iterator[Tile]:
    """Other tiles of a product for the cost model to choose from: one step away from ``tile`` along each axis, in warps and in parts."""
    deepest = 1024 // form.bits * 2
    found = [replace(tile, n=n) for n in (tile.n // 2, 2 * tile.n) if 16 <= n <= 256 and n < 2 * form.n]
    found += [replace(tile, m=m) for m in (tile.m // 2, 2 * tile.m) if 16 <= m <= 256 and m < 2 * form.m]
    found += [replace(tile, k=k) for k in (2 * tile.k, tile.k // 2) if 16 <= k <= deepest and k < 2 * form.k]
    found += [replace(tile, parts=parts) for parts in (tile.parts // 2, 2 * tile.parts) if 1 <= parts <= form.k / _PART]
    found.append(replace(tile, num_warps=12 - tile.num_warps))
    for one in found:
        staged = (one.m + one.n) * one.k * form.bits // 8 * one.num_stages
        if staged <= _STAGED and _LEAST_EACH <= one.m * one.n / (32 * one.num_warps) <= _MOST_EACH:
            yield one


def attention_tile(m: float, keys: float, held: float, bits: int) -> Tile:
    """A tile of attention: rows, keys of a step, and the elements of a row that a program has. On an H200, 64 rows with 64 keys and one
    warp group were the fastest for rows of 64, 128 and 256 halves, causal and not, and half as many keys where 64 hold them all."""
    rows = 64
    while rows > 16 and rows >= 2 * m:
        rows //= 2
    step = 64 if keys > 64 and (bits == 16 or held <= 128) else 32
    return Tile(rows, int(held), step, 4, 3 if bits == 16 else 2, 1)


#: Parts of the keys at most, so that one kernel puts them together, and keys of a part at least.
_PARTS, _KEYS = 16, 512


def attention_parts(programs: float, keys: float) -> int:
    """Into how many parts the keys had better be cut where there are so many programs, 0 where they need not be."""
    parts = int(min(2 * _SMS // programs, _PARTS, keys // _KEYS))
    return parts if parts > 1 else 0
