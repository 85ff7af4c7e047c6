"""Python loops that launch one step of a recurrence each, in which every program keeps to itself, and their one launch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kernlint.records import dataclass, replace
from kernlint.rules.finding import tensor_name
from kernlint.rules.fusion.merging import SAME_PROGRAMS, merge
from kernlint.rules.proofs.dataflow import storages, written_tensors
from kernlint.rules.proofs.indices import Digit, addresses, strides_of, tell_apart
from kernlint.rules.proofs.parallel_loops import flat_loop, moves
from kernlint.workload import (
    Compute,
    Expr,
    Lane,
    Launch,
    Load,
    LoopIndex,
    ProgramId,
    Reduce,
    Repeat,
    Scan,
    Size,
    Store,
    Tensor,
    concrete,
)
from kernlint.workload import Loop as KernelLoop
from kernlint.workload.expr import Atom, lift, simplify
from kernlint.workload.steps import allocates
from kernlint.workload.synthesis import iteration, lane

#: Loads of that many steps are on their way at once.
STAGES = 4
#: The id of the loop that comes into the kernel: no node of it has that.
_LOOP_ID = 100_000


@dataclass(frozen=True)
class State:
    """What ``load`` reads of what the same program wrote in the step before, by ``store`` element for element (None: at
    other elements of what belongs to the program)."""

    name: str
    load: Load
    store: Store | None


@dataclass(frozen=True)
class StateLoop:
    """A Python loop with one ``launch`` in each step, or several that are one ``launch`` here.

    ``kept`` are the ids of the stores that only hand the state to the next step, ``fixed`` the loads of what no step
    changes. ``views`` say by how many elements the argument of that name moves with each step, ``moves`` the same for the
    address that the access of that id computes itself. ``elementwise`` is false where a step reduces or scans the state.
    """

    repeat: Repeat
    launch: Launch
    states: tuple[State, ...]
    kept: frozenset[int]
    fixed: tuple[Load, ...]
    views: Mapping[str, Size]
    moves: Mapping[int, Size]
    elementwise: bool

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the kernels that a step launches."""
        return tuple(dict.fromkeys(step.kernel.name for step in self.repeat.body if isinstance(step, Launch)))

    @property
    def in_registers(self) -> bool:
        """Whether a program reads its state as it wrote it, so that a variable can hold it."""
        return all(state.store is not None for state in self.states)


def read_state_loop(repeat: Repeat) -> StateLoop | None:
    """``repeat`` as the steps of a recurrence in which each program keeps to itself; None where that is not proven or sizes
    are open.

    The proof: a step is one kernel without dots, or several of the same programs that keep to themselves; what it reads of
    what a step writes, it reads at elements that the same program wrote in the step before, so that no program meets what
    another one computed. What moves along with the steps never comes to one address twice.
    """
    pair = _consecutive(repeat)
    if pair is None or concrete(repeat.count) is None:
        return None
    before, launch = pair
    nodes = [node for node, _ in launch.kernel.walk()]
    plain = all(isinstance(node, (Load, Store, Compute, Reduce, Scan, KernelLoop)) for node in nodes)
    if not launch.kernel.complete or not plain or launch.programs is None or launch.autotuned:
        return None
    loop = flat_loop(repeat)
    tensors = {name: one for name, one in launch.arguments.items() if isinstance(one, Tensor) and loop is not None}
    views = {name: step for name, one in tensors.items() if loop is not None and (step := loop.stride(one)) is not None}
    moved = moves(before, launch)
    written = storages(written_tensors(before)) | storages(written_tensors(launch))
    states: list[State] = []
    fixed: list[Load] = []
    for load, loops in launch.kernel.walk(Load):
        tensor = launch.tensor(load.base)
        if tensor is None or load.offset is None:
            return None
        if tensor.storage.id not in written:
            former = before.tensor(load.base)
            if former is None or former.storage.id != tensor.storage.id:
                return None
            if load.base not in views or load.id not in moved:
                return None
            if not loops and not views[load.base] and not moved[load.id] and not load.through | load.tested:
                fixed.append(load)
            continue
        store = None if loops else _source(before, load, tensor)
        if store is None and not _within_own(before, launch, load, loops, tensor):
            return None
        states.append(State(tensor_name(tensor, load.base), load, store))
    kept = _handed_on(launch, states, views, moved)
    if not states or kept is None:
        return None
    elementwise = not any(isinstance(node, (Reduce, Scan, KernelLoop)) for node in nodes)
    found = StateLoop(repeat, launch, tuple(states), kept, tuple(fixed), views, moved, elementwise)
    return found if _no_address_twice(found) else None


def _handed_on(
    launch: Launch, states: Sequence[State], views: Mapping[str, Size], moves: Mapping[int, Size]
) -> frozenset[int] | None:
    """The stores that do not move with the steps, as they only hand the state on; None where one is something else, of which
    the last step alone would be left."""
    handed = {state.store.id for state in states if state.store is not None}
    bases = {storage for state in states for storage in _buffers(launch, state)}
    kept = set()
    for store in launch.kernel.stores():
        target = launch.tensor(store.base)
        if target is None:
            return None
        if not views.get(store.base) and not moves.get(store.id):
            if store.id not in handed and target.storage.id not in bases:
                return None
            kept.add(store.id)
    return frozenset(kept)


def _no_address_twice(found: StateLoop) -> bool:
    """Whether what is stored at another place in each step never overwrites what another step or program has stored."""
    launch, count = found.launch, concrete(found.repeat.count) or 1
    steps = KernelLoop(_LOOP_ID, "range", count, (), found.repeat.span, None, True)
    for store, loops in launch.kernel.walk(Store):
        if store.id in found.kept:
            continue
        store = _advanced(found, store)
        linear = strides_of(store.offset) if store.offset is not None else None
        if linear is None:
            return False
        start = linear[1] if concrete(linear[1]) is not None else 0
        reached = addresses(launch, replace(store, offset=lift(store.offset or 0) - start), (steps, *loops))
        if reached is None or not reached.distinct:
            return False
    return True


def _consecutive(repeat: Repeat) -> tuple[Launch, Launch] | None:
    """The launches of two iterations that follow each other, where each makes one and nothing else but allocations, or
    several that one could do as it goes through their programs."""
    found = []
    for steps in (repeat.earlier, repeat.body):
        launches = [step for step in steps if isinstance(step, Launch)]
        one = _one_launch(launches) if all(isinstance(s, Launch) or allocates(s) for s in steps) else None
        if one is None:
            return None
        found.append(one)
    before, launch = found
    same = before.span == launch.span and before.kernel.span == launch.kernel.span and before.grid == launch.grid
    return (before, launch) if same else None


def _one_launch(launches: Sequence[Launch]) -> Launch | None:
    """``launches`` as one; None where a program needs what another one makes. What they store stays stored."""
    if not launches:
        return None
    first, *rest = launches
    for launch in rest:
        stored = frozenset(storages([*written_tensors(first), *written_tensors(launch)]))
        merged = merge(first, launch, stored)
        if merged is None or merged.way != SAME_PROGRAMS or launch.autotuned:
            return None
        first = merged.launch
    return first


def _source(before: Launch, load: Load, tensor: Tensor) -> Store | None:
    """The store of the step before that wrote what ``load`` reads from ``tensor``, program by program."""
    for store in before.accesses(tensor.storage.id, Store):
        target = before.tensor(store.base)
        assert target is not None
        same = (target.shape, target.strides, target.offset) == (tensor.shape, tensor.strides, tensor.offset)
        if same and _tile(store)[:2] == _tile(load)[:2] and _covers(store, load):
            return store
    return None


def _within_own(before: Launch, launch: Launch, load: Load, loops: tuple[KernelLoop, ...], tensor: Tensor) -> bool:
    """Whether ``load`` stays within the elements of ``tensor`` that no program but its own writes, in any step."""
    own = _window(launch, load, loops)
    if own is None:
        return False
    strides, low, high = own
    met = False
    for one in (before, launch):
        for store, around in one.kernel.walk(Store):
            target = one.tensor(store.base)
            if target is None:
                return False
            if target.storage.id != tensor.storage.id:
                continue
            if (target.shape, target.strides, target.offset) != (tensor.shape, tensor.strides, tensor.offset):
                return False
            window = _window(one, store, around)
            if window is None or window[0] != strides:
                return False
            low, high, met = min(low, window[1]), max(high, window[2]), met or one is before
    return met and tell_apart([Digit(1, high - low + 1), *(Digit(*one) for one in strides)])


def _window(
    launch: Launch, access: Load | Store, loops: tuple[KernelLoop, ...]
) -> tuple[frozenset[tuple[int, int]], int, int] | None:
    """(stride and extent of each grid axis; least and greatest address of one program beyond those) of ``access``; None
    where they are no numbers or a grid axis leaves the address alone."""
    linear = strides_of(access.offset) if access.offset is not None else None
    if linear is None:
        return None
    extents: dict[Atom, Size | None] = {Lane(dim): extent for dim, extent in enumerate(access.shape)}
    extents |= {LoopIndex(loop.id): loop.trip for loop in loops}
    grid = {ProgramId(axis): extent for axis, extent in enumerate(launch.grid) if concrete(extent) != 1}
    programs: set[tuple[int, int]] = set()
    rest, low, high = lift(linear[1]), 0, 0
    for atom, size in linear[0].items():
        stride, extent = concrete(size), concrete(grid.pop(atom, None) if atom in grid else extents.get(atom))
        if isinstance(atom, ProgramId):
            if stride is None or extent is None:
                return None
            programs.add((stride, extent))
            continue
        rest = rest + lift(size) * Expr.atom(atom)
        if stride is None or extent is None:
            return None
        low, high = low + min(0, stride * (extent - 1)), high + max(0, stride * (extent - 1))
    base = concrete(linear[1])
    if grid or base is None:
        return None
    low, high = low + base, high + base
    for left, right in access.mask or ():
        # left < right, so that right - left is 1 at least: a bound from below or above where it is the address.
        under, over = concrete(simplify(right - left - rest)), concrete(simplify(right - left + rest))
        if under is not None:
            low = max(low, 1 - under)
        if over is not None:
            high = min(high, over - 1)
    return frozenset(programs), low, high


def _buffers(launch: Launch, state: State) -> Iterator[int]:
    """The storages that hold a state: what is read, and what is written for the next step to read."""
    tensor = launch.tensor(state.load.base)
    if tensor is not None:
        yield tensor.storage.id
    for store in launch.kernel.stores():
        target = launch.tensor(store.base)
        alike = target is not None and tensor is not None
        if alike and (target.shape, target.strides) == (tensor.shape, tensor.strides):  # type: ignore[union-attr]
            yield target.storage.id  # type: ignore[union-attr]


def _tile(access: Load | Store) -> tuple[tuple[int, ...], Expr | None, frozenset[tuple[Expr, Expr]]]:
    """Extents, addresses and bounds of ``access`` without the axes of one element, so that ``x[:, None]`` is like ``x``."""
    axes = {old: new for new, old in enumerate(d for d, extent in enumerate(access.shape) if extent != 1)}
    lanes: dict[Atom, Size] = {Lane(d): lane(axes[d]) if d in axes else 0 for d in range(len(access.shape))}
    moved = access.moved(Expr.substitution(lanes))
    return tuple(extent for extent in access.shape if extent != 1), moved.offset, frozenset(moved.mask or ())


def _covers(store: Store, load: Load) -> bool:
    """Whether ``store`` writes all that ``load`` reads of their common tile."""
    return store.mask is None or (store.mask_known and load.mask is not None and _tile(store)[2] <= _tile(load)[2])


def _advanced(found: StateLoop, node: Store) -> Store:
    """``node`` of the iteration that was recorded, for any iteration."""
    if node.offset is None:
        return node
    own = lift(found.moves.get(node.id, 0))
    index = iteration(_LOOP_ID)
    return replace(node, offset=node.offset + index * (own + found.views.get(node.base, 0)) - own * _middle(found))


def _middle(found: StateLoop) -> int:
    """The number of the iteration that was recorded."""
    return (concrete(found.repeat.count) or 1) // 2
