"""Tiles that are alive while a kernel reduces another one: each thread keeps its part of them in registers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import accumulate

from kernlint.workload import Kernel
from kernlint.workload.dtype import BOOL
from kernlint.workload.values import Value, Values

#: What the lanes of a program do together; until it is done nothing behind it is worked on.
_TOGETHER = frozenset({"sum", "max", "min", "argmax", "argmin", "reduce", "cumsum", "cumprod", "associative_scan"})
#: The same numbers seen otherwise.
_SAME = frozenset({"axes", "reshape", "trans", "broadcast_to", "item"})


#: A loop (0: none), and the elements of a tile that is reduced in it.
Reduced = tuple[int, int]


def held(kernel: Kernel) -> Mapping[Reduced, float]:
    """The most words of tiles that are alive at once while a tile is reduced or scanned: those that were made from what was loaded and
    are used again later, what loops carry left out. Empty where values were not followed."""
    values = kernel.values
    return _held(values) if values is not None else {}


def _held(values: Values) -> Mapping[Reduced, float]:
    order = list(values)
    places = {value.id: place for place, value in enumerate(order)}
    ends: dict[int, int] = {}
    for place, value in enumerate(order):
        for region in value.region.around():
            ends[region.loop] = max(ends.get(region.loop, 0), place)
    loaded = values.reached(value for value in order if value.op == "load")
    words = [0.0] * (len(order) + 1)
    for place, value in enumerate(order):
        if value.id in loaded and value.shape and value.op not in _SAME and not _is_test(value):
            last = max((_last_use(values, value, user, places, ends) for user in _uses(values, value)), default=place)
            size = math.prod(value.shape) * (2 if value.dtype is not None and value.dtype.bits == 64 else 1)
            words[place] += size
            words[last] -= size
    tiles: set[Reduced] = set()
    most: dict[int, float] = {}
    for value, alive in zip(order, accumulate(words)):
        if value.op in _TOGETHER and value.id in loaded:
            loop = next((region.loop for region in value.region.around() if region.loop), 0)
            most[loop] = max(most.get(loop, 0.0), alive)
            tiles.add((loop, math.prod(values.operands(value)[0].shape)))
    return {tile: most[tile[0]] for tile in tiles}


def _is_test(value: Value) -> bool:
    """A tile of bits, which a thread keeps in few registers."""
    return value.dtype is not None and value.dtype == BOOL


def _uses(values: Values, value: Value) -> list[Value]:
    """What works on ``value``, seen otherwise or not. After a loop that is what it was at the end of the last turn, where it is used."""
    found: list[Value] = []
    for user in values.users(value):
        if user.op in _SAME:
            found += _uses(values, user)
        elif user.op != "exit" or (value.op != "phi" and values.users(user)):
            found.append(user)
    return found


def _last_use(values: Values, value: Value, user: Value, places: Mapping[int, int], ends: Mapping[int, int]) -> int:
    """Where ``user`` is done with ``value``: of a loop that ``value`` is made before, or that carries it on, at its end."""
    if user.op == "phi" and values.within(value, user.node):
        return ends[user.node]
    loops = [region.loop for region in user.region.around() if region.loop and not values.within(value, region.loop)]
    return max([places[user.id], *(ends[loop] for loop in loops)])
