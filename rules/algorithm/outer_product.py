"""Matrix products written as rank-one updates: ``acc += column[:, None] * row[None, :]`` for one k after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from kernlint.records import dataclass
from kernlint.rules.finding import Context
from kernlint.rules.source import assignments, bound_names, names_in, node_at
from kernlint.rules.synthesis import dot, from_load, iteration, lane
from kernlint.syntax.names import dotted_name
from kernlint.workload import Compute, Dtype, Expr, Launch, Load, Loop, LoopIndex, Node, Span, Store, Workload, concrete
from kernlint.workload.dtype import promote
from kernlint.workload.expr import Atom, Lane, Size, ceildiv, lift
from kernlint.workload.steps import map_configurations

#: The least extent of a tile that `tl.dot` takes.
_LEAST = 16


@dataclass(frozen=True)
class OuterProduct:
    """``loop`` adds the product of ``column`` (``m`` values) and ``row`` (``n`` values) to a tile in each iteration;
    ``product`` and ``total`` are the multiplication and the sum."""

    loop: Loop
    column: Load
    row: Load
    product: Compute
    total: Compute

    @property
    def m(self) -> int:
        return self.column.elements

    @property
    def n(self) -> int:
        return self.row.elements

    @property
    def dtype(self) -> Dtype:
        return promote(self.column.dtype, self.row.dtype)


def outer_products(launch: Launch) -> Iterator[OuterProduct]:
    """The loops of ``launch`` that may be sums of outer products of two loaded vectors."""
    for loop, _ in launch.kernel.walk(Loop):
        assert isinstance(loop, Loop)
        found = _outer_product(launch, loop)
        if found is not None:
            yield found


def is_written_so(context: Context, found: OuterProduct) -> bool:
    """Whether the source says that the product is one, of values without the accumulator, and that it is added to it."""
    loop = node_at(context, found.loop.span, cst.For)
    product = node_at(context, found.product.span, cst.BinaryOperation)
    if loop is None or product is None or not isinstance(product.operator, cst.Multiply):
        return False
    module = context.program.kernel
    for update in assignments(loop.body):
        names = bound_names(update)
        if len(names) != 1 or found.total.span not in {module.span(n) for n in (update, update.value) if n is not None}:
            continue
        (name,) = names
        added = _added(update, name)
        through = {n for one in assignments(loop.body) if one.value is product for n in bound_names(one)}
        return name not in names_in(product) and (added is product or dotted_name(added) in through)
    return False


def _added(update: cst.Assign | cst.AnnAssign | cst.AugAssign, name: str) -> cst.BaseExpression | None:
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


def _outer_product(launch: Launch, loop: Loop) -> OuterProduct | None:
    trip = concrete(loop.trip) if loop.trip is not None else None
    loads = [node for node in loop.body if isinstance(node, Load)]
    if loop.kind == "while" or loop.trip is None or (trip is not None and trip < _LEAST) or len(loads) != 2:
        return None
    if not all(isinstance(node, (Load, Compute)) for node in loop.body) or not all(map(_is_vector, loads)):
        return None
    if any(not load.dtype.is_float or load.dtype.bits > 32 for load in loads):
        return None
    if not all(_walks(load, loop) for load in loads):
        return None
    whole = loads[0].elements * loads[1].elements
    wide = [node for node in loop.body if isinstance(node, Compute) and node.elements == whole and node.kind != "cast"]
    if [node.kind for node in wide] != ["arith", "arith"]:
        return None
    for store, _ in launch.kernel.walk(Store):
        assert isinstance(store, Store)
        pair = _order(store, loads)
        if pair is not None:
            return OuterProduct(loop, *pair, *wide)
    return None


def _is_vector(load: Load) -> bool:
    return load.offset is not None and load.elements >= _LEAST and max(load.shape) == load.elements


def _walks(load: Load, loop: Loop) -> bool:
    """Whether each iteration loads elsewhere, at a fixed step."""
    assert load.offset is not None
    step = load.offset.coefficient(LoopIndex(loop.id))
    return step is not None and bool(step.terms)


def _order(store: Store, loads: list[Load]) -> tuple[Load, Load] | None:
    """The loads as (column, row) of the tile that ``store`` writes: where it moves with the indices behind them."""
    if store.offset is None or not store.depends.issuperset(load.id for load in loads):
        return None
    found = []
    for column, row in (loads, loads[::-1]):
        if store.shape != (column.elements, row.elements):
            continue
        rest: Expr | None = store.offset
        for dim, load in enumerate((column, row)):
            stride, index = store.stride(dim), _index(load, dim)
            rest = None if rest is None or stride is None or index is None else rest - lift(stride) * index
        if rest is not None and not any(isinstance(atom, Lane) for atom in rest.atoms()):
            found.append((len(rest.terms), column, row))
    if not found:
        return None
    _, column, row = min(found, key=lambda one: one[0])
    return column, row


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


@dataclass(frozen=True)
class BlockedProduct:
    """The workload with one sum of outer products as a loop over blocks of ``depth`` of them, each a dot."""

    launch: Span
    loop: Span
    depth: int

    def __call__(self, workload: Workload) -> Workload:
        return map_configurations(workload, self.launch, self._changed)

    def _changed(self, launch: Launch) -> Launch:
        found = next((one for one in outer_products(launch) if one.loop.span == self.loop), None)
        if found is None:
            return launch
        blocked = self._blocked(found)
        return launch.rewritten(lambda n: blocked if isinstance(n, Loop) and n.span == self.loop else n)

    def _blocked(self, found: OuterProduct) -> Node:
        loop, span = found.loop, found.product.span
        assert loop.trip is not None
        a, b = self._tile(found.column, loop, 1), self._tile(found.row, loop, 0)
        operands = from_load(a, 1, span, found.dtype), from_load(b, 0, span, found.dtype)
        product = dot(-span.line, found.m, found.n, self.depth, *operands, span)
        return replace(loop, trip=ceildiv(loop.trip, self.depth), body=(a, b, product))

    def _tile(self, load: Load, loop: Loop, depth_dim: int) -> Load:
        """``load`` with an axis for the iterations of a block."""
        axis = load.shape.index(load.elements)
        k = iteration(loop.id) * self.depth + lane(depth_dim)
        moved: dict[Atom, Size] = {Lane(axis): lane(1 - depth_dim), LoopIndex(loop.id): k}
        shape = (load.elements, self.depth) if depth_dim else (self.depth, load.elements)
        assert load.offset is not None and loop.trip is not None
        mask = tuple((left.substitute(moved), right.substitute(moved)) for left, right in load.mask or ())
        return replace(
            load, shape=shape, offset=load.offset.substitute(moved), mask=(*mask, (lift(k), lift(loop.trip)))
        )
