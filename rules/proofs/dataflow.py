"""What steps read and write, and which steps follow one another: the data flow that algorithm and launch rules prove."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kernlint.records import dataclass
from kernlint.workload import Access, Atomic, Launch, Load, Repeat, Step, Store, Tensor, TorchOp, Workload


def read_tensors(step: Step) -> list[Tensor]:
    """The tensors whose elements ``step`` reads; of a launch those that its kernel loads from (atomics read too)."""
    if isinstance(step, TorchOp):
        return list(step.reads)
    return _accessed(step, (Load, Atomic)) if isinstance(step, Launch) else []


def written_tensors(step: Step) -> list[Tensor]:
    """The tensors whose elements ``step`` writes; those that a torch call allocates or fills included."""
    if isinstance(step, TorchOp):
        return list(step.writes)
    return _accessed(step, (Store, Atomic)) if isinstance(step, Launch) else []


def tensors_of(step: Step) -> list[Tensor]:
    """The tensors that ``step`` is handed, whatever it does with them; none for a loop."""
    if isinstance(step, TorchOp):
        return [*step.reads, *step.writes]
    return [value for value in step.arguments.values() if isinstance(value, Tensor)] if isinstance(step, Launch) else []


def may_use(step: Step) -> tuple[set[int], set[int]]:
    """The storages that ``step`` may read and may write; of a loop those of all its steps."""
    if isinstance(step, Repeat):
        parts = [may_use(inner) for inner in step.body]
        return {s for reads, _ in parts for s in reads}, {s for _, writes in parts for s in writes}
    if isinstance(step, Launch):
        passed = storages(tensors_of(step))
        return passed, storages(written_tensors(step)) if step.kernel.complete else passed
    return storages(read_tensors(step)), storages(written_tensors(step))


@dataclass(frozen=True)
class Uses:
    """Which steps use which storage, in order: the ``readers`` and ``writers`` (as :func:`may_use` says, loops left out), the
    number of each step (by its identity) and the storages that torch calls of the workload ``made``."""

    readers: Mapping[int, list[Step]]
    writers: Mapping[int, list[Step]]
    numbers: Mapping[int, int]
    made: frozenset[int]


def uses(workload: Workload) -> Uses:
    """The :class:`Uses` of ``workload``; worked out once."""
    return workload.once(_uses)


def _uses(workload: Workload) -> Uses:
    readers: dict[int, list[Step]] = {}
    writers: dict[int, list[Step]] = {}
    numbers: dict[int, int] = {}
    made: set[int] = set()
    for number, (step, _) in enumerate(workload.walk()):
        numbers.setdefault(id(step), number)
        if isinstance(step, TorchOp):
            made.update(t.storage.id for t in step.writes if t.storage.span == step.span)
        if not isinstance(step, Repeat):
            for found, used in zip((readers, writers), may_use(step)):
                for storage in used:
                    found.setdefault(storage, []).append(step)
    return Uses(readers, writers, numbers, frozenset(made))


def _accessed(launch: Launch, kinds: tuple[type[Access], ...]) -> list[Tensor]:
    bases = dict.fromkeys(node.base for node in launch.kernel.nodes(kinds))
    return [tensor for base in bases if (tensor := launch.tensor(base)) is not None]


def storages(tensors: list[Tensor]) -> set[int]:
    """The ids of the storages behind ``tensors``."""
    return {tensor.storage.id for tensor in tensors}


def fed_by(workload: Workload, sources: Iterable[int]) -> set[int]:
    """The storages whose contents depend on those of ``sources`` (ids), themselves included."""
    found = set(sources)
    # What a loop is handed shows in its earlier iteration: the recorded one reads what that has made.
    steps = [inner for step in workload.all_steps for inner in (step, *_earlier(step))]
    moved = [(storages(read_tensors(step)), storages(written_tensors(step))) for step in steps]
    while True:
        before = len(found)
        for reads, writes in moved:
            if not reads.isdisjoint(found):
                found |= writes
        if len(found) == before:
            return found


def _earlier(step: Step) -> Iterator[Step]:
    """The steps of the iterations before the recorded ones, at any depth, of a loop; none of another step."""
    for inner in (*step.entered, *step.earlier) if isinstance(step, Repeat) else ():
        yield inner
        if isinstance(inner, Repeat):
            yield from inner.body
            yield from _earlier(inner)


def is_alloc(step: Step) -> bool:
    """Whether ``step`` only makes memory, with or without a first value in it."""
    return isinstance(step, TorchOp) and step.kind in ("alloc", "fill") and not step.reads
