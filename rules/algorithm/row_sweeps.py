"""Loops of one kernel that sweep the same addresses of memory, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.records import dataclass
from kernlint.workload import Expr, Kernel, Load, Loop, LoopIndex, Node, Reduce
from kernlint.workload.expr import lift


@dataclass(frozen=True)
class Sweep:
    """Two loops among the same statements, ``first`` before ``second``, and the loads of the same tile in both.

    ``pairs`` holds each load of the second that repeats one of the first. ``between`` are the nodes from the first loop to
    the second, ``after`` those that follow.
    """

    first: Loop
    second: Loop
    pairs: tuple[tuple[Load, Load], ...]
    between: tuple[Node, ...]
    after: tuple[Node, ...]


def sweeps(kernel: Kernel) -> Iterator[Sweep]:
    """Every pair of loops that run equally often and read at least one tile at the same addresses."""
    yield from _in_body(kernel.body)


def _in_body(body: tuple[Node, ...]) -> Iterator[Sweep]:
    loops = [(i, node) for i, node in enumerate(body) if isinstance(node, Loop)]
    for place, (i, first) in enumerate(loops):
        for j, second in loops[place + 1 :]:
            if first.trip is None or first.trip != second.trip:
                continue
            pairs = tuple(_repeated(first, second))
            if pairs:
                yield Sweep(first, second, pairs, body[i + 1 : j], body[j + 1 :])
    for _, loop in loops:
        yield from _in_body(loop.body)


def _repeated(first: Loop, second: Loop) -> Iterator[tuple[Load, Load]]:
    earlier = [node for node in first.body if isinstance(node, Load)]
    for load in second.body:
        if not isinstance(load, Load) or load.offset is None:
            continue
        index = lift(Expr.atom(LoopIndex(first.id)))
        here = load.offset.substitute({LoopIndex(second.id): index})
        if LoopIndex(first.id) not in here.atoms():
            continue
        for other in earlier:
            if (other.base, other.shape, other.offset) == (load.base, load.shape, here):
                yield other, load
                break


def reductions(nodes: tuple[Node, ...]) -> list[Reduce]:
    """The reductions among ``nodes`` themselves."""
    return [node for node in nodes if isinstance(node, Reduce)]
