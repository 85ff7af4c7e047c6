"""The sizes that a time depends on and nobody knows."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from operator import itemgetter

from kernlint.workload import Expr, Launch, Loop, Opaque, Repeat, Size, Step, Symbol, Tensor, TorchOp, Workload


def open_symbols(workload: Workload, known: dict[int, tuple[Step, tuple[str, ...]]] | None = None) -> tuple[str, ...]:
    """Names of the sizes that the time depends on and the source does not fix, in order of appearance. What is ``known`` of
    steps already, by their identity, is added to."""
    known = {} if known is None else known
    steps = workload.all_steps
    for step in [step for step in steps if id(step) not in known]:
        open_ones = (n for size in _sizes(step) if isinstance(size, Expr) for n in _symbols(size))
        known[id(step)] = step, tuple(dict.fromkeys(open_ones))
    found = map(itemgetter(1), map(known.__getitem__, map(id, steps)))
    return tuple(dict.fromkeys(chain.from_iterable(found)))


def _sizes(step: Step) -> Iterable[Size | None]:
    if isinstance(step, Repeat):
        yield step.count
    elif isinstance(step, Launch):
        yield from step.grid
        for node in step.kernel.nodes(Loop):
            yield node.trip
        for argument in step.arguments.values():
            if isinstance(argument, Tensor):
                yield from argument.shape or ()
    elif isinstance(step, TorchOp) and step.kind != "alloc":
        for tensor in (*step.reads, *step.writes):
            yield from tensor.shape or ()


def _symbols(expr: Expr) -> list[str]:
    found = []
    for atom in sorted(expr.atoms(), key=str):
        if isinstance(atom, Symbol):
            found.append(atom.name)
        elif isinstance(atom, Opaque) and atom.op == "unknown" and not atom.args:
            continue
    return found
