"""The sizes that a time depends on and nobody knows."""

from __future__ import annotations

from collections.abc import Iterable

from kernlint.workload import Expr, Launch, Loop, Repeat, Size, Step, Symbol, Tensor, TorchOp, Workload


def open_symbols(workload: Workload, closed: dict[int, Step] | None = None) -> tuple[str, ...]:
    """Names of the sizes that the time depends on and the source does not fix, in order of appearance. Steps in ``closed`` have
    none; others that turn out to have none are added, by their identity."""
    closed = {} if closed is None else closed
    names: dict[str, None] = {}
    for step in [one for one in workload.all_steps if id(one) not in closed]:
        atoms = (atom for size in _sizes(step) if isinstance(size, Expr) for atom in sorted(size.atoms(), key=str))
        found = [atom.name for atom in atoms if isinstance(atom, Symbol)]
        names.update(dict.fromkeys(found))
        if not found:
            closed[id(step)] = step
    return tuple(names)


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
