"""Sizes to try: those given, smaller where they would take too long, and odd ones that tiles do not divide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kernlint.interpret.question import Fact
from kernlint.records import dataclass, replace
from kernlint.syntax.sizes import LEAST_LITERAL, MOST_LITERALS

#: Larger blocks only make odd sizes slow; a tail is a tail.
_LARGEST_BLOCK = 128
_LEAST_BLOCK = 16


@dataclass(frozen=True)
class SizeCase:
    """``sizes`` are the module-level constants to set; ``timed`` says that this is what a user would time; ``apart`` what of the tensor
    arguments lies apart in memory: ``rows``, ``elements`` or nothing."""

    name: str
    sizes: Mapping[str, int]
    timed: bool = False
    apart: str = ""


def assumed_sizes(facts: Iterable[Fact]) -> dict[str, int]:
    """The extents of the shapes among ``facts`` by a name for each; equal ones are one size."""
    extents = {extent for fact in facts for extent in fact.shape or () if extent is not None}
    kept = sorted((e for e in extents if e >= LEAST_LITERAL), reverse=True)[:MOST_LITERALS]
    return {f"SIZE_{extent}": extent for extent in sorted(kept)}


def resized(fact: Fact, sizes: Mapping[int, int]) -> Fact:
    """``fact`` with each extent, and each value that is one, as ``sizes`` has it."""
    shape = None if fact.shape is None else tuple(e if e is None else sizes.get(e, e) for e in fact.shape)
    number = fact.is_value and isinstance(fact.value, int) and not isinstance(fact.value, bool)
    value = sizes.get(fact.value, fact.value) if number else fact.value
    return replace(fact, shape=shape, value=value, size=None if fact.size is None else sizes.get(fact.size, fact.size))


def scaled(
    sizes: Mapping[str, int], affordable: Callable[[Mapping[str, int]], bool], least: int = 16
) -> dict[str, int]:
    """``sizes`` with the largest halved, again and again, until they are ``affordable`` or none is above ``least``. What
    was a multiple of 16 stays one, so that the same path of the kernel is taken."""
    now = dict(sizes)
    while not affordable(now):
        name = max(now, key=lambda n: now[n], default=None)
        if name is None or now[name] <= least:
            break
        half = now[name] // 2
        now[name] = max(least, half - half % 16 if half >= 16 and now[name] % 16 == 0 else half)
    return now


def odd_cases(small: Mapping[str, int], blocks: Iterable[int]) -> list[SizeCase]:
    """Cases around the tiles: all sizes odd at once; each one just above a tile, within a tile, and 1, the others ``small``.

    ``small`` are sizes that cost little; ``blocks`` the extents of tiles.
    """
    usable = [b for b in blocks if _LEAST_BLOCK <= b <= _LARGEST_BLOCK]
    block = max(usable, default=32)
    base = {name: min(value, block) for name, value in small.items()}
    cases = [SizeCase("all odd", {name: _odd(value, block, i) for i, (name, value) in enumerate(base.items())})]
    for index, (name, value) in enumerate(base.items()):
        if value >= _LEAST_BLOCK:
            cases.append(SizeCase(f"{name} above a tile", {**base, name: block + 3 + 2 * index}))
        if value > 4:
            cases.append(SizeCase(f"{name} below a tile", {**base, name: max(3, value // 2 - 1)}))
        if value > 1:
            cases.append(SizeCase(f"{name} = 1", {**base, name: 1}))
    unique: dict[tuple[tuple[str, int], ...], SizeCase] = {}
    for case in cases:
        unique.setdefault(tuple(case.sizes.items()), case)
    return list(unique.values())


def _odd(value: int, block: int, index: int) -> int:
    """A size near ``value`` that no tile divides, another one for each ``index``."""
    if value >= block:
        return block + 3 + 2 * index
    if value <= 2:
        return value
    return value - 1 if value % 2 == 0 else value - 2
