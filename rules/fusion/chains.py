"""Runs of steps that hand a tensor on and could be one launch, and the workload with them fused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from kernlint.records import dataclass, replace
from kernlint.rules.fusion.merging import Merge, beside, merge
from kernlint.rules.fusion.pointwise import as_launch
from kernlint.rules.proofs.dataflow import may_use, read_tensors, storages, tensors_of, written_tensors
from kernlint.rules.proofs.step_graph import (
    Place,
    needed_elsewhere,
    places_of,
    replaced,
    sequences,
    steps_at,
    without_allocations,
)
from kernlint.workload import HostSync, Launch, Step, Tensor, TorchOp, Workload


@dataclass(frozen=True)
class Chain:
    """Steps that follow from each other and the one launch ``fused`` that could do their work.

    ``passed`` are the tensors that would no longer go through memory between them, without those in ``kept``, which
    something else reads; ``shared`` are read by several of the steps and then once. ``merges`` say how each step after
    the first joins those before it. ``by_row`` and ``slight`` as in :class:`~kernlint.rules.fusion.merging.Merge`, the
    one where any step, the other where every step is so.
    """

    steps: tuple[Launch | TorchOp, ...]
    places: tuple[Place, ...]
    fused: Launch
    passed: tuple[Tensor, ...]
    kept: tuple[Tensor, ...]
    shared: tuple[Tensor, ...]
    merges: tuple[Merge, ...]
    by_row: bool
    slight: bool

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
    """The longest chains with at least one Triton launch, in program order; no step is in two. Launches side by side whose
    results come together in one later step begin a chain together.

    A torch cast alone beside one launch is a copy that the kernel can make unnecessary rather than work to fuse, and is
    left out; so is all that a round of a recurrence launches, as there the loop is what costs.
    """
    found = []
    places = places_of(workload)
    for steps, looped in sequences(workload.steps):
        taken: set[int] = set()
        for start in range(len(steps)):
            if start in taken:
                continue
            grown = _grown(workload, steps, start, places, looped)
            chain, members = next((one for one in grown if not taken & set(one[1])), (None, []))
            if chain is not None:
                taken.update(members)
                if not (looped and _is_a_round(steps, members)):
                    found.append(chain)
    return [chain for chain in found if _worth_telling(chain)]


def _is_a_round(steps: tuple[Step, ...], members: list[int]) -> bool:
    """Whether the ``members`` are all that ``steps`` launch, and the first of them goes on with what one of them has written."""
    launched = {i for i, step in enumerate(steps) if isinstance(step, Launch)}
    written = storages([tensor for i in members for tensor in written_tensors(steps[i])])
    return launched <= {*members} and bool(written & storages(read_tensors(steps[members[0]])))


@dataclass(frozen=True)
class Fuse:
    """The workload with the steps of a chain done by one launch; unchanged where they no longer form one."""

    places: tuple[Place, ...]

    def __call__(self, workload: Workload) -> Workload:
        chain = chain_at(workload, self.places)
        if chain is None:
            return workload
        fused = replace(workload, steps=replaced(workload.steps, chain.steps, chain.fused))
        return without_allocations(fused, {t.storage.id for t in chain.passed})


def chain_at(workload: Workload, members: tuple[Place, ...]) -> Chain | None:
    """The chain of the steps at ``members``; None where they no longer form one."""
    wanted = steps_at(workload, members)
    if wanted is None:
        return None
    places = places_of(workload)
    for steps, looped in sequences(workload.steps):
        indices = [i for one in wanted for i, step in enumerate(steps) if step is one]
        if len(indices) == len(wanted):
            grown = _grown(workload, steps, indices[0], places, looped, len(wanted))
            return next((chain for chain, found in grown if found == indices), None)
    return None


# -- growing a chain --------------------------------------------------------------------------------------------------


@dataclass
class _Growth:
    """A chain so far: ``passed`` are the storages that its steps handed one another, ``kept`` those that are wanted all the same."""

    fused: Launch
    members: list[int]
    merges: list[Merge] = field(default_factory=list)
    passed: set[int] = field(default_factory=set)
    kept: dict[int, Tensor] = field(default_factory=dict)


def _grown(
    workload: Workload, steps: tuple[Step, ...], start: int, places: dict[int, Place], looped: bool, limit: int = 1000
) -> Iterator[tuple[Chain, list[int]]]:
    """The chains that begin at ``steps[start]``, of at most ``limit`` steps, with the positions of their members: first that
    with launches beside the first one, where their results come together, then that without."""
    first = as_launch(steps[start])
    if first is None:
        return
    for growth in (_with_siblings(steps, start, limit), _Growth(first, [start])):
        if growth is None:
            continue
        siblings = [steps[i] for i in growth.members]
        while len(growth.members) < limit and _extend(workload, steps, growth, looped):
            pass
        members = [steps[i] for i in growth.members]
        if len(members) > len(siblings) and _come_together(siblings, members):
            yield _chain(growth, members, places), growth.members


def _chain(growth: _Growth, members: list[Step], places: dict[int, Place]) -> Chain:
    passed = tuple(t for m in growth.merges for t in m.passed if t.storage.id not in growth.kept)
    shared = {t.storage.id: t for m in growth.merges for t in m.shared}
    return Chain(
        tuple(members), tuple(places[id(step)] for step in members), growth.fused, passed,  # type: ignore[arg-type]
        tuple(growth.kept.values()), tuple(shared.values()), tuple(growth.merges), any(m.by_row for m in growth.merges),
        all(m.slight and not m.by_row for m in growth.merges),
    )  # fmt: skip


def _with_siblings(steps: tuple[Step, ...], start: int, limit: int) -> _Growth | None:
    """The launch at ``start`` with those that follow it and could run in the same programs, neither needing the other; None
    where there are none."""
    first = steps[start]
    if not isinstance(first, Launch) or not first.kernel.complete:
        return None
    growth = _Growth(first, [start])
    for position in range(start + 1, len(steps)):
        step, (reads, writes) = steps[position], may_use(steps[position])
        own, made = (set().union(*part) for part in zip(*(may_use(steps[i]) for i in growth.members)))
        if made & (reads | writes) or own & writes or isinstance(step, HostSync) or len(growth.members) >= limit:
            break
        merged = beside(growth.fused, step) if isinstance(step, Launch) else None
        if merged is not None:
            growth.fused = merged.launch
            growth.members.append(position)
            growth.merges.append(merged)
    return growth if growth.merges else None


def _come_together(siblings: list[Step], members: list[Step]) -> bool:
    """Whether something that a chain makes was made from what each of its first steps, ``siblings``, makes."""
    begun = set(range(len(siblings)))
    origins: dict[int, set[int]] = {}
    for number, step in enumerate(members):
        reads, writes = may_use(step)
        own = {number} if number in begun else set().union(*(origins.get(storage, set()) for storage in reads))
        for storage in writes:
            origins[storage] = own
    return any(origin == begun for origin in origins.values())


def _extend(workload: Workload, steps: tuple[Step, ...], growth: _Growth, looped: bool) -> bool:
    """Take the next step that uses what the chain has made into it, if it may."""
    written = storages(written_tensors(growth.fused))
    position = _next_user(steps, growth.members, growth.fused, written | growth.passed)
    guest = as_launch(steps[position]) if position is not None else None
    if position is None or guest is None:
        return False
    members = {id(steps[i]) for i in growth.members} | {id(steps[position])}
    needed = needed_elsewhere(workload, written, members, steps[position], looped)
    merged = merge(growth.fused, guest, needed)
    # A tensor that others want stays in memory; only the rows of a split reduction are worth keeping at hand even so.
    if merged is None or (merged.kept and not merged.by_row):
        return False
    growth.fused = merged.launch
    growth.members.append(position)
    growth.merges.append(merged)
    growth.passed |= storages(list(merged.passed))
    for tensor in merged.passed:
        if tensor.storage.id in merged.kept:
            growth.kept[tensor.storage.id] = tensor
    return True


def _next_user(steps: tuple[Step, ...], members: list[int], fused: Launch, written: set[int]) -> int | None:
    """The first later step that touches what the chain wrote; None where there is none that it may be moved to."""
    read = storages(tensors_of(fused)) - written
    for position in range(members[-1] + 1, len(steps)):
        step = steps[position]
        reads, writes = may_use(step)
        if written & (reads | writes):
            return position
        if isinstance(step, HostSync) or read & writes:
            return None
    return None


def _worth_telling(chain: Chain) -> bool:
    launches, others = chain.launches, chain.torch_ops
    if not launches or any(launch.kernel.assumed for launch in launches):
        return False  # with other constants a kernel may be another one
    return len(launches) > 1 or any(op.kind != "cast" for op in others)
