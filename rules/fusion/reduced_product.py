"""A product that is written only for torch to reduce its rows: what one kernel would do, which keeps no product.

Two ways. *Running*: the blocks of columns become a loop of the kernel, which keeps the maxima or sums of its rows.
*Partial*: each program reduces its own tile, and torch reduces the few values of a row that are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from kernlint.records import dataclass
from kernlint.rules.fusion.pointwise import arithmetic, is_pointwise
from kernlint.rules.fusion.torch_groups import is_row_reduction
from kernlint.rules.proofs.dataflow import may_use, written_tensors
from kernlint.rules.proofs.element_indexing import broadcast_offset, placed, settled
from kernlint.rules.proofs.step_graph import (
    Place,
    needed_elsewhere,
    places_of,
    sequences,
    steps_at,
    without_allocations,
)
from kernlint.workload import (
    Atomic,
    Branch,
    Compute,
    Dot,
    Dtype,
    Expr,
    HostSync,
    Lane,
    Launch,
    Load,
    Loop,
    LoopIndex,
    Node,
    Opaque,
    ProgramId,
    Reduce,
    Scan,
    Size,
    Span,
    Step,
    Store,
    Tensor,
    TorchOp,
    Workload,
    concrete,
)
from kernlint.workload.dtype import FLOAT32
from kernlint.workload.expr import Atom, floordiv, lift, mod
from kernlint.workload.kernel import Access, rewrite
from kernlint.workload.steps import map_steps
from kernlint.workload.synthesis import arith, new_tensor

#: Reductions of which the values of two halves of a row give that of the whole.
_MERGEABLE = frozenset(
    {"sum", "mean", "prod", "amax", "amin", "max", "min", "any", "all", "logsumexp", "argmax", "argmin", "norm"}
    | {"vector_norm", "count_nonzero"}
)
#: Storage number of the values that are left of each row, apart from those of other changes.
_PARTIAL = 40


@dataclass(frozen=True)
class Tile:
    """Where the tile that ``store`` writes lies in the rows of ``columns`` elements: its lane ``axis`` walks along them.

    ``rows`` numbers the row, ``block`` the tile within it (zero where it has only one), ``grid_axis`` is the axis of the
    grid that alone counts the blocks, None where none does. ``blocks`` is how many there are.
    """

    store: Store
    axis: int
    columns: int
    rows: Expr
    block: Expr
    blocks: int
    grid_axis: int | None


@dataclass(frozen=True)
class ReducedProduct:
    """``launch`` writes a product that the calls of ``mapped`` change element by element and ``reduce`` reduces by rows.

    Where a launch reduces them, ``reducer`` is that and ``reduce`` the call that it amounts to. ``before`` are calls that only
    make what ``mapped`` reads, ``behind`` calls on the results that one program could do as well, ``places`` all the steps, in
    program order.
    """

    launch: Launch
    tile: Tile
    product: Tensor
    before: tuple[TorchOp, ...]
    mapped: tuple[TorchOp, ...]
    reduce: TorchOp
    reducer: TorchOp | Launch
    behind: tuple[TorchOp, ...]
    places: tuple[Place, ...]

    @property
    def steps(self) -> tuple[TorchOp | Launch, ...]:
        """The steps that are no longer needed, in the order of what they make."""
        return (*self.before, *self.mapped, self.reducer, *self.behind)


def reduced_products(workload: Workload) -> list[ReducedProduct]:
    """The products of ``workload`` that only a reduction of their rows reads, in program order."""
    places = places_of(workload)
    found = []
    for steps, looped in sequences(workload.steps):
        for position, step in enumerate(steps):
            if isinstance(step, Launch) and not looped and step.kernel.dots() and not step.kernel.assumed:
                one = _reduced(workload, steps, position, places)
                if one is not None:
                    found.append(one)
    return found


@dataclass(frozen=True)
class ReduceOnChip:
    """The workload with the product, which the first launch at ``places`` makes, reduced by it; ``running`` as in the
    module's text."""

    places: tuple[Place, ...]
    running: bool

    def __call__(self, workload: Workload) -> Workload:
        found = next((one for one in reduced_products(workload) if one.places == self.places), None)
        members = steps_at(workload, self.places)
        if found is None or members is None:
            return workload
        changed = _fused(found, self.running)
        if changed is None:
            return workload
        gone = [step for step in members if self.running or not any(step is op for op in found.behind)]

        def change(step: Step) -> Step | tuple[Step, ...] | None:
            if step is gone[-1]:
                return changed
            return None if any(step is one for one in gone) else step

        steps = map_steps(workload.steps, change)
        made = {t.storage.id for step in gone for t in written_tensors(step)}
        return without_allocations(replace(workload, steps=steps), made)


def can_run(found: ReducedProduct) -> bool:
    """Whether the blocks of a row can be a loop of the kernel."""
    return _fused(found, True) is not None


def can_leave(found: ReducedProduct) -> bool:
    """Whether the programs can leave a few values of each row to torch."""
    return found.tile.blocks > 1


# -- finding ----------------------------------------------------------------------------------------------------------


def _reduced(
    workload: Workload, steps: tuple[Step, ...], position: int, places: dict[int, Place]
) -> ReducedProduct | None:
    launch = steps[position]
    assert isinstance(launch, Launch)
    stores = [node for node, _ in launch.kernel.walk(Store) if isinstance(node, Store)]
    if not launch.kernel.complete or len(stores) != 1 or not any(node is stores[0] for node in launch.kernel.body):
        return None
    if any(True for _ in launch.kernel.walk((Atomic, Branch, Scan))):
        return None
    product = launch.tensor(stores[0].base)
    if product is None or not product.is_contiguous or product.numel is None:
        return None
    followed = _follow(steps, position, launch, product)
    if followed is None:
        return None
    mapped, reduce, reducer = followed
    columns = concrete((reduce.reads[0].shape or (0,))[-1])
    tile = _tile(launch, stores[0], columns) if columns else None
    if tile is None:
        return None
    members: list[Step] = [launch, *mapped, reducer]
    made = {product.storage.id, *(t.storage.id for op in mapped for t in op.writes)}
    if needed_elsewhere(workload, frozenset(made), {id(step) for step in members}, launch, False):
        return None
    before = _before(workload, steps, members, made)
    if _elements([*before, *mapped], tile, product) is None:
        return None
    behind = _behind(workload, steps, reduce, reducer, tile)
    members = sorted([*members, *before, *behind], key=lambda step: next(i for i, s in enumerate(steps) if s is step))
    if not _may_wait(steps, launch, members):
        return None
    return ReducedProduct(
        launch, tile, product, tuple(before), tuple(mapped), reduce, reducer, tuple(behind),
        tuple(places[id(m)] for m in members),
    )  # fmt: skip


def _follow(
    steps: tuple[Step, ...], position: int, launch: Launch, product: Tensor
) -> tuple[list[TorchOp], TorchOp, TorchOp | Launch] | None:
    """The calls that map the product element by element, the one that reduces its rows, and the step that this is; None where
    something else is done with it first."""
    current, mapped = product, list[TorchOp]()
    for step in steps[position + 1 :]:
        reads, writes = may_use(step)
        if current.storage.id not in reads | writes:
            continue
        if isinstance(step, Launch):
            reduction = _as_reduction(step, current)
            return (mapped, reduction, step) if reduction is not None else None
        if not isinstance(step, TorchOp) or not all(_whole(t, product) for t in step.reads if _same(t, current)):
            return None
        if is_row_reduction(step) and _same(step.reads[0], current):
            return (mapped, step, step) if step.name.rstrip("_") in _MERGEABLE else None
        if not is_pointwise(step) or not _whole(step.writes[0], product):
            return None
        mapped.append(step)
        current = step.writes[0]
    return None


def _as_reduction(launch: Launch, product: Tensor) -> TorchOp | None:
    """The torch call that ``launch`` amounts to, which loads each whole row of ``product`` once and reduces it to one value."""
    kernel = launch.kernel
    loads, stores, sums = ([node for node, _ in kernel.walk(kind)] for kind in (Load, Store, Reduce))
    if not kernel.complete or any(True for _ in kernel.walk((Atomic, Branch, Scan, Dot, Loop))):
        return None
    if not len(loads) == len(stores) == len(sums) == 1 or launch.autotuned:
        return None
    load, store, reduce = loads[0], stores[0], sums[0]
    assert isinstance(load, Load) and isinstance(store, Store) and isinstance(reduce, Reduce)
    source, out = launch.tensor(load.base), launch.tensor(store.base)
    if source is None or out is None or not _same(source, product) or not _whole(source, product) or out.numel is None:
        return None
    axis = len(load.shape) - 1
    lane = Expr.atom(Lane(axis))
    columns = (product.numel or 0) // max(1, out.numel)
    whole = load.shape[-1:] == (columns,) or (lane, lift(columns)) in (load.mask or ())
    if not load.mask_known or load.offset is None or store.offset is None or not whole or load.shape[-1] < columns:
        return None
    by_rows = load.offset == store.offset * columns + lane and store.shape in (load.shape[:-1], (*load.shape[:-1], 1))
    if not by_rows or out.numel * columns != product.numel or load.id not in reduce.depends & store.depends:
        return None
    if reduce.op not in _MERGEABLE or reduce.axis not in (axis, None if axis == 0 else axis) or not out.is_contiguous:
        return None
    rows = replace(product, shape=(out.numel, columns), strides=(columns, 1))
    return TorchOp(reduce.op, "reduce", (rows,), (out,), launch.span, launch.function, dims={"inner": 1})


def _same(a: Tensor, b: Tensor) -> bool:
    return a.storage.id == b.storage.id


def _whole(tensor: Tensor, product: Tensor) -> bool:
    """Whether ``tensor`` has as many elements as ``product``, in the order in which they lie."""
    return bool(tensor.is_contiguous) and tensor.numel == product.numel and concrete(tensor.offset) == concrete(0)


def _tile(launch: Launch, store: Store, columns: int) -> Tile | None:
    """How the tile of ``store`` lies in rows of ``columns`` elements; None where that is not plain from the offset."""
    if store.offset is None or not store.offset.is_followed or len(store.shape) < 2 or not store.mask_known:
        return None
    along = Expr({m: c for m, c in store.offset.terms.items() if c % columns})
    down = Expr({m: c // columns for m, c in store.offset.terms.items() if c % columns == 0})
    axes = [dim for dim in range(len(store.shape)) if along.coefficient(Lane(dim)) == 1]
    if len(axes) != 1 or any(isinstance(atom, Lane) and atom != Lane(axes[0]) for atom in along.atoms()):
        return None
    axis, width = axes[0], store.shape[axes[0]]
    rest = along - Expr.atom(Lane(axis))
    if {Lane(axis)} & (rest.atoms() | down.atoms()) or any(c % width for c in rest.terms.values()):
        return None
    if columns % width and (along, lift(columns)) not in (store.mask or ()):
        return None
    block = Expr({m: c // width for m, c in rest.terms.items()})
    blocks = -(-columns // width)
    if not block.terms:
        return Tile(store, axis, columns, down, block, 1, None) if blocks == 1 else None
    axis_of = next((a for a in range(3) if block == Expr.atom(ProgramId(a))), None)
    if axis_of is not None and (len(launch.grid) <= axis_of or concrete(launch.grid[axis_of]) != blocks):
        return None
    if axis_of is not None and ProgramId(axis_of) in down.atoms():
        axis_of = None
    return Tile(store, axis, columns, down, block, blocks, axis_of)


def _before(workload: Workload, steps: tuple[Step, ...], members: Sequence[Step], made: set[int]) -> list[TorchOp]:
    """The calls that make nothing but what ``members`` read, in program order: masks, positions."""
    taken: list[Step] = list(members)
    found: list[TorchOp] = []
    for step in reversed(steps[: max(i for i, s in enumerate(steps) if s is members[-1])]):
        if not isinstance(step, TorchOp) or len(step.writes) != 1 or any(step is one for one in taken):
            continue
        value = step.writes[0]
        positions = step.name == "arange" and not step.reads
        if not (positions or is_pointwise(step)) or value.storage.span != step.span or not value.is_contiguous:
            continue
        wanted = {t.storage.id for one in taken if isinstance(one, TorchOp) for t in one.reads}
        ids = {id(one) for one in taken}
        if value.storage.id not in wanted or value.storage.id in made:
            continue
        if needed_elsewhere(workload, frozenset({value.storage.id}), ids, step, False):
            continue
        taken.append(step)
        found.insert(0, step)
    return found


def _behind(
    workload: Workload, steps: tuple[Step, ...], reduce: TorchOp, reducer: Step, tile: Tile
) -> list[TorchOp]:  # fmt: skip
    """The calls that follow on the reduced rows and need no other program's."""
    current, found, rows = reduce.writes[0], list[TorchOp](), tile.rows
    if len(reduce.writes) != 1:
        return found
    position = next(i for i, step in enumerate(steps) if step is reducer)
    for step in steps[position + 1 :]:
        if current.storage.id not in set().union(*may_use(step)):
            continue
        if not isinstance(step, TorchOp) or not all(_same(t, current) or t.numel == 1 for t in step.reads):
            break
        done = {id(op) for op in (reducer, *found, step)}
        if needed_elsewhere(workload, frozenset({current.storage.id}), done, reducer, False):
            break
        if is_row_reduction(step) and len(step.writes) == 1:
            count = concrete((step.reads[0].shape or (0,))[-1])
            fewer = _lanes_reduced(rows, count, tile) if count else None
            if fewer is None or step.name.rstrip("_") not in _MERGEABLE:
                break
            rows = fewer
        elif not is_pointwise(step) or step.writes[0].numel != current.numel:
            break
        if step.writes[0].storage.span != step.span:
            break
        found.append(step)
        current = step.writes[0]
    return found


def _lanes_reduced(rows: Expr, count: int, tile: Tile) -> Expr | None:
    """The number of the group of ``count`` rows that a tile holds; None where it does not hold just one."""
    lanes = [atom for atom in rows.atoms() if isinstance(atom, Lane)]
    if len(lanes) != 1 or rows.coefficient(lanes[0]) != 1:
        return None
    rest = rows - Expr.atom(lanes[0])
    height = tile.store.shape[lanes[0].dim]
    bounded = (Expr.atom(lanes[0]), lift(count)) in (tile.store.mask or ())
    if any(c % count for c in rest.terms.values()) or not (height == count or (bounded and height > count)):
        return None
    return Expr({m: c // count for m, c in rest.terms.items()})


def _may_wait(steps: tuple[Step, ...], launch: Launch, members: Sequence[Step]) -> bool:
    """Whether the launch may run where the last of ``members`` stands: nothing in between changes what they read."""
    positions = [i for i, step in enumerate(steps) if any(step is one for one in members)]
    used = set().union(*(part for one in members for part in may_use(one)))
    for step in steps[positions[0] : positions[-1]]:
        if any(step is one for one in members) or (isinstance(step, TorchOp) and step.kind == "alloc"):
            continue
        if isinstance(step, HostSync) or may_use(step)[1] & used:
            return False
    return True


# -- the kernel that does it all --------------------------------------------------------------------------------------


@dataclass
class _Body:
    """What is done with a tile behind the product."""

    nodes: list[Node] = field(default_factory=list)
    arguments: dict[str, Tensor] = field(default_factory=dict)


def _elements(ops: Sequence[TorchOp], tile: Tile, product: Tensor) -> _Body | None:
    """The loads and the arithmetic of element by element ``ops`` in ``tile``; None where a layout is not known."""
    body = _Body()
    assert tile.store.offset is not None
    #: Element of each tensor that an op makes, where the tile has its element.
    places: dict[int, Expr] = {}
    for op in reversed(ops):
        out = op.writes[0]
        here = places.get(out.storage.id, tile.store.offset)
        for tensor in op.reads:
            offset = broadcast_offset(tensor, out.shape or (), here)
            if offset is None or tensor.dtype is None:
                return None
            if any(_same(tensor, one.writes[0]) for one in ops):
                places.setdefault(tensor.storage.id, offset + lift(tensor.offset))
            elif not _same(tensor, product):
                _read(body, tensor, tensor.dtype, offset, tile, op.span)
    for op in ops:
        offset = _by_rows(places.get(op.writes[0].storage.id, tile.store.offset), tile)
        if out_dtype := op.writes[0].dtype:
            body.nodes.append(arithmetic(op, _extent(offset, tile), out_dtype))
    return body


def _read(body: _Body, tensor: Tensor, dtype: Dtype, offset: Expr, tile: Tile, span: Span) -> None:
    place = placed(_by_rows(offset, tile), tile.store)
    if place is None:
        return
    name = f"operand{len(body.arguments)}"
    body.arguments[name] = tensor
    body.nodes.append(Load(1000 + len(body.nodes), name, dtype, place.shape, place.offset, place.mask, span))


def _by_rows(offset: Expr, tile: Tile) -> Expr:
    """``offset``, computed from that of the product, with divisions by whole rows undone."""
    assert tile.store.offset is not None
    along = Expr({m: c for m, c in tile.store.offset.terms.items() if c % tile.columns})

    def change(atom: Atom) -> Size | None:
        if not isinstance(atom, Opaque) or atom.op not in ("floordiv", "mod"):
            return None
        top, base = (arg.rewrite(change) for arg in atom.args)
        if not base.value or base.value % tile.columns:
            return None
        rest = Expr({m: c for m, c in top.terms.items() if c % tile.columns})
        if rest != along:
            return None
        rows = Expr({m: c // tile.columns for m, c in top.terms.items() if c % tile.columns == 0})
        high = base.value // tile.columns
        return floordiv(rows, high) if atom.op == "floordiv" else lift(mod(rows, high)) * tile.columns + along

    return offset.rewrite(change)


def _extent(offset: Expr, tile: Tile) -> int:
    """How many elements of the tile differ in ``offset``."""
    count, atoms = 1, settled(offset, tile.store).atoms()
    for dim, extent in enumerate(tile.store.shape):
        count *= extent if Lane(dim) in atoms else 1
    return count


def _fused(found: ReducedProduct, running: bool) -> tuple[Step, ...] | None:
    """The steps in place of the launch and the torch calls; None where that way is not open."""
    tile, launch, reduce = found.tile, found.launch, found.reduce
    store = tile.store
    work = _elements([*found.before, *found.mapped], tile, found.product)
    if work is None or (running and tile.blocks > 1 and tile.grid_axis is None):
        return None
    inner: list[Node] = [
        *work.nodes, *_own_arithmetic(found), Reduce(reduce.name, store.shape, tile.axis, False, store.depends, reduce.span, store.dtype)
    ]  # fmt: skip
    kept = [dim for dim in range(len(store.shape)) if dim != tile.axis]
    shape = tuple(store.shape[dim] for dim in kept)
    order: dict[Atom, Size] = {Lane(dim): Expr.atom(Lane(new)) for new, dim in enumerate(kept)}
    rows = tile.rows.substitute(order)
    mask = tuple(
        (a.substitute(order), b.substitute(order))
        for a, b in store.mask or () if Lane(tile.axis) not in a.atoms() | b.atoms()
    )  # fmt: skip
    arguments = {n: v for n, v in launch.arguments.items() if not (isinstance(v, Tensor) and _same(v, found.product))}
    arguments |= work.arguments
    place = Access(store.id, "reduced", FLOAT32, shape, rows, mask, store.span)
    body = launch.kernel.body
    at = next(i for i, node in enumerate(body) if node is store)
    if running:
        return _running(found, (*body[:at], *inner), body[at + 1 :], place, arguments)
    if tile.blocks == 1:
        return None  # the running way with a single round
    left = new_tensor(reduce.name, FLOAT32, (*(reduce.reads[0].shape or ())[:-1], tile.blocks), _PARTIAL)
    partial = Store(
        store.id, "reduced", FLOAT32, shape, rows * tile.blocks + tile.block.substitute(order), mask, store.span,
        depends=store.depends,
    )  # fmt: skip
    kernel = replace(launch.kernel, body=(*body[:at], *inner, partial, *body[at + 1 :]))
    first = replace(launch, kernel=kernel, arguments={**arguments, "reduced": left}, alternatives=())
    return first, replace(reduce, reads=(left,))


def _own_arithmetic(found: ReducedProduct) -> list[Node]:
    """What a launch does with each element of the product in front of its reduction."""
    if not isinstance(found.reducer, Launch):
        return []
    body = found.reducer.kernel.body
    count = next(node.elements for node in body if isinstance(node, Load))
    return [
        replace(node, elements=found.tile.store.elements)
        for node in body if isinstance(node, Compute) and node.elements == count
    ]  # fmt: skip


def _running(
    found: ReducedProduct, before: tuple[Node, ...], after: tuple[Node, ...], place: Access,
    arguments: dict[str, Tensor | Size | float | None],
) -> tuple[Step, ...]:  # fmt: skip
    tile, launch = found.tile, found.launch
    body: list[Node] = list(before)
    grid = launch.grid
    if tile.blocks > 1:
        assert tile.grid_axis is not None
        axis = tile.grid_axis
        fixed = [n for n in before if isinstance(n, Load) and ProgramId(axis) not in _atoms(n) and n.id < 1000]
        number = 1 + max((n.id for n, _ in launch.kernel.walk((Access, Loop, Dot))), default=0)  # type: ignore[union-attr]
        index: dict[Atom, Size] = {ProgramId(axis): Expr.atom(LoopIndex(number))}
        inside = rewrite(
            tuple(n for n in before if not any(n is one for one in fixed)), lambda node: _moved(node, index)
        )
        body = [*fixed, Loop(number, "range", tile.blocks, inside, found.reduce.span, None, True)]
        grid = tuple(1 if i == axis else extent for i, extent in enumerate(grid))
    rows, shape, offset = tile.rows, place.shape, place.offset
    mask = place.mask
    out = found.reduce.writes[0]
    count = max(1, place.elements)
    body.append(arith(count, found.reduce.span))
    for op in found.behind:
        out = op.writes[0]
        if op.kind != "reduce":
            body.append(arithmetic(op, count, out.dtype or FLOAT32))
            continue
        body.append(Reduce(op.name, shape, len(shape) - 1, True, frozenset(), op.span))
        fewer = _lanes_reduced(rows, concrete((op.reads[0].shape or (1,))[-1]) or 1, tile)
        assert fewer is not None
        rows, offset, shape, mask, count = fewer, fewer, (), None, 1
    result = Store(place.id, place.base, out.dtype or FLOAT32, shape, offset, mask, place.span)
    kernel = replace(launch.kernel, body=(*body, result, *after))
    return (
        replace(launch, kernel=kernel, grid=grid, arguments={**arguments, place.base: out}, alternatives=()),
    )  # fmt: skip


def _moved(node: Node, index: dict[Atom, Size]) -> Node:
    """``node`` with program numbers replaced by ``index`` in its addresses."""
    if not isinstance(node, Access):
        return node
    offset = node.offset.substitute(index) if node.offset is not None else None
    mask = tuple((a.substitute(index), b.substitute(index)) for a, b in node.mask) if node.mask is not None else None
    return replace(node, offset=offset, mask=mask)


def _atoms(load: Load) -> set[Atom]:
    return set(load.offset.atoms()) if load.offset is not None else {ProgramId(0), ProgramId(1), ProgramId(2)}
