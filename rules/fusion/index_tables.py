"""Tensors that torch works out from indices and small operands on each call, for a kernel that could do so itself.

A distance matrix, a bias of slopes times distances, a causal mask: element i of such a tensor is arithmetic on i and on a
few values, which a kernel that knows which element it wants can do in registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from kernlint.records import dataclass
from kernlint.rules.fusion.pointwise import arithmetic, is_pointwise
from kernlint.rules.proofs.dataflow import may_use, storages
from kernlint.rules.proofs.element_indexing import broadcast_offset, settled
from kernlint.rules.proofs.step_graph import Place, places_of, steps_at, without_allocations
from kernlint.workload import Branch, Expr, Lane, Launch, Load, Loop, Node, Step, Store, Tensor, TorchOp, Workload
from kernlint.workload import dtype as dt
from kernlint.workload.kernel import Atomic
from kernlint.workload.steps import map_steps

#: How many times the elements of its operands a tensor must have to be worth forming anew wherever it is read.
_LEAST_SHARE = 4
#: Calls without operands whose elements follow from their places.
_FROM_PLACES = frozenset(
    {"arange", "linspace", "zeros", "ones", "full", "eye", "zeros_like", "ones_like", "full_like", "new_zeros"}
    | {"new_ones", "new_full"}
)
#: Calls that keep or drop an element by its place.
_TRIANGLES = frozenset({"tril", "triu"})
#: Ids of the loads that the change brings count up from here: no node of a kernel has them.
_FIRST_ID = 210_000


@dataclass(frozen=True)
class IndexTable:
    """``ops`` make ``table`` from indices and ``operands``; of all steps ``reader`` alone reads it, by ``loads``."""

    ops: tuple[TorchOp, ...]
    table: Tensor
    operands: tuple[Tensor, ...]
    reader: Launch
    loads: tuple[Load, ...]


def index_tables(workload: Workload) -> Iterator[IndexTable]:
    """The tensors of a call that its launches read and could form themselves."""
    returned = storages([*workload.outputs])
    for reader in workload.steps:
        if not isinstance(reader, Launch) or not reader.kernel.complete or reader.kernel.assumed:
            continue
        seen: set[int] = set()
        for load in reader.kernel.loads():
            tensor = reader.tensor(load.base)
            if tensor is None or tensor.storage.id in seen | returned:
                continue
            seen.add(tensor.storage.id)
            found = _table(workload, reader, tensor)
            if found is not None:
                yield found


def _table(workload: Workload, reader: Launch, tensor: Tensor) -> IndexTable | None:
    made = _made(workload, reader, tensor.storage.id)
    if made is None:
        return None
    ops, operands = made
    last = next(op for op in reversed(ops) if op.writes[0].storage.id == tensor.storage.id)
    table = last.writes[0]
    # Broadcast operands alone are the matter of other rules: something has to follow from the places of the elements.
    if not any(op.name.rsplit(".", 1)[-1] in _FROM_PLACES | _TRIANGLES for op in ops):
        return None
    count = table.numel
    if count is None or not table.is_contiguous or table.offset != 0 or tensor.offset != 0:
        return None
    sizes = [operand.numel for operand in operands]
    if any(size is None for size in sizes) or _LEAST_SHARE * sum(size or 0 for size in sizes) > count:
        return None
    storage = tensor.storage.id
    if any(
        step is not reader and all(step is not op for op in ops) and _touches(step, storage) for step in workload.steps
    ):
        return None
    loads = _loads(reader, storage)
    if loads is None or any(_operand_offset(operand, table, load) is None for load in loads for operand in operands):
        return None
    return IndexTable(_dropped(workload, reader, ops, storage), table, operands, reader, loads)


def _touches(step: Step, storage: int) -> bool:
    reads, writes = may_use(step)
    return storage in reads | writes


def _writers(workload: Workload) -> dict[int, list[tuple[int, Step]]]:
    """The steps that may write each storage, with their numbers."""
    found: dict[int, list[tuple[int, Step]]] = {}
    for number, step in enumerate(workload.steps):
        for storage in may_use(step)[1]:
            found.setdefault(storage, []).append((number, step))
    return found


def _numbers(workload: Workload) -> dict[int, int]:
    """The number of each step, by its identity."""
    return {id(step): number for number, step in reversed([*enumerate(workload.steps)])}


def _made(workload: Workload, reader: Launch, storage: int) -> tuple[list[TorchOp], tuple[Tensor, ...]] | None:
    """The calls before ``reader`` that make ``storage`` element by element, in order, and the tensors that they start from; None
    where another kind of step has to do with it."""
    end, all_writers = workload.once(_numbers)[id(reader)], workload.once(_writers)
    wanted, made = [storage], {storage}
    chosen: set[int] = set()
    operands: dict[int, Tensor] = {}
    while wanted:
        current = wanted.pop()
        writers = [step for number, step in all_writers.get(current, ()) if number < end]
        formed = all(isinstance(step, TorchOp) and _forms(step) for step in writers)
        if not writers or not formed:
            if current == storage:
                return None
            continue
        made.add(current)
        operands.pop(current, None)
        for op in writers:
            assert isinstance(op, TorchOp)
            chosen.add(id(op))
            for read in op.reads:
                if read.storage.id not in made and read.storage.id not in operands:
                    operands[read.storage.id] = read
                    wanted.append(read.storage.id)
    before = workload.steps[:end]
    ops = [step for step in before if id(step) in chosen]
    first = next(i for i, step in enumerate(before) if id(step) in chosen)
    # What they start from stays as it is until the kernel runs.
    changed = {s for step in before[first:] if id(step) not in chosen for s in may_use(step)[1]}
    if changed & {*operands, *made}:
        return None
    return [op for op in ops if isinstance(op, TorchOp)], tuple(operands.values())


def _forms(op: TorchOp) -> bool:
    name = op.name.rsplit(".", 1)[-1]
    places = op.kind == "fill" and not op.reads and len(op.writes) == 1 and name in _FROM_PLACES
    return places or name == "outer" or (is_pointwise(op) and op.writes[0].numel is not None)


def _loads(reader: Launch, storage: int) -> tuple[Load, ...] | None:
    """The loads by which ``reader`` reads ``storage``, at places that it works out itself; None where it does more with it."""
    names = {
        name for name, value in reader.arguments.items() if isinstance(value, Tensor) and value.storage.id == storage
    }
    if any(node.base in names for node, _ in reader.kernel.walk((Store, Atomic)) if isinstance(node, (Store, Atomic))):
        return None
    loads = tuple(load for load in reader.kernel.loads() if load.base in names)
    ids = {load.id for load in loads}
    fed = {operand.load for dot in reader.kernel.dots() for operand in (dot.a, dot.b)}
    known = all(load.offset is not None and not load.through and not load.tested for load in loads)
    used = any(load.through & ids for load, _ in reader.kernel.walk(Load) if isinstance(load, Load))
    return loads if loads and known and not used and not fed & ids else None


def _operand_offset(operand: Tensor, table: Tensor, load: Load) -> Expr | None:
    """Where the value of ``operand`` is that belongs to what ``load`` reads of ``table``."""
    if load.offset is None or table.shape is None or operand.dtype is None:
        return None
    offset = broadcast_offset(operand, table.shape, load.offset)
    return settled(offset, load) if offset is not None else None


def _dropped(workload: Workload, reader: Launch, ops: list[TorchOp], storage: int) -> tuple[TorchOp, ...]:
    """Those of ``ops`` whose results nothing but each other and the kernel's table needs."""
    gone = list(ops)
    returned = storages([*workload.outputs])
    while True:
        kept = [
            op
            for op in gone
            for made in [op.writes[0].storage.id]
            if made != storage
            and (made in returned or any(_touches(s, made) for s in workload.steps if all(s is not o for o in gone)))
        ]
        if not kept:
            return tuple(gone)
        gone = [op for op in gone if all(op is not one for one in kept)]


@dataclass(frozen=True)
class FormedFromIndices:
    """The workload with the table that the launch at ``reader`` reads by the argument of ``name`` formed where it is read."""

    reader: Place
    name: str

    def __call__(self, workload: Workload) -> Workload:
        steps = steps_at(workload, (self.reader,))
        found = next(
            (
                one
                for one in index_tables(workload)
                if steps is not None and one.reader is steps[0] and one.loads[0].base == self.name
            ),
            None,
        )
        if found is None:
            return workload

        def change(step: Step) -> Step | None:
            if any(step is op for op in found.ops):
                return None
            return _forming(found) if step is found.reader else step

        changed = replace(workload, steps=map_steps(workload.steps, change))
        return without_allocations(changed, {found.table.storage.id})


def formed(workload: Workload, found: IndexTable) -> FormedFromIndices:
    """The change that lets the reader of ``found`` form the table."""
    return FormedFromIndices(places_of(workload)[id(found.reader)], found.loads[0].base)


def _forming(found: IndexTable) -> Launch:
    """The reader of ``found`` with loads of the operands and the arithmetic in the place of each load of the table."""
    launch = found.reader
    arguments = {**launch.arguments, **{f"operand_{i}": tensor for i, tensor in enumerate(found.operands)}}
    body = launch.kernel.body
    for number, load in enumerate(found.loads):
        body = _inserted(body, load, _formed(found, load, number))
    return replace(launch, kernel=replace(launch.kernel, body=body), arguments=arguments)


def _formed(found: IndexTable, load: Load, number: int) -> list[Node]:
    nodes: list[Node] = []
    for i, operand in enumerate(found.operands):
        offset = _operand_offset(operand, found.table, load)
        assert offset is not None
        varies = any(isinstance(atom, Lane) for atom in _all_atoms(offset))
        id = _FIRST_ID + number * len(found.operands) + i
        dtype = operand.dtype or dt.FLOAT32
        nodes.append(
            Load(
                id,
                f"operand_{i}",
                dtype,
                load.shape if varies else (),
                offset,
                load.mask if varies else None,
                load.span,
            )
        )
    nodes += [arithmetic(op, load.elements, dt.FLOAT32) for op in found.ops if op.reads]
    return nodes


def _all_atoms(offset: Expr) -> Iterator[object]:
    """The atoms of ``offset``, those within quotients and remainders included."""
    for atom in offset.atoms():
        yield atom
        for part in getattr(atom, "args", ()):
            yield from _all_atoms(part)


def _inserted(body: tuple[Node, ...], load: Load, nodes: list[Node]) -> tuple[Node, ...]:
    """``body`` with ``nodes`` in the place of ``load``, wherever it stands."""
    result: list[Node] = []
    for node in body:
        if isinstance(node, Loop):
            node = replace(node, body=_inserted(node.body, load, nodes))
        elif isinstance(node, Branch):
            node = replace(node, arms=tuple(_inserted(arm, load, nodes) for arm in node.arms))
        result += nodes if isinstance(node, Load) and node.id == load.id else [node]
    return tuple(result)
