"""Launches that do what another one does, as those of generated layers: where nothing is found of the one, nothing is of the others."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from kernlint.interpret.host.journal import alike
from kernlint.workload import Launch

_T = TypeVar("_T")


def found_in(
    launches: Iterable[Launch],
    look: Callable[[Launch], Iterable[_T]],
    beside: Callable[[Launch], Hashable] = lambda launch: None,
) -> Iterator[_T]:
    """What ``look`` finds of each of ``launches`` by its kernel, grid and arguments, and what stands ``beside`` it, alone."""
    nothing: set[Hashable] = set()
    for launch in launches:
        kind = _kind(launch, beside)
        if kind is None or kind not in nothing:
            found = list(look(launch))
            if kind is not None and not found:
                nothing.add(kind)
            yield from found


def _kind(launch: Launch, beside: Callable[[Launch], Hashable]) -> Hashable | None:
    """What launches agree in that do the same, wherever they stand; None for one that may do one of several things."""
    if launch.alternatives or launch.open_constexprs or launch.premises:
        return None
    kind = launch.work, alike(list(launch.arguments.values()), {}), beside(launch)
    try:
        hash(kind)
    except TypeError:  # an argument that is a list, say
        return None
    return kind
