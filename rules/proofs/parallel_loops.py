"""Python loops by the rounds that were followed: what moves from one to the next, what one finds of the one before, and loops whose
iterations do not depend on each other, so that one launch could take their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

from kernlint.records import dataclass, replace
from kernlint.rules.finding import Context
from kernlint.rules.proofs.dataflow import read_tensors, storages, tensors_of, written_tensors
from kernlint.rules.proofs.indices import Digit, tell_apart
from kernlint.rules.proofs.source_text import loop_statement, loop_variables, names_in
from kernlint.syntax.walk import walk
from kernlint.workload import (
    Access,
    Atomic,
    Lane,
    Launch,
    ProgramId,
    Repeat,
    Size,
    Step,
    Store,
    Tensor,
    TorchOp,
    concrete,
)
from kernlint.workload.expr import lift, simplify

#: Torch calls that do to a batch what they do to each of its elements.
_BATCHED = frozenset({"alloc", "fill", "copy", "transpose", "cast", "elementwise"})


@dataclass(frozen=True)
class Loop:
    """A Python loop (or a perfect nest of them) as one index that runs over ``count`` values.

    ``body`` holds the steps of the iteration with index ``middle``, the one the interpreter records; ``middle`` is None
    where the count is symbolic. ``before`` holds for each loop of the nest, outermost first, those of an iteration with an index of
    it that is one less. ``strides`` are the elements by which tensors move with the index, where they move evenly, ``fresh`` the storages
    that each iteration allocates for itself, ``handed`` those that other iterations write, ``moving`` the tensors that tell the iterations
    apart.
    """

    repeat: Repeat
    count: Size
    middle: int | None
    body: tuple[Step, ...]
    before: tuple[tuple[Step, ...], ...]
    strides: Mapping[Tensor, Size]
    fresh: frozenset[int]
    handed: frozenset[int]
    moving: tuple[Tensor, ...] = ()

    def stride(self, tensor: Tensor) -> Size | None:
        """Elements between the views of neighbouring iterations; None where they do not move evenly."""
        return tensor.elements if tensor.storage.id in self.fresh else self.strides.get(tensor)

    def whole(self, tensor: Tensor) -> Tensor:
        """All iterations' views of ``tensor`` as one, with the loop as leading dimension; itself where it stays put."""
        stride = self.stride(tensor)
        if not stride or tensor.shape is None or tensor.strides is None:
            return tensor
        offset = 0 if tensor.storage.id in self.fresh else tensor.offset - (self.middle or 0) * stride
        shape, strides = (self.count, *tensor.shape), (stride, *tensor.strides)
        return replace(tensor, shape=shape, strides=strides, offset=simplify(lift(offset)))


def flat_loop(repeat: Repeat) -> Loop | None:
    """A perfect nest of loops over whole ranges as one loop; None where the body holds a further loop beside steps, or where two
    iterations are not alike."""
    count: Size = 1
    middle: int | None = 0
    body: tuple[Step, ...] = (repeat,)
    counts: list[Size] = []
    before: list[tuple[Step, ...]] = []
    while len(body) == 1 and isinstance(body[0], Repeat):
        inner = body[0]
        if inner.count is None:
            return None
        number = concrete(inner.count)
        count = simplify(lift(count) * inner.count)
        middle = None if number is None or middle is None else middle * number + number // 2
        counts.append(inner.count)
        before = [_inside(steps) for steps in before] + [inner.earlier]
        body = inner.body
    kinds = [_kind(step) for step in body]
    if Repeat in kinds or middle == 0 or any([_kind(step) for step in steps] != kinds for steps in before):
        return None
    seen = [[t for step in steps for t in tensors_of(step)] for steps in (body, *before)]
    if len({len(tensors) for tensors in seen}) > 1:
        return None
    made = {t.storage.id for s in body if isinstance(s, TorchOp) for t in s.writes if t.storage.span == s.span}
    fresh = made - storages([t for tensors in seen[1:] for t in tensors])
    handed = storages([t for steps in before for step in steps for t in written_tensors(step)])
    strides: dict[Tensor, Size | None] = {}
    for tensor, *others in zip(*seen):
        stride = _even([_apart(tensor, one) for one in others], counts)
        # What is looked up at a place of its own may by chance be where this iteration is.
        strides[tensor] = stride if strides.get(tensor, stride) == stride else None
    steady = {tensor: stride for tensor, stride in strides.items() if stride is not None}
    return Loop(repeat, count, middle, body, tuple(before), steady, frozenset(fresh), frozenset(handed))


def _kind(step: Step) -> object:
    """What a step has in common with the same one of another iteration."""
    return step.kernel.span if isinstance(step, Launch) else step.name if isinstance(step, TorchOp) else type(step)


def _inside(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps of the loop that ``steps`` are; none where they are anything else."""
    return steps[0].body if len(steps) == 1 and isinstance(steps[0], Repeat) else ()


def _apart(tensor: Tensor, before: Tensor) -> Size | None:
    """The elements from ``before`` to ``tensor``, the same one in the next iteration; two buffers that take turns stay where they are.
    How far they reach may differ (``counts[i:]``)."""
    if tensor.strides != before.strides:
        return None
    step = simplify(lift(tensor.offset) - before.offset)
    return step if step == 0 or tensor.storage.id == before.storage.id else None


def _even(steps: Sequence[Size | None], counts: Sequence[Size]) -> Size | None:
    """The step of the one index of a nest, whose loops move something by ``steps``; None where an outer loop does not go on where the
    inner one ends."""
    for outer, inner, count in zip(steps, steps[1:], counts[1:]):
        if outer is None or inner is None or simplify(lift(inner) * count) != outer:
            return None
    return steps[-1]


def independent_loop(context: Context, repeat: Repeat) -> Loop | None:
    """``repeat`` as a :class:`Loop` when its iterations are proven independent and each launches something.

    The proof: what an iteration writes is either allocated in it or a part of a tensor that no other iteration touches, and nothing
    that others write is read.
    """
    loop = flat_loop(repeat)
    if loop is None or not same_each_time(context, repeat):
        return None
    launches = [step for step in loop.body if isinstance(step, Launch)]
    others = [step for step in loop.body if not isinstance(step, Launch)]
    if not launches or not all(launch.kernel.complete for launch in launches):
        return None
    if not all(isinstance(step, TorchOp) and step.kind in _BATCHED for step in others):
        return None
    read = [t for step in loop.body for t in read_tensors(step)]
    written = [t for step in loop.body for t in written_tensors(step)]
    if storages(read) & (loop.handed - storages(written)):
        return None  # made by the iteration before
    if any(loop.stride(t) is None for t in (*read, *written)):
        return None
    for tensor in written:
        if tensor.storage.id in loop.fresh:
            continue
        views = [t for t in (*read, *written) if t.storage.id == tensor.storage.id]
        shared = any(t.storage.id == tensor.storage.id for t in read)
        if loop.middle is None or _stores_move(loop, tensor):
            # Where stores cannot be told apart by numbers (open sizes), at least nothing may be read back.
            if shared:
                return None
        elif not _disjoint(loop, tensor) or any(_place(t) != _place(tensor) for t in views):
            return None
    moving = tuple(t for t in (*read, *written) if loop.stride(t) and t.storage.id not in loop.fresh)
    return replace(loop, moving=moving or tuple(written))


def same_each_time(context: Context, repeat: Repeat, decided: bool = True) -> bool:
    """Whether no loop statement of the nest is left early, or does something else in some of its iterations; conditions on other things
    than its index may be ``decided`` before it begins."""
    step: Step = repeat
    while isinstance(step, Repeat):
        loop = loop_statement(context, step.span)
        if loop is None:
            return False
        variables = loop_variables(loop)
        for node in walk(loop.body):
            if isinstance(node, (cst.Break, cst.Continue, cst.While, cst.Return)):
                return False
            if isinstance(node, (cst.If, cst.IfExp)) and not (decided and variables.isdisjoint(names_in(node.test))):
                return False
        step = step.body[0] if step.body else step
        if not isinstance(step, Repeat):
            return True
    return True


def _stores_move(loop: Loop, tensor: Tensor) -> bool:
    """Whether every store to ``tensor`` stands in a launch, at an address that the kernel itself moves with the index."""
    moved = []
    for step, before in zip(loop.body, loop.before[-1]):
        if isinstance(step, Launch) and isinstance(before, Launch):
            steps = moves(before, step)
            for node in step.accesses(tensor.storage.id, (Store, Atomic)):
                moved.append(len(loop.before) == 1 and isinstance(node, Store) and bool(steps.get(node.id)))
        elif tensor.storage.id in storages(written_tensors(step)):
            moved.append(False)
    return bool(moved) and all(moved)


def moves(before: Launch, launch: Launch) -> dict[int, Size]:
    """By the ids of accesses the elements by which the addresses that the kernel computes move from the launch ``before`` to
    ``launch``, which is that of the next iteration; those that move in another way in each program or lane are left out."""
    found: dict[int, Size] = {}
    earlier = {node.id: node for node in before.kernel.nodes(Access)}
    for node in launch.kernel.nodes(Access):
        old = earlier.get(node.id)
        if old is None or old.span != node.span or old.offset is None or node.offset is None:
            continue
        step = node.offset - old.offset
        if not any(isinstance(atom, (Lane, ProgramId)) for atom in step.atoms()):
            found[node.id] = simplify(step)
    return found


def _place(tensor: Tensor) -> tuple[object, ...]:
    return (tensor.offset, tensor.shape, tensor.strides)


def _disjoint(loop: Loop, tensor: Tensor) -> bool:
    """Whether no two iterations' views of ``tensor`` share an element."""
    stride = loop.stride(tensor)
    if stride is None or tensor.shape is None or tensor.strides is None:
        return False
    return tell_apart([Digit(stride, loop.count), *map(Digit, tensor.strides, tensor.shape)])
