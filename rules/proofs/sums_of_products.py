"""What a kernel adds up, over the rounds of loops, over unrolled steps or along an axis of a tile, and the products in such sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kernlint.records import dataclass
from kernlint.workload import Compute, Kernel, Load, Loop
from kernlint.workload.values import Value, Values

#: Operations that give back the values of their first operand, perhaps in another shape or type.
_SAME_VALUES = frozenset({"cast", "axes", "broadcast_to", "reshape", "trans"})
#: Operations that make tiles of zeros.
ZEROS = frozenset({"zeros", "zeros_like"})


@dataclass(frozen=True)
class Sum:
    """A value to which each round of the loops ``nest``, outermost first, adds ``terms``, and with which these loops do nothing else,
    so that the order of all rounds is free. Without loops it is what the source adds to zeros one after the other.

    ``total`` is the first addition, ``start`` what the sum begins with, ``end`` what it is behind the loops.
    """

    nest: tuple[Loop, ...]
    terms: tuple[Value, ...]
    total: Value
    start: Value
    end: Value

    @property
    def alone(self) -> bool:
        """Whether the innermost loop only loads and computes, so that it could be a loop over tiles."""
        return not self.nest or all(isinstance(node, (Load, Compute)) for node in self.nest[-1].body)


@dataclass(frozen=True)
class Factor:
    """A loaded tile that is multiplied; ``axes`` are those of the product that it lies along."""

    load: Load
    axes: tuple[int, ...]


@dataclass(frozen=True)
class Product:
    """``value``, made of two loaded tiles, of which the one that lies along an earlier axis comes first: their product, or the square of
    their difference."""

    value: Value
    factors: tuple[Factor, Factor]

    @property
    def loads(self) -> tuple[Load, Load]:
        return self.factors[0].load, self.factors[1].load


@dataclass(frozen=True)
class Contraction:
    """``total``, the sum over ``axis`` of ``tile``, which has three axes; each factor lies along it and one that is kept."""

    total: Value
    axis: int
    tile: Product

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tile.value.shape

    @property
    def kept(self) -> tuple[int, int]:
        """The axes that are kept, that of the first factor first."""
        first, second = (next(axis for axis in one.axes if axis != self.axis) for one in self.tile.factors)
        return first, second

    @property
    def extents(self) -> tuple[int, int, int]:
        """(m, n, k) of the product of [m, k] and [k, n] that has the same extents."""
        first, second = self.kept
        return self.shape[first], self.shape[second], self.shape[self.axis]


def contractions(kernel: Kernel, made: Callable[[Kernel, Value], Product | None]) -> list[Contraction]:
    """The sums of ``kernel`` over the axis that two loaded tiles share, of what is ``made`` of them in three dimensions."""
    return kernel.found(_contractions, made)


def _contractions(kernel: Kernel, made: Callable[[Kernel, Value], Product | None]) -> Iterator[Contraction]:
    values = kernel.values
    for total in values or ():
        if values is None or total.op != "sum" or not total.operands:
            continue
        axis, tile = values.setting(total, "axis"), made(kernel, values.operands(total)[0])
        if tile is None or len(tile.value.shape) != 3 or not isinstance(axis, int):
            continue
        axis %= 3
        along = {frozenset(one.axes) for one in tile.factors}
        if len(along) == 2 and all(len(axes) == 2 and axis in axes for axes in along):
            yield Contraction(total, axis, tile)


def sums(kernel: Kernel) -> list[Sum]:
    """The sums of ``kernel``, in program order; worked out once."""
    return kernel.found(_sums)


def _sums(kernel: Kernel) -> Iterator[Sum]:
    values = kernel.values
    if values is None:
        return
    loops = {loop.id: loop for loop in kernel.nodes(Loop)}
    in_loops: set[int] = set()
    for phi in values:
        if phi.op == "phi" and phi.node in loops:
            start, added = _added(values, values.operands(phi)[1])
            if start is phi and added and _goes_through(values, phi, added):
                in_loops |= {total.id for total, _ in added}
                nest, outer = _nest(values, phi)
                terms = tuple(term for _, term in added)
                end = next((user for user in values.users(outer) if user.op == "exit"), outer)
                yield Sum(tuple(loops[one] for one in nest), terms, added[0][0], values.operands(outer)[0], end)
    for value in values:
        if value.op == "+" and value.id not in in_loops and not any(user.op == "+" for user in values.users(value)):
            start, added = _added(values, value)
            if start.op in ZEROS:
                yield Sum((), tuple(term for _, term in added), added[0][0], start, value)


def _added(values: Values, end: Value) -> tuple[Value, list[tuple[Value, Value]]]:
    """What ``end`` is when nothing has been added to it, and the additions that make it, each with what it adds, in order."""
    found: list[tuple[Value, Value]] = []
    while end.op == "+":
        sides = values.operands(end)
        begun = [one for one in sides if one.op == "phi" or one.op in ZEROS] or [one for one in sides if one.op == "+"]
        before = begun[0] if begun else sides[0]
        found.append((end, sides[1] if before is sides[0] else sides[0]))
        end = before
    return end, found[::-1]


def _goes_through(values: Values, phi: Value, added: list[tuple[Value, Value]]) -> bool:
    """Whether a round looks at ``phi`` and what it becomes only to add the next term."""
    chain = [phi, *(total for total, _ in added)]
    read = [_readers(values, one, phi.node) for one in chain]
    return read == [*({total.id} for total, _ in added), {phi.id}]


def _readers(values: Values, value: Value, loop: int) -> set[int]:
    """The ids of what is made of ``value`` in ``loop``."""
    return {user.id for user in values.users(value) if values.within(user, loop)}


def _nest(values: Values, phi: Value) -> tuple[list[int], Value]:
    """The loops through which ``phi`` goes unchanged but by the innermost one, outermost first, and what the outermost carries."""
    nest = [phi.node]
    while True:
        outer = values.operands(phi)[0]
        end = values.operands(outer)[1] if outer.op == "phi" else None
        if end is None or end.op != "exit" or values.operands(end) != (phi,):
            return nest, phi
        if _readers(values, outer, outer.node) != {phi.id} or _readers(values, end, outer.node) != {outer.id}:
            return nest, phi
        nest.insert(0, outer.node)
        phi = outer


def product(kernel: Kernel, value: Value) -> Product | None:
    """``value`` as the product of two loaded tiles; None where it is anything else."""
    values, made = _resolved(kernel, value)
    return _of_two(kernel, made, values.operands(made)) if made.op == "*" else None


def squared_difference(kernel: Kernel, value: Value) -> Product | None:
    """``value`` as the square of the difference of two loaded tiles; None where it is anything else."""
    values, made = _resolved(kernel, value)
    if made.op != "*":
        return None
    sides = [_resolved(kernel, one)[1] for one in values.operands(made)]
    if any(one.op != "-" or len(one.operands) != 2 for one in sides):
        return None
    left, right = ([_factor(kernel, of, len(one.shape)) for of in values.operands(one)] for one in sides)
    return _of_two(kernel, made, values.operands(sides[0])) if left == right else None


def _resolved(kernel: Kernel, value: Value) -> tuple[Values, Value]:
    """``value`` before it was converted."""
    values = kernel.values
    assert values is not None
    while value.op == "cast":
        value = values.operands(value)[0]
    return values, value


def _of_two(kernel: Kernel, value: Value, operands: tuple[Value, ...]) -> Product | None:
    factors = [_factor(kernel, one, len(value.shape)) for one in operands]
    if len(factors) != 2 or factors[0] is None or factors[1] is None or factors[0].load is factors[1].load:
        return None
    first, second = sorted((factors[0], factors[1]), key=lambda one: sorted(one.axes) or [len(value.shape)])
    return Product(value, (first, second))


def _factor(kernel: Kernel, value: Value, rank: int) -> Factor | None:
    """``value``, an operand of arithmetic on tiles of ``rank`` axes, as a loaded tile; None where it is computed."""
    values = kernel.values
    assert values is not None
    axes = [dim + rank - len(value.shape) for dim, extent in enumerate(value.shape) if extent != 1]
    while value.op in _SAME_VALUES:
        inner = values.operands(value)[0]
        wide, before = ([extent for extent in one.shape if extent != 1] for one in (value, inner))
        if value.op == "broadcast_to":
            shift = len(value.shape) - len(inner.shape)
            kept = [dim + shift for dim, extent in enumerate(inner.shape) if extent != 1]
            axes = [axis for dim, axis in zip((d for d, e in enumerate(value.shape) if e != 1), axes) if dim in kept]
        elif value.op == "trans":
            order = _order(values, value)
            if order is None or len(before) != len(inner.shape):
                return None
            axes = [axis for _, axis in sorted(zip(order, axes))]
        elif wide != before:
            return None
        value = inner
    load = kernel.once(_loads).get(value.node) if value.op == "load" else None
    return Factor(load, tuple(axes)) if load is not None else None


def _order(values: Values, transposed: Value) -> list[int] | None:
    """Which axis of its operand each axis of ``transposed`` is; None where that is not written out."""
    given = [one.detail for one in values.operands(transposed)[1:]]
    order = list(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else given or [1, 0]
    return order if sorted(map(str, order)) == sorted(map(str, range(len(transposed.shape)))) else None


def _loads(kernel: Kernel) -> dict[int, Load]:
    """The loads of ``kernel`` by their ids."""
    return {load.id: load for load in kernel.loads()}
