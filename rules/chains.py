"""Runs of steps that hand a tensor on and could be one launch, found in a workload, and the workload with them fused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from kernlint.rules.merging import Merge, merge
from kernlint.rules.pointwise import as_launch
from kernlint.workload import HostSync, Launch, Repeat, Span, Step, Store, Tensor, TorchOp, Workload
from kernlint.workload.kernel import Access, Atomic
from kernlint.workload.steps import map_steps


@dataclass(frozen=True)
class Place:
    """A step of the program, the same one in every version of it: the ``nth`` that stands at ``span``."""

    span: Span
    nth: int


@dataclass(frozen=True)
class Chain:
    """Steps that follow from each other and the one launch ``fused`` that could do their work.

    ``passed`` are the tensors that would no longer go through memory between them, without those in ``kept``, which
    something else reads; ``shared`` are read by several of the steps and then once.
    """

    steps: tuple[Launch | TorchOp, ...]
    places: tuple[Place, ...]
    fused: Launch
    passed: tuple[Tensor, ...]
    kept: tuple[Tensor, ...]
    shared: tuple[Tensor, ...]
    by_row: bool

    @property
    def launches(self) -> list[Launch]:
        return [step for step in self.steps if isinstance(step, Launch)]

    @property
    def torch_ops(self) -> list[TorchOp]:
        return [step for step in self.steps if isinstance(step, TorchOp)]

    @property
    def has_dot(self) -> bool:
        return any(launch.kernel.dots() for launch in self.launches)


def chains(workload: Workload) -> list[Chain]:
    """The longest chains with at least one Triton launch, in program order; no step is in two.

    A torch cast alone beside one launch is a copy that the kernel can make unnecessary rather than work to fuse, and is
    left out.
    """
    found = []
    places = _places(workload)
    for steps, looped in _sequences(workload.steps, False):
        taken: set[int] = set()
        for start in range(len(steps)):
            if start in taken:
                continue
            chain, members = _grown(workload, steps, start, places, looped)
            if chain is not None and not taken & set(members):
                found.append(chain)
                taken.update(members)
    return [chain for chain in found if _worth_telling(chain)]


@dataclass(frozen=True)
class Fuse:
    """The workload with the steps of a chain done by one launch; unchanged where they no longer form one."""

    places: tuple[Place, ...]

    def __call__(self, workload: Workload) -> Workload:
        numbered = {place: step for step, place in _numbered(workload)}
        members = [numbered.get(place) for place in self.places]
        if any(step is None for step in members):
            return workload
        places = _places(workload)
        for steps, looped in _sequences(workload.steps, False):
            indices = [i for member in members for i, step in enumerate(steps) if step is member]
            if len(indices) == len(members):
                chain, found = _grown(workload, steps, indices[0], places, looped, len(members))
                if chain is None or found != indices:
                    return workload
                fused = replace(workload, steps=_replaced(workload.steps, members, chain.fused))  # type: ignore[arg-type]
                return without_allocations(fused, {t.storage.id for t in chain.passed})
        return workload


def without_allocations(workload: Workload, storages: set[int]) -> Workload:
    """``workload`` without the allocation and clearing of those ``storages`` that no other step touches any more."""
    returned = {t.storage.id for t in workload.outputs}
    makers = [
        step for step, _ in workload.walk()
        if isinstance(step, TorchOp) and step.kind in ("alloc", "fill") and {t.storage.id for t in step.writes} <= storages
    ]  # fmt: skip
    used = set(returned)
    for step, _ in workload.walk():
        if not isinstance(step, Repeat) and not any(step is maker for maker in makers):
            used |= set().union(*_uses(step))
    gone = [maker for maker in makers if not used & {t.storage.id for t in maker.writes}]
    return replace(
        workload, steps=map_steps(workload.steps, lambda step: None if any(step is m for m in gone) else step)
    )


def _replaced(steps: tuple[Step, ...], members: list[Step], fused: Launch) -> tuple[Step, ...]:
    """``steps`` with ``fused`` in the place of the last of ``members`` and without the others, wherever they stand."""
    result: list[Step] = []
    for step in steps:
        if step is members[-1]:
            result.append(fused)
        elif any(step is member for member in members):
            continue
        elif isinstance(step, Repeat):
            result.append(replace(step, body=_replaced(step.body, members, fused)))
        else:
            result.append(step)
    return tuple(result)


# -- growing a chain --------------------------------------------------------------------------------------------------


@dataclass
class _Growth:
    fused: Launch
    members: list[int]
    merges: list[Merge] = field(default_factory=list)
    kept: dict[int, Tensor] = field(default_factory=dict)


def _grown(
    workload: Workload, steps: tuple[Step, ...], start: int, places: dict[int, Place], looped: bool, limit: int = 1000
) -> tuple[Chain | None, list[int]]:
    """The chain that begins at ``steps[start]``, of at most ``limit`` steps, and the positions of its members."""
    first = as_launch(steps[start])
    if first is None:
        return None, []
    growth = _Growth(first, [start])
    while len(growth.members) < limit and _extend(workload, steps, growth, looped):
        pass
    if not growth.merges:
        return None, []
    passed = tuple(t for m in growth.merges for t in m.passed if t.storage.id not in growth.kept)
    shared = {t.storage.id: t for m in growth.merges for t in m.shared}
    members = [steps[i] for i in growth.members]
    chain = Chain(
        tuple(members), tuple(places[id(step)] for step in members), growth.fused, passed,  # type: ignore[arg-type]
        tuple(growth.kept.values()), tuple(shared.values()), any(m.by_row for m in growth.merges),
    )  # fmt: skip
    return chain, growth.members


def _extend(workload: Workload, steps: tuple[Step, ...], growth: _Growth, looped: bool) -> bool:
    """Take the next step that uses what the chain has made into it, if it may."""
    written = _written(growth.fused) | {t.storage.id for m in growth.merges for t in m.passed}
    position = _next_user(steps, growth.members, growth.fused, written)
    guest = as_launch(steps[position]) if position is not None else None
    if position is None or guest is None:
        return False
    members = {id(steps[i]) for i in growth.members} | {id(steps[position])}
    needed = _needed(workload, written, members, steps[position], looped)
    merged = merge(growth.fused, guest, needed)
    # A tensor that others want stays in memory; only the rows of a split reduction are worth keeping at hand even so.
    if merged is None or (merged.kept and not merged.by_row):
        return False
    growth.fused = merged.launch
    growth.members.append(position)
    growth.merges.append(merged)
    for tensor in merged.passed:
        if tensor.storage.id in merged.kept:
            growth.kept[tensor.storage.id] = tensor
    return True


def _next_user(steps: tuple[Step, ...], members: list[int], fused: Launch, written: frozenset[int]) -> int | None:
    """The first later step that touches what the chain wrote; None where there is none that it may be moved to."""
    read = {t.storage.id for t in _tensors(fused)} - written
    for position in range(members[-1] + 1, len(steps)):
        step = steps[position]
        reads, writes = _uses(step)
        if written & (reads | writes):
            return position
        if isinstance(step, HostSync) or read & writes:
            return None
    return None


def _needed(workload: Workload, written: frozenset[int], members: set[int], last: Step, looped: bool) -> frozenset[int]:
    """Those of ``written`` that something besides ``members`` wants to find in memory after step ``last``."""
    local: set[int] = set()
    used: set[int] = set()
    passed_last = looped
    for step, _ in workload.walk():
        if isinstance(step, TorchOp):
            local.update(t.storage.id for t in step.writes if t.storage.span == step.span)
        if passed_last and id(step) not in members and not isinstance(step, Repeat) and not _allocates(step):
            reads, writes = _uses(step)
            used |= reads | writes
        passed_last = passed_last or step is last
    returned = {t.storage.id for t in workload.outputs}
    return frozenset(id for id in written if id in returned or id in used or id not in local)


def _allocates(step: Step) -> bool:
    return isinstance(step, TorchOp) and step.kind == "alloc"


def _uses(step: Step) -> tuple[set[int], set[int]]:
    """Storages that ``step`` may read and may write."""
    if isinstance(step, TorchOp):
        return {t.storage.id for t in step.reads}, {t.storage.id for t in step.writes}
    if isinstance(step, Launch):
        tensors = {t.storage.id for t in _tensors(step)}
        return (tensors, set(_written(step))) if step.kernel.complete else (tensors, tensors)
    if isinstance(step, Repeat):
        parts = [_uses(inner) for inner in step.body]
        return {s for reads, _ in parts for s in reads}, {s for _, writes in parts for s in writes}
    return set(), set()


def _tensors(launch: Launch) -> list[Tensor]:
    return [value for value in launch.arguments.values() if isinstance(value, Tensor)]


def _written(launch: Launch) -> frozenset[int]:
    tensors = [launch.tensor(node.base) for node, _ in launch.kernel.walk((Store, Atomic)) if isinstance(node, Access)]
    return frozenset(t.storage.id for t in tensors if t is not None)


def _worth_telling(chain: Chain) -> bool:
    launches, others = chain.launches, chain.torch_ops
    if not launches:
        return False
    return len(launches) > 1 or any(op.kind != "cast" for op in others)


# -- finding one's way in a workload ----------------------------------------------------------------------------------


def _sequences(steps: tuple[Step, ...], looped: bool) -> Iterator[tuple[tuple[Step, ...], bool]]:
    """Every straight run of steps, and whether a Python loop repeats it."""
    yield steps, looped
    for step in steps:
        if isinstance(step, Repeat):
            yield from _sequences(step.body, True)


def _numbered(workload: Workload) -> Iterator[tuple[Step, Place]]:
    counts: dict[Span, int] = {}
    for step, _ in workload.walk():
        number = counts.get(step.span, 0)
        counts[step.span] = number + 1
        yield step, Place(step.span, number)


def _places(workload: Workload) -> dict[int, Place]:
    """The place of each step, by identity."""
    return {id(step): place for step, place in _numbered(workload)}


def blamed(workload: Workload, steps: tuple[Launch | TorchOp, ...]) -> str:
    """The host function that strings ``steps`` together: the one they stand in, else the analysed one."""
    functions = {step.function for step in steps}
    return functions.pop() if len(functions) == 1 else workload.entry


