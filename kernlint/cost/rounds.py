"""What the rounds of a Python loop touch beside one of them: a round that works on a table, an expert or a head of its own finds
nothing in L2 that the rounds before it have left there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from kernlint.workload import Expr, Launch, Repeat, Step, Symbol, Tensor, TorchOp, concrete
from kernlint.workload.steps import walk_steps

#: What is there before the rounds. Other storages come from the allocator, which gives each round those of the one before.
_LASTING = frozenset({"input", "parameter", "constant"})


def touched_by_others(loop: Repeat, rounds: float, touched: Mapping[int, float]) -> dict[int, float]:
    """Bytes that all rounds of ``loop`` but one touch where a round touches ``touched``, by storage: of what they have in common none."""
    if not loop.earlier or rounds <= 1:
        return {}
    before, now = _starts(loop.earlier, loop.before, 0), _starts(loop.body, loop.round, 1)
    renewed = any(view.storage.origin in _LASTING for storage, (_, view) in before.items() if storage not in now)
    others: dict[int, float] = {}
    for storage, (start, view) in now.items():
        if storage in before:
            width = view.dtype.bytes if view.dtype is not None else 0
            apart: float = abs(start - before[storage][0]) * width
        else:
            apart = math.inf if renewed and view.storage.origin in _LASTING else 0
        if apart:
            others[storage] = min(apart, touched.get(storage, 0.0)) * (rounds - 1)
    return others


def _starts(steps: tuple[Step, ...], place: Symbol | None, number: int) -> dict[int, tuple[int, Tensor]]:
    """The first element that ``steps``, the round ``number`` of the ``place``, take of each storage, and the view that begins there."""
    found: dict[int, tuple[int, Tensor]] = {}
    for view in _views(steps):
        offset = view.offset
        if place is not None and isinstance(offset, Expr):
            offset = offset.substitute({place: Expr.constant(number)})
        start = concrete(offset)
        if start is not None and start < found.get(view.storage.id, (math.inf,))[0]:
            found[view.storage.id] = start, view
    return found


def _views(steps: tuple[Step, ...]) -> Iterator[Tensor]:
    """The tensors that ``steps`` work on."""
    for step, _ in walk_steps(steps):
        if isinstance(step, Launch):
            yield from (value for value in step.arguments.values() if isinstance(value, Tensor))
        elif isinstance(step, TorchOp) and step.kind != "alloc":
            yield from (*step.reads, *step.writes)
