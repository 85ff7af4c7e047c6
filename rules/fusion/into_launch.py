"""Row statistics that torch computes for a kernel which holds those rows itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kernlint.records import dataclass
from kernlint.rules.dataflow import storages, tensors_of
from kernlint.rules.fusion.stepping import Place, needed_elsewhere, replaced, without_allocations
from kernlint.rules.fusion.torch_groups import Group, group_at
from kernlint.workload import Compute, Launch, Load, Node, Reduce, Step, Tensor, TorchOp, Workload, concrete
from kernlint.workload.expr import Expr, Lane


def absorbing_launch(workload: Workload, group: Group) -> Launch | None:
    """The launch that could compute what ``group`` does: it alone reads the group's results, one value for each row, and it
    loads whole rows of the one tensor that the group works on, outside of any loop."""
    ops = group.ops
    made = {t.storage.id for op in ops for t in op.writes}
    results = made - {t.storage.id for t in group.inner}
    if not group.reduces or len(group.reads) != 1 or len(results) != 1:
        return None
    launch = _reader(workload, ops, results)
    if launch is None or not launch.kernel.complete or launch.autotuned:
        return None
    # Nobody else may want the results: not the caller, nor a further step.
    if needed_elsewhere(workload, frozenset(results), {*(id(op) for op in ops), id(launch)}, launch, False):
        return None
    return launch if _rows_load(launch, group) is not None else None


def _reader(workload: Workload, ops: Sequence[TorchOp], results: set[int]) -> Launch | None:
    """The one launch in the straight run of steps behind ``ops`` that is passed the results."""
    steps = list(workload.steps)
    if not all(any(step is op for step in steps) for op in ops):
        return None
    last = next(i for i, step in enumerate(steps) if step is ops[-1])
    readers = [step for step in steps[last + 1 :] if isinstance(step, Launch) and storages(tensors_of(step)) & results]
    return readers[0] if len(readers) == 1 else None


def _rows_load(launch: Launch, group: Group) -> Load | None:
    """The load of ``launch`` that brings whole rows of the tensor which ``group`` reduces."""
    columns = concrete(group.shape[-1])
    for load in launch.kernel.body:
        if not isinstance(load, Load) or load.offset is None or columns is None or not load.shape:
            continue
        tensor = launch.tensor(load.base)
        if tensor is None or tensor.storage.id != group.reads[0].storage.id or not tensor.is_contiguous:
            continue
        dim = len(load.shape) - 1
        inner = Expr.atom(Lane(dim))
        start = load.offset - inner
        aligned = Lane(dim) not in start.atoms() and all(c % columns == 0 for c in start.terms.values())
        bounded = (inner, Expr.constant(columns)) in (load.mask or ())
        if aligned and (load.shape[dim] == columns or (bounded and load.shape[dim] >= columns)):
            return load
    return None


@dataclass(frozen=True)
class IntoLaunch:
    """The workload with the torch calls at ``places`` done by the launch that reads their results."""

    places: tuple[Place, ...]

    def __call__(self, workload: Workload) -> Workload:
        group = group_at(workload, self.places)
        launch = absorbing_launch(workload, group) if group is not None else None
        if group is None or launch is None:
            return workload
        gone: list[Step] = [*group.ops, launch]
        fused = replace(workload, steps=replaced(workload.steps, gone, _with_statistics(launch, group)))
        return without_allocations(fused, {t.storage.id for op in group.ops for t in op.writes})


def _with_statistics(launch: Launch, group: Group) -> Launch:
    """``launch`` with the arithmetic and reductions of ``group`` behind the load of the rows, without the loads of results."""
    rows = _rows_load(launch, group)
    assert rows is not None
    results = {t.storage.id for op in group.ops for t in op.writes}
    whole = next((n.elements for n, _ in group.fused.kernel.walk(Load)), 1)  # type: ignore[union-attr]
    nodes: list[Node] = []
    for node in group.fused.kernel.body:
        if isinstance(node, Compute):
            nodes.append(replace(node, elements=max(1, node.elements * rows.elements // whole)))
        elif isinstance(node, Reduce):
            nodes.append(replace(node, shape=rows.shape, axis=len(rows.shape) - 1, scalar=len(rows.shape) == 1))

    body: list[Node] = []
    for node in launch.kernel.body:
        tensor = launch.tensor(node.base) if isinstance(node, Load) else None
        if tensor is None or tensor.storage.id not in results:
            body.append(node)
        if node is rows:
            body += nodes
    arguments = {n: v for n, v in launch.arguments.items() if not (isinstance(v, Tensor) and v.storage.id in results)}
    return replace(launch, kernel=replace(launch.kernel, body=tuple(body)), arguments=arguments)
