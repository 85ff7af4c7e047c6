"""Which blocks of products have anything inside their masks: the others are work for nothing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from kernlint.cost.evaluate import Point, evaluator
from kernlint.cost.traffic.accesses import traffic
from kernlint.cost.traffic.probe import Probe, put
from kernlint.workload import Compute, Dot, Expr, Lane, Launch, Loop, LoopIndex, concrete
from kernlint.workload.expr import lift

#: Rounds of a program at which is asked whether its blocks have anything inside the masks.
_ROUNDS = 256


def kept_share(launch: Launch) -> tuple[float, float]:
    """The share of the products in whose blocks any lane is kept by the masks of ``tl.where`` that put zero or minus infinity elsewhere,
    and the rounds that are left to the program which is left most, over those that programs have in the mean. Worked out once for all
    launches of a kernel on tensors that look alike."""
    known = launch.kernel.launched
    key = "kept", launch.shapes
    if key not in known:
        known[key] = _kept_share(launch)
    found: tuple[float, float] = known[key]
    return found


def _kept_share(launch: Launch) -> tuple[float, float]:
    moved = traffic(launch)
    masks = [(node, loops) for node, loops in launch.kernel.walk(Compute) if node.keeps]
    if not masks:
        return 1.0, 1.0
    probe = Probe(launch.kernel, [concrete(extent) or 1 for extent in launch.grid])
    work = kept = 0.0
    longest = 0.0
    for dot, loops in launch.kernel.walk(Dot):
        rounds = math.prod(moved.trips.get(loop.id, 1.0) for loop in loops)
        share = most = 1.0
        for node, around in masks:
            if around == loops and rounds > 1:
                dots = [one for one, same in launch.kernel.walk(Dot) if same == loops and isinstance(one, Dot)]
                # The tiles of products and operands that are of so many elements: the mask is one's of them.
                tiles = {
                    tile for one in dots for tile in ((one.m, one.n), (one.m, one.k), (one.k, one.n))
                    if math.prod(tile) == node.elements
                }  # fmt: skip
                inside = max((_blocks_inside(node, tile, loops, probe) for tile in tiles), default=(1.0, 1.0))
                share, most = min((share, most), inside)
        work, kept = work + dot.flops * rounds, kept + dot.flops * rounds * share
        longest = max(longest, most)
    return (kept / work, longest) if work else (1.0, 1.0)


def _blocks_inside(node: Compute, tile: tuple[int, int], loops: tuple[Loop, ...], probe: Probe) -> tuple[float, float]:
    """The part of the rounds in whose ``tile`` the mask of ``node`` keeps any lane, of all programs and of the one with most of them.
    Bounds grow or fall along a lane, so that the corners tell; one that cannot be evaluated keeps all."""
    bounds = [evaluator(lift(probe.likely(right - left) or 0)) for left, right in node.keeps or ()]
    ends = [evaluator(lift(one.trip) - Expr.atom(LoopIndex(one.id))) for one in loops if isinstance(one.trip, Expr)]
    trip = max(1, math.ceil(probe.trips.get(loops[-1].id, 1.0)))
    count = min(trip, _ROUNDS)
    found, ran = [], []
    for point in probe.programs():
        inside = here = 0
        for step in range(count):
            put(point, LoopIndex(loops[-1].id), float(int((step + 0.5) / count * trip)))
            if any((value := end(point)) is not None and value <= 0 for end in ends):
                continue  # programs with few rounds do not go on to those of others
            here += 1
            inside += all(_anywhere(bound, point, tile) for bound in bounds)
        found.append(inside)
        ran.append(here)
    total = sum(ran)
    return (sum(found) / total, max(found) * len(ran) / total) if total else (1.0, 1.0)


def _anywhere(bound: Callable[[Point], float | None], point: Point, tile: tuple[int, int]) -> bool:
    """Whether ``bound`` is above zero at any corner of ``tile``."""
    for corner in itertools.product(*((0.0, extent - 1.0) for extent in tile)):
        for dim, lane in enumerate(corner):
            put(point, Lane(dim), lane)
        value = bound(point)
        if value is None or value > 0:
            return True
    return False
