"""Attention whose scores go through memory, found by data flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kernlint.records import dataclass, replace
from kernlint.rules.proofs.dataflow import is_alloc, read_tensors, storages, written_tensors
from kernlint.rules.proofs.operand_layout import operand_tensor
from kernlint.rules.proofs.step_graph import sequences
from kernlint.workload import (
    Atomic,
    Compute,
    Dot,
    Launch,
    Load,
    Reduce,
    Size,
    Span,
    Step,
    Store,
    Tensor,
    TorchOp,
    Workload,
    concrete,
)
from kernlint.workload.expr import lift

#: Largest head dimension for which a query tile, a key tile and an accumulator fit on chip.
_MAX_HEAD_DIM = 256
#: Torch calls on the way from scores to probabilities that a flash kernel does in registers.
_ELEMENTWISE = frozenset({"elementwise", "cast", "copy"})


@dataclass(frozen=True)
class Attention:
    """``softmax(q k^T) v`` whose [rows, columns] scores lie in memory on the way.

    ``steps`` are those from the first product to the second, in order; ``stored`` the tensors of scores and
    probabilities between them.
    """

    steps: tuple[Step, ...]
    stored: tuple[Tensor, ...]
    rows: Size
    columns: Size
    batch: Size
    head_dim: Size
    v: Tensor
    out: Tensor

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(step.span for step in self.steps)

    def launches(self) -> list[Launch]:
        return [step for step in self.steps if isinstance(step, Launch)]


@dataclass(frozen=True)
class _Scores:
    """A tensor that holds scores, or their probabilities once a softmax has read them; the steps that made it."""

    tensor: Tensor
    rows: Size
    columns: Size
    q: Tensor
    head_dim: Size
    steps: tuple[Step, ...]
    stored: tuple[Tensor, ...]
    probabilities: bool = False

    def then(self, step: Step, tensor: Tensor, probabilities: bool) -> _Scores:
        steps, stored = (*self.steps, step), (*self.stored, tensor)
        return replace(self, tensor=tensor, steps=steps, stored=stored, probabilities=probabilities)


def materialised_attention(workload: Workload) -> Iterator[Attention]:
    """Every chain product, softmax, product in the workload whose scores and probabilities nothing else reads."""
    for block, _ in sequences(workload.steps):
        yield from _in_block(workload, block)


def _in_block(workload: Workload, block: Sequence[Step]) -> Iterator[Attention]:
    held: dict[int, _Scores] = {}
    for step in block:
        if is_alloc(step):
            continue
        sources = [held[t.storage.id] for t in read_tensors(step) if t.storage.id in held]
        source = sources[0] if sources else None
        if source is not None:
            done = _second_product(step, source)
            if done is not None and _unread_elsewhere(workload, done):
                yield done
                held.pop(source.tensor.storage.id, None)
                continue
            following = _passed_on(step, source)
            if following is not None:
                held[following.tensor.storage.id] = following
                continue
        begun = _first_product(step)
        for tensor in written_tensors(step):
            held.pop(tensor.storage.id, None)
        if begun is not None:
            held[begun.tensor.storage.id] = begun


def _first_product(step: Step) -> _Scores | None:
    """The scores that ``step`` stores: a [.., rows, columns] tensor of dot products of rows of two other tensors."""
    if isinstance(step, TorchOp):
        if step.kind != "matmul" or len(step.reads) < 2 or len(step.writes) != 1:
            return None
        out, a = step.writes[0], step.reads[0]
        if out.shape is None or len(out.shape) < 2 or a.shape is None:
            return None
        return _Scores(out, out.shape[-2], out.shape[-1], a, a.shape[-1], (step,), (out,))
    if not isinstance(step, Launch) or not step.kernel.complete:
        return None
    found = _product(step)
    if found is None:
        return None
    node, store, out = found
    if store.stride(1) != 1 or out.shape is None or len(out.shape) < 2 or store.shape[-1] != node.n:
        return None
    q, k = operand_tensor(step, node.a), operand_tensor(step, node.b)
    if q is None or k is None or q.shape is None or q.storage.id == out.storage.id:
        return None
    scores = _Scores(out, out.shape[-2], out.shape[-1], q, q.shape[-1], (step,), (out,))
    return replace(scores, probabilities=_softmax(step, node.a.loads | node.b.loads))


def _product(step: Launch) -> tuple[Dot, Store, Tensor] | None:
    """The one dot of a kernel, the one store of what came of it, and where that goes."""
    dots, stores = step.kernel.dots(), step.kernel.stores()
    if len(dots) != 1 or len(stores) != 1 or step.kernel.has(Atomic):
        return None
    node, store = dots[0], stores[0]
    out = step.tensor(store.base)
    loads = node.a.loads | node.b.loads
    if out is None or not loads & store.depends or len(store.shape) != 2:
        return None
    return node, store, out


def _softmax(step: Launch, loads: frozenset[int]) -> bool:
    """Whether the kernel takes the maximum and a sum of exponentials over what came from ``loads``."""
    reductions = {node.op for node in step.kernel.nodes(Reduce) if node.depends & loads}
    exponential = any(node.kind == "special" for node in step.kernel.nodes(Compute))
    return {"max", "sum"} <= reductions and exponential


def _passed_on(step: Step, source: _Scores) -> _Scores | None:
    """What scores become by an elementwise step or a softmax: a tensor with as many elements."""
    outs = written_tensors(step)
    if len(outs) != 1 or outs[0].elements is None or outs[0].elements != source.tensor.elements:
        return None
    if isinstance(step, TorchOp):
        if step.kind == "softmax":
            return None if "log" in step.name else source.then(step, outs[0], True)
        return source.then(step, outs[0], source.probabilities) if step.kind in _ELEMENTWISE else None
    if not isinstance(step, Launch) or not step.kernel.complete or step.kernel.dots():
        return None
    loads = _loads_of(step, source)
    stores = step.kernel.stores()
    if not loads or len(stores) != 1 or not stores[0].depends & loads or step.kernel.has(Atomic):
        return None
    if _softmax(step, loads):
        return source.then(step, outs[0], True)
    reduces = step.kernel.has(Reduce)
    return None if reduces else source.then(step, outs[0], source.probabilities)


def _second_product(step: Step, source: _Scores) -> Attention | None:
    """The attention that ``step`` completes: a product of the probabilities with a further tensor."""
    if isinstance(step, TorchOp):
        if step.kind != "matmul" or not source.probabilities or len(step.reads) < 2:
            return None
        p, v = step.reads[:2]
        if p.storage.id != source.tensor.storage.id or v.storage.id == p.storage.id:
            return None
        return _attention(step, source, v, step.writes[0])
    if not isinstance(step, Launch) or not step.kernel.complete:
        return None
    found = _product(step)
    loads = _loads_of(step, source)
    if found is None or not loads & found[0].a.loads or loads & found[0].b.loads:
        return None
    # The softmax may stand in the kernel of the second product.
    if not source.probabilities and not _softmax(step, loads):
        return None
    values = operand_tensor(step, found[0].b)
    return _attention(step, source, values, found[2]) if values is not None else None


def _attention(step: Step, source: _Scores, v: Tensor, out: Tensor) -> Attention | None:
    numel, area = source.tensor.elements, lift(source.rows) * source.columns
    if numel is None or v.shape is None or len(v.shape) < 2 or out.shape is None:
        return None
    batch: Size = 1
    for extent in (source.tensor.shape or ())[:-2]:
        batch = batch * extent
    if area * batch != lift(numel) or any(t.dtype is None for t in (source.q, v, out)):
        return None
    return Attention(
        (*source.steps, step), tuple(dict.fromkeys(source.stored)), source.rows, source.columns, batch, source.head_dim, v, out,
    )  # fmt: skip


def _loads_of(step: Launch, source: _Scores) -> frozenset[int]:
    return frozenset(load.id for load in step.accesses(source.tensor.storage.id, Load))


def _unread_elsewhere(workload: Workload, found: Attention) -> bool:
    stored = storages(list(found.stored))
    if stored & (storages(list(workload.outputs)) | storages([found.out])):
        return False
    inside = set(found.spans)
    others = (step for step in workload.all_steps if step.span not in inside)
    return not any(stored & storages(read_tensors(step)) for step in others)


def supported(found: Attention) -> bool:
    """Whether a flash kernel holds the head dimension on chip (assumed where it is symbolic)."""
    head = concrete(found.head_dim)
    values = concrete((found.v.shape or (0,))[-1])
    return all(extent is None or 8 <= extent <= _MAX_HEAD_DIM for extent in (head, values))
