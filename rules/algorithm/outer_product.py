"""Matrix products written as rank-one updates: ``acc += column[:, None] * row[None, :]`` for one k after the other."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kernlint.records import dataclass
from kernlint.rules.finding import Context
from kernlint.rules.proofs.source_text import assignments, bound_names, names_in, node_at
from kernlint.syntax.names import dotted_name
from kernlint.workload import (
    Branch,
    Compute,
    Dtype,
    Expr,
    Launch,
    Load,
    Loop,
    LoopIndex,
    Node,
    Span,
    Store,
    concrete,
)
from kernlint.workload.dtype import promote
from kernlint.workload.expr import Lane, Size, lift
from kernlint.workload.synthesis import lane

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
    product: Compute
    total: Compute

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
    """The loops of ``launch`` that may be sums of outer products of two loaded vectors."""
    if not any(isinstance(node, (Loop, Branch)) for node in launch.kernel.body):
        found = _outer_product(launch, launch.kernel.body, ())
        if found is not None:
            yield found
    for loop, around in launch.kernel.walk(Loop):
        assert isinstance(loop, Loop)
        if all(isinstance(node, (Load, Compute)) for node in loop.body):
            found = _outer_product(launch, loop.body, (*around, loop))
            if found is not None:
                yield found


def is_outer_product(context: Context, launch: Launch, found: OuterProduct) -> bool:
    """Whether the source says that the product is one, of values without the accumulator, and that it is added to it."""
    scope: cst.CSTNode | None
    if found.nest:
        scope = node_at(context, found.nest[-1].span, cst.For)
    else:
        scope = node_at(context, launch.kernel.span, cst.FunctionDef)
    return scope is not None and is_written_so(context, scope, found.product, found.total)


def is_written_so(context: Context, scope: cst.CSTNode, multiplied: Compute, total: Compute) -> bool:
    """Whether ``multiplied`` is a product that ``total`` adds to an accumulator which is not in it, in ``scope``."""
    product = node_at(context, multiplied.span, cst.BinaryOperation)
    if product is None or not isinstance(product.operator, cst.Multiply):
        return False
    module = context.program.kernel
    for update in assignments(scope):
        names = bound_names(update)
        if len(names) != 1 or total.span not in {module.span(n) for n in (update, update.value) if n is not None}:
            continue
        (name,) = names
        added = added_to(update, name)
        through = {n for one in assignments(scope) if one.value is product for n in bound_names(one)}
        return name not in names_in(product) and (added is product or dotted_name(added) in through)
    return False


def added_to(update: cst.Assign | cst.AnnAssign | cst.AugAssign, name: str) -> cst.BaseExpression | None:
    """What ``update`` adds to ``name``; None where it does something else."""
    if isinstance(update, cst.AugAssign):
        return update.value if isinstance(update.operator, cst.AddAssign) else None
    return _other_term(update.value, name)


def _other_term(value: cst.BaseExpression | None, name: str) -> cst.BaseExpression | None:
    """``x`` of ``name + x`` and ``x + name``."""
    if not isinstance(value, cst.BinaryOperation) or not isinstance(value.operator, cst.Add):
        return None
    if dotted_name(value.left) == name:
        return value.right
    return value.left if dotted_name(value.right) == name else None


def _outer_product(launch: Launch, body: tuple[Node, ...], loops: tuple[Loop, ...]) -> OuterProduct | None:
    """The outer products that ``body``, which stands in ``loops``, adds up."""
    places: dict[Span, list[Load]] = {}
    for node in body:
        if isinstance(node, Load) and (loops or is_vector(node)):
            places.setdefault(node.span, []).append(node)
    counts = {len(loads) for loads in places.values()}
    if len(places) != 2 or len(counts) != 1 or not all(is_vector(load) for loads in places.values() for load in loads):
        return None
    (first, *_), (second, *_) = loads = tuple(places.values())
    if any(not load.dtype.is_float or load.dtype.bits > 32 for load in (first, second)):
        return None
    whole = first.elements * second.elements
    wide = [node for node in body if isinstance(node, Compute) and node.elements == whole and node.kind != "cast"]
    if not loops:  # what follows the unrolled loop (a bias) is another matter
        wide = wide[: 2 * len(loads[0])]
    product, total = wide[:2] if len(wide) == 2 * len(loads[0]) else (None, None)
    if product is None or total is None or any(node.kind != "arith" for node in wide):
        return None
    if any(node.span != (product, total)[index % 2].span for index, node in enumerate(wide)):
        return None
    for store, _ in launch.kernel.walk(Store):
        assert isinstance(store, Store)
        order = _order(store, [first, second])
        if order is None:
            continue
        pairs = tuple(zip(*(loads if order[0] is first else loads[::-1])))
        return _along_an_axis(launch, pairs, _nest(loops, whole), product, total)
    return None


def _along_an_axis(
    launch: Launch, pairs: tuple[tuple[Load, Load], ...], nest: tuple[Loop, ...], product: Compute, total: Compute
) -> OuterProduct | None:
    """The outer product with the axis that its tiles may share; None where nothing is long and regular enough."""
    column, row = pairs[0]
    for loop in reversed(nest):
        if loop.trip is None or _step(column, loop) is None or _step(row, loop) is None:
            continue
        if all(is_axis(loop, list(pair)) for pair in pairs):
            return OuterProduct(nest, pairs, Axis(loop.trip, loop), product, total)
    for taps in range(1, len(pairs) // _LEAST + 1):
        sides = [[pair[side] for pair in pairs] for side in (0, 1)]
        if len(pairs) % taps == 0 and all(_progression(launch, loads, taps) for loads in sides):
            return OuterProduct(nest, pairs[:taps], Axis(len(pairs) // taps), product, total)
    return None


def _progression(launch: Launch, loads: list[Load], taps: int) -> int | None:
    """The elements from each of ``loads`` to the one that comes ``taps`` later, where they are always the same."""
    offsets = [launch.kernel.likely_offset(load) for load in loads]
    steps = {None if a is None or b is None else (b - a).value for a, b in zip(offsets, offsets[taps:])}
    return steps.pop() if len(steps) == 1 else None


def _nest(loops: tuple[Loop, ...], whole: int) -> tuple[Loop, ...]:
    """The innermost of ``loops`` and those around it that do nothing but run it again, with the sum going round all of them:
    their order is free."""
    nest = list(loops[-1:])
    for loop in reversed(loops[:-1]):
        others = [node for node in loop.body if node is not nest[0]]
        if not loop.carried or any(not isinstance(n, Compute) or n.elements >= whole for n in others):
            break
        nest.insert(0, loop)
    return tuple(nest)


def is_axis(loop: Loop, loads: list[Load]) -> bool:
    """Whether ``loop`` may be the shared axis of the tiles of a product: long enough, each iteration at a fixed step from
    the one before."""
    trip = concrete(loop.trip) if loop.trip is not None else None
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


def _order(store: Store, loads: list[Load]) -> tuple[Load, Load] | None:
    """The loads as (column, row) of the tile that ``store`` writes: by their lengths, or where the tile is square, by the
    indices behind them that it moves with."""
    if store.offset is None or not store.depends.issuperset(load.id for load in loads):
        return None
    fitting = [(a, b) for a, b in (loads, loads[::-1]) if store.shape == (a.elements, b.elements)]
    if len(fitting) == 1:
        return fitting[0]
    found = []
    for column, row in fitting:
        placed = [_without_index(store, load, dim) for dim, load in enumerate((column, row))]
        rests = [rest for rest in placed if rest is not None]
        if rests:
            found.append((-len(rests), sum(len(rest.terms) for rest in rests), column, row))
    if not found:
        return None
    *_, column, row = min(found, key=lambda one: one[:2])
    return column, row


def _without_index(store: Store, load: Load, dim: int) -> Expr | None:
    """The address of ``store`` without what the index behind ``load`` adds along ``dim``; None where it does not move so."""
    stride, index = store.stride(dim), _index(load, dim)
    if stride is None or index is None or store.offset is None:
        return None
    rest = store.offset - lift(stride) * index
    return None if Lane(dim) in rest.atoms() else rest


def _index(load: Load, dim: int) -> Expr | None:
    """The index along the one axis of ``load``, as lane ``dim`` of a larger tile; None where its stride does not divide
    the address."""
    axis = load.shape.index(load.elements)
    stride = concrete(load.stride(axis))
    if not stride or load.offset is None:
        return None
    terms = {m: c for m, c in load.offset.terms.items() if not any(isinstance(a, LoopIndex) for a in m)}
    whole = Expr({m: c // stride for m, c in terms.items() if c % stride == 0})
    return whole.substitute({Lane(axis): lane(dim)})
