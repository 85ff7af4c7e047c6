"""What is found of a kernel whatever the constexprs that nothing gives are.

A tile must have some extent to be followed at all, so each such constexpr is assumed to be the same number. What is found may
then rest on two of them being equal, or on one being as small, which only another reading of the kernel tells.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from kernlint.interpret.edits import Edits
from kernlint.rules.finding import Context, Variant
from kernlint.workload import Launch, Span

_Found = TypeVar("_Found")
#: How many numbers the other readings tell apart, powers of two from 16 on.
_NUMBERS = 8


def found_however_read(
    context: Context, launch: Launch, question: Callable[[Launch], Mapping[Span, _Found]]
) -> Mapping[Span, _Found]:
    """What ``question`` finds in ``launch`` by its place, where it finds something there too with other constexprs, unlike one
    another, in the place of those that were assumed."""
    found = question(launch)
    for other in _other_readings(context, launch) if found else ():
        places = question(other).keys() if other is not None else ()
        found = {place: one for place, one in found.items() if place in places}
    return found


def _other_readings(context: Context, launch: Launch) -> Iterator[Launch | None]:
    """``launch`` with the constexprs that were assumed rising from the smallest number, and falling from the largest, in the order
    of the parameters; None where that cannot be followed."""
    assumed = {text.partition(" = ")[0] for text in launch.kernel.assumed}
    names = [name for name in launch.constexprs if name in assumed]
    if not names:
        return
    place = context.workload.launches().index(launch)
    for order in (lambda i: i, lambda i: -1 - i):
        numbers = {(launch.span, name, 16 << order(i) % _NUMBERS) for i, name in enumerate(names)}
        workload = context.after(Variant(edits=Edits(options=frozenset(numbers))))
        launches = workload.launches() if workload is not None else []
        there = launches[place] if place < len(launches) else None
        yield there if there is not None and there.span == launch.span else None
