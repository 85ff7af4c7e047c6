"""Matrix products written as rank-one updates: ``acc += column[:, None] * row[None, :]`` for one k after the other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from kernlint.records import dataclass
from kernlint.rules.proofs.sums_of_products import Product, Sum, product, sums
from kernlint.workload import Branch, Dtype, Expr, Launch, Load, Loop, LoopIndex, Size, concrete
from kernlint.workload.dtype import promote
from kernlint.workload.values import Value

#: The least extent of a tile that `tl.dot` takes.
_LEAST = 16


@dataclass(frozen=True)
class Axis:
    """The axis that the tiles of a product share: ``trip`` steps, each at a fixed distance from the one before in the memory of the
    column and of the row. ``loop`` goes through them; None where the compiler unrolls it."""

    trip: Size
    loop: Loop | None = None


@dataclass(frozen=True)
class OuterProduct:
    """A sum of products of a column (``m`` values) and a row (``n`` values), one each for ``pairs`` of loads in the body of the
    innermost of ``nest``, or in the kernel's body where there is no loop.

    ``product`` and ``total`` are the multiplication and the sum. All of the sum may be taken in another order, so that
    ``axis`` can be innermost: then each pair is a product of tiles.
    """

    nest: tuple[Loop, ...]
    pairs: tuple[tuple[Load, Load], ...]
    axis: Axis
    product: Value
    total: Value

    @property
    def column(self) -> Load:
        return self.pairs[0][0]

    @property
    def row(self) -> Load:
        return self.pairs[0][1]

    @property
    def m(self) -> int:
        return self.column.elements

    @property
    def n(self) -> int:
        return self.row.elements

    @property
    def dtype(self) -> Dtype:
        return promote(self.column.dtype, self.row.dtype)

    @property
    def times(self) -> tuple[str, ...]:
        """How often the outer product is added up: the extents whose product that is."""
        unrolled = [str(self.axis.trip)] if self.axis.loop is None else []
        taps = [str(len(self.pairs))] if len(self.pairs) > 1 else []
        return (*(str(loop.trip) for loop in self.nest), *unrolled, *taps)


def outer_products(launch: Launch) -> Iterator[OuterProduct]:
    """The sums of ``launch`` of outer products of two loaded vectors."""
    straight = not any(isinstance(node, (Loop, Branch)) for node in launch.kernel.body)
    for total in sums(launch.kernel):
        if not total.alone or not (total.nest or straight):
            continue
        made = [product(launch.kernel, term) for term in total.terms]
        # What follows the unrolled steps (a bias) is another matter; in a loop it is part of each round.
        outer = [*takewhile(_is_outer, made)]
        if outer and (len(outer) == len(made) or not total.nest):
            pairs = tuple(one.loads for one in outer if one is not None)
            found = _along_an_axis(launch, pairs, total.nest, total)
            if found is not None:
                yield found


def _is_outer(made: Product | None) -> bool:
    """Whether a column and a row are multiplied."""
    return (
        made is not None
        and [one.axes for one in made.factors] == [(0,), (1,)]
        and all(is_vector(load) and load.dtype.is_float and load.dtype.bits <= 32 for load in made.loads)
    )


def _along_an_axis(
    launch: Launch, pairs: tuple[tuple[Load, Load], ...], nest: tuple[Loop, ...], total: Sum
) -> OuterProduct | None:
    """The outer product with the axis that its tiles may share; None where nothing is long and regular enough."""
    column, row = pairs[0]
    for loop in reversed(nest):
        if loop.trip is None or _step(column, loop) is None or _step(row, loop) is None:
            continue
        if all(is_axis(loop, list(pair)) for pair in pairs):
            return OuterProduct(nest, pairs, Axis(loop.trip, loop), total.terms[0], total.total)
    for taps in range(1, len(pairs) // _LEAST + 1):
        sides = [[pair[side] for pair in pairs] for side in (0, 1)]
        if len(pairs) % taps == 0 and all(_progression(launch, loads, taps) for loads in sides):
            return OuterProduct(nest, pairs[:taps], Axis(len(pairs) // taps), total.terms[0], total.total)
    return None


def _progression(launch: Launch, loads: list[Load], taps: int) -> int | None:
    """The elements from each of ``loads`` to the one that comes ``taps`` later, where they are always the same."""
    offsets = [launch.kernel.likely_offset(load) for load in loads]
    steps = {None if a is None or b is None else (b - a).value for a, b in zip(offsets, offsets[taps:])}
    return steps.pop() if len(steps) == 1 else None


def is_axis(loop: Loop, loads: list[Load]) -> bool:
    """Whether ``loop`` may be the shared axis of the tiles of a product: long enough, each iteration at a fixed step from
    the one before."""
    trip = concrete(loop.trip)
    if loop.kind == "while" or loop.trip is None or (trip is not None and trip < _LEAST):
        return False
    return all(_walks(load, loop) for load in loads)


def is_vector(load: Load) -> bool:
    return load.offset is not None and load.elements >= _LEAST and max(load.shape) == load.elements


def _walks(load: Load, loop: Loop) -> bool:
    """Whether each iteration loads elsewhere, at a fixed step."""
    step = _step(load, loop)
    return step is not None and bool(step.terms)


def _step(load: Load, loop: Loop) -> Expr | None:
    """The elements from one iteration's address to the next one's; None where that changes."""
    return None if load.offset is None else load.offset.coefficient(LoopIndex(loop.id))
