"""Drop a torch call that only moves, converts, fills or picks: what a kernel could read or write where it lies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import ClassVar, Union

from kernlint.interpret.edits import Edits
from kernlint.operators.operator import Operator, Place, WhyNot
from kernlint.records import dataclass
from kernlint.rules.finding import Context, Variant, tensor_name
from kernlint.rules.proofs.dataflow import storages, written_tensors
from kernlint.rules.proofs.indices import always_run
from kernlint.rules.proofs.liveness import next_user, overwrites, uses
from kernlint.rules.proofs.operand_layout import consumers
from kernlint.workload import Dtype, Launch, Repeat, Span, Step, Store, Tensor, TorchOp, Workload, concrete
from kernlint.workload.dtype import promote
from kernlint.workload.steps import MORE_THAN_A_COPY

_EXPANSIONS = frozenset({"repeat_interleave", "repeat", "tile"})
_COPIES = ("copy", "transpose", "cast")


@dataclass(frozen=True)
class Call(Place):
    """A torch call, with the Python loops around it."""

    op: TorchOp
    loops: tuple[Repeat, ...]


@dataclass(frozen=True)
class Skipped:
    """``op`` copies or converts what kernels alone read: they can read the original."""

    op: TorchOp


@dataclass(frozen=True)
class Unfilled:
    """``op`` fills what ``launch`` overwrites before anything reads it."""

    op: TorchOp
    launch: Launch


@dataclass(frozen=True)
class Picked:
    """``op`` picks or repeats rows for launches alone, first ``reader``: they can load them through the index."""

    op: TorchOp
    reader: Launch


Proof = Union[Skipped, Unfilled, Picked]


class Drop(Operator[Call, Proof]):
    name: ClassVar[str] = "drop"
    causes: ClassVar[frozenset[str]] = frozenset({"copies", "round trips", "unused result", "launches step by step"})

    def sites(self, context: Context) -> Iterator[Call]:
        for op, loops in context.workload.walk():
            if isinstance(op, TorchOp) and (op.kind in ("fill", *_COPIES) or picks(op)):
                subject = f"`{op.name}` of `{subject_of(op)}`"
                yield Call(subject, op.span, op.function, "", op, loops)

    def check(self, context: Context, site: Call) -> Proof | WhyNot:
        if site.op.kind == "fill":
            return unfilled(context, site.op)
        found = skipped(context, site.op)
        return found if isinstance(found, Skipped) or not picks(site.op) else picked(context, site.op, site.loops)

    def apply(self, context: Context, proofs: Sequence[Proof]) -> Variant:
        return context.variant.then(
            Edits(
                skipped=frozenset(proof.op.span for proof in proofs if isinstance(proof, Skipped)),
                unfilled=frozenset(proof.op.span for proof in proofs if isinstance(proof, Unfilled)),
            ),
            without(proof.op for proof in proofs if isinstance(proof, Picked)),
        )


DROP = Drop()


def subject_of(op: TorchOp) -> str:
    """What ``op`` is done to, by name."""
    tensors = op.reads or op.writes
    return tensor_name(tensors[0], tensor_name(op.writes[0], "a result")) if tensors else "a result"


# -- fills ------------------------------------------------------------------------------------------------------------


def unfilled(context: Context, op: TorchOp) -> Unfilled | WhyNot:
    """The proof that ``op`` need only allocate: nothing looks at its memory before a launch has written all of it."""
    if op.reads or len(op.writes) != 1 or op.writes[0].storage.span != op.span:
        return WhyNot("it fills memory that was there before")
    tensor = op.writes[0]
    launch = next_user(context.workload, op, tensor.storage.id)
    if launch is None:
        return WhyNot("what touches its result next stands in another Python loop, or nothing does")
    if not isinstance(launch, Launch):
        return WhyNot(f"{_called(launch)} uses what it filled")
    if context.workload.numbers_read:
        return WhyNot(f"what `{launch.kernel.name}` writes may change with the numbers in tensors")
    if not overwrites(launch, tensor):
        return WhyNot(f"`{launch.kernel.name}` is not proven to write every element of it before reading any")
    if _leaves_for_others(context, launch):
        return WhyNot(f"`{launch.kernel.name}` may return before it has written everything, with other flags")
    return Unfilled(op, launch)


def _leaves_for_others(context: Context, launch: Launch) -> bool:
    """Whether the kernel, with flags that other callers may pass, returns before it has written everything."""
    if not context.workload.symbols:
        return False  # what it is called with is known
    kernel = context.program.open_kernel(launch.kernel)
    if kernel is None:
        return False
    surely = {store.span for store, _ in always_run(launch.kernel, Store)}
    perhaps = {store.span for store in kernel.stores()} - {store.span for store, _ in always_run(kernel, Store)}
    return kernel.may_leave or bool(surely & perhaps)


# -- copies -----------------------------------------------------------------------------------------------------------


def skipped(context: Context, op: TorchOp) -> Skipped | WhyNot:
    """The proof that kernels alone see what ``op`` makes of one tensor, so that they could do without it."""
    if op.kind not in _COPIES or len(op.reads) != 1 or len(op.writes) != 1:
        return WhyNot("it is no plain copy or conversion of one tensor")
    source, target = op.reads[0], op.writes[0]
    if op.kind == "cast" and source.dtype is None:
        return WhyNot(f"the type of `{subject_of(op)}` is not known: perhaps it has the wanted one already")
    if op.name in MORE_THAN_A_COPY:
        return WhyNot(f"`{op.name}` does more than copy")
    if source.storage.origin == "constant":
        return WhyNot("it copies a constant of the program")
    if target.shape is not None and all(extent == 1 for extent in target.shape):
        return WhyNot("it is a single number")
    readers = [reader for reader in consumers(context.workload, target.storage.id) if reader is not op]
    if op.name == "clone" and _read_in_a_loop(context, op, readers):
        return WhyNot("it is read in a Python loop, a later round of which may write to the original")
    if readers:
        return _for_kernels(context, op, readers)
    # Nothing in view reads it: it is what the call returns. A kernel that made the source could have written this type.
    if op.kind != "cast" or not any(t.storage.id == target.storage.id for t in context.workload.outputs):
        return WhyNot("no kernel reads what it makes")
    if not any(launch.accesses(source.storage.id, Store) for launch in context.launches()):
        return WhyNot("no kernel makes what it converts for the caller")
    return Skipped(op)


def _for_kernels(context: Context, op: TorchOp, readers: Sequence[Step]) -> Skipped | WhyNot:
    """The same for one whose result has ``readers``."""
    for reader in readers:
        if isinstance(reader, Launch):
            continue
        if not isinstance(reader, TorchOp) or isinstance(_droppable(context, reader), WhyNot):
            return WhyNot(f"{_called(reader)} reads what it makes too")
        if "cast" == reader.kind == op.kind and not _holds_all_of(op.writes[0].dtype, op.reads[0].dtype):
            return WhyNot(f"it rounds what {_called(reader)} converts again")
    for reader in readers:
        if isinstance(reader, Launch) and reader.accesses(op.writes[0].storage.id, Store):
            return WhyNot(f"`{reader.kernel.name}` writes to what it makes")
    return Skipped(op)


def _holds_all_of(wide: Dtype | None, narrow: Dtype | None) -> bool:
    """Whether each value of type ``narrow`` is one of type ``wide``."""
    return wide is not None and narrow is not None and promote(wide, narrow) == wide and wide.kind == narrow.kind


def _droppable(context: Context, op: TorchOp) -> Proof | WhyNot:
    return unfilled(context, op) if op.kind == "fill" else skipped(context, op)


def _read_in_a_loop(context: Context, op: TorchOp, readers: Iterable[Step]) -> bool:
    """Whether any of ``readers`` stands in a loop of the host that ``op`` stands outside of."""
    around = {id(step): len(loops) for step, loops in context.workload.walk()}
    return any(around.get(id(reader), 0) > around.get(id(op), 0) for reader in readers)


# -- picks ------------------------------------------------------------------------------------------------------------


def picks(op: TorchOp) -> bool:
    """Whether ``op`` picks or repeats rows: a gather, a repetition, or a copy of a view that shows the same rows often."""
    if not op.reads:
        return False
    source = op.reads[0]
    expanded = op.kind == "copy" and any(s == 0 and n != 1 for s, n in zip(source.strides or (), source.shape or ()))
    return copies_windows(op) or op.kind == "gather" or op.name.rsplit(".", 1)[-1] in _EXPANSIONS or expanded


def copies_windows(op: TorchOp) -> bool:
    """Whether ``op`` writes out elements of what it reads several times: columns of windows, a copy of a view that overlaps
    itself."""
    if len(op.reads) != 1 or len(op.writes) != 1:
        return False
    return op.name == "unfold" or (op.kind in ("copy", "transpose") and _overlaps(op.reads[0]))


def _overlaps(view: Tensor) -> bool:
    """Whether ``view`` has more elements than the memory that it spans, by strides of which none is zero."""
    sizes = view.extents
    strides = [concrete(stride) for stride in view.strides or ()]
    if sizes is None or len(sizes) != len(strides) or not all(s is not None and s > 0 for s in strides):
        return False
    return 1 + sum((n - 1) * s for n, s in zip(sizes, strides) if n and s) < prod(sizes)


def picked(context: Context, op: TorchOp, loops: tuple[Repeat, ...]) -> Picked | WhyNot:
    """The proof that launches alone read what ``op`` picks, in the same call."""
    if len(op.writes) != 1:
        return WhyNot("it makes more than one tensor")
    made = op.writes[0]
    if made.storage.id in storages([*context.workload.outputs]):
        return WhyNot("what it picks is returned")
    readers = [s for s, around in uses(context.workload, made.storage.id) if s is not op and around == loops]
    if not readers:
        return WhyNot("nothing beside it reads what it picks")
    for reader in readers:
        if not isinstance(reader, Launch):
            return WhyNot(f"{_called(reader)} uses what it picks too")
        if made.storage.id in storages(written_tensors(reader)):
            return WhyNot(f"`{reader.kernel.name}` writes to what it picks")
    first = readers[0]
    assert isinstance(first, Launch)
    return Picked(op, first)


# -- the program without ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WithoutOps:
    """The workload without the torch calls at ``ops``. What reads their results goes on reading as many bytes: of the originals,
    or of results that a former call has kept."""

    ops: frozenset[Span]

    def __call__(self, workload: Workload) -> Workload:
        def change(step: Step) -> Step | None:
            return None if isinstance(step, TorchOp) and step.span in self.ops else step

        return workload.mapped(change)


def without(ops: Iterable[TorchOp]) -> WithoutOps | None:
    """The transform that leaves ``ops`` out; None where there are none."""
    spans = frozenset(op.span for op in ops)
    return WithoutOps(spans) if spans else None


def _called(step: Step | Tensor) -> str:
    if isinstance(step, Launch):
        return f"`{step.kernel.name}`"
    return f"torch's `{step.name}`" if isinstance(step, TorchOp) else "a step that was not followed"
