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


def held(kernel: Kernel) -> Mapping[tuple[int, int], float]:
    """The most words that are alive at once while a tile is reduced or scanned, by the loop (0: none) and the elements of that tile: of
    tiles that were made from what was loaded, and are used again later or in the next turn of a loop. Empty where values were not
    followed."""
    return _held(kernel.values) if kernel.values is not None else {}


def _held(values: Values) -> Mapping[tuple[int, int], float]:
    order = list(values)
    places = {value.id: place for place, value in enumerate(order)}
    ends = {region.loop: place for place, value in enumerate(order) for region in value.region.around()}
    loaded = values.reached(value for value in order if value.op == "load")
    words = [0.0] * (len(order) + 1)
    most: dict[int, float] = {}
    for place, value in enumerate(order):
        if value.id in loaded and value.shape and value.op not in _SAME and value.dtype != BOOL:
            size = math.prod(value.shape) * (2 if value.dtype is not None and value.dtype.bits == 64 else 1)
            users = _users(values, value)
            loops = {
                region.loop
                for user in users
                for region in (user.region.around() if user.op != "phi" else ())
                if region.loop and not values.within(value, region.loop)
            }
            # What a loop uses stays to its end, and so does what it carries on.
            carried = [ends[user.node] for user in users if user.op == "phi" and values.within(value, user.node)]
            last = max([place, *carried, *(ends[loop] for loop in loops), *(places[user.id] for user in users)])
            words[place] += size
            words[last] -= size
    tiles: set[tuple[int, int]] = set()
    for value, alive in zip(order, accumulate(words)):
        if value.op in _TOGETHER and value.id in loaded:
            loop = next((region.loop for region in value.region.around() if region.loop), 0)
            most[loop] = max(most.get(loop, 0.0), alive)
            tiles.add((loop, math.prod(values.operands(value)[0].shape)))
    return {tile: most[tile[0]] for tile in tiles}


def _users(values: Values, value: Value) -> list[Value]:
    """What works on ``value``, seen otherwise or not. After a loop that is what it was at the end of the last turn, where it is used."""
    found: list[Value] = []
    for user in values.users(value):
        if user.op in _SAME:
            found += _users(values, user)
        elif user.op != "exit" or (value.op != "phi" and values.users(user)):
            found.append(user)
    return found
