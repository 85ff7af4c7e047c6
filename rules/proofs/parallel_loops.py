"""Python loops whose iterations do not depend on each other, and the one launch that could take their place."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from kernlint.records import dataclass, replace
from kernlint.rules.finding import Context
from kernlint.rules.proofs.dataflow import read_tensors, storages, written_tensors
from kernlint.rules.proofs.source_text import (
    assignments,
    bound_names,
    carried_names,
    loop_statement,
    loop_variables,
    names_in,
    node_at,
)
from kernlint.syntax.names import dotted_name
from kernlint.syntax.walk import walk
from kernlint.workload import (
    Access,
    Atomic,
    Launch,
    Repeat,
    Size,
    Span,
    Step,
    Store,
    Tensor,
    TorchOp,
    Workload,
    concrete,
)
from kernlint.workload.expr import lift, simplify

#: Torch calls that do to a batch what they do to each of its elements.
_BATCHED = frozenset({"alloc", "fill", "copy", "transpose", "cast", "elementwise"})


@dataclass(frozen=True)
class Loop:
    """A Python loop (or a perfect nest of them) as one index that runs over ``count`` values.

    ``body`` holds the steps of the iteration with index ``middle``, the one the interpreter records; ``middle`` is None
    where the count is symbolic. ``fresh`` are the storages that each iteration allocates for itself; ``moving`` the
    tensors whose offset advances with the index; ``indexed`` the launches that are passed the index itself.
    """

    repeat: Repeat
    count: Size
    middle: int | None
    body: tuple[Step, ...]
    fresh: frozenset[int] = frozenset()
    moving: tuple[Tensor, ...] = ()
    indexed: frozenset[Span] = frozenset()

    def stride(self, tensor: Tensor) -> Size | None:
        """Elements between the views of neighbouring iterations; None where the offset is not a multiple of the index."""
        if tensor.storage.id in self.fresh:
            return tensor.elements
        return self.per_iteration(tensor.offset)

    def per_iteration(self, offset: Size) -> Size | None:
        """The ``s`` of ``offset = middle * s``; None where there is none."""
        if self.middle is None:
            return 0
        value = concrete(offset)
        if value is None or value % self.middle:
            return None
        return value // self.middle

    def whole(self, tensor: Tensor) -> Tensor:
        """All iterations' views of ``tensor`` as one, with the loop as leading dimension; itself where it stays put."""
        stride = self.stride(tensor)
        if not stride or tensor.shape is None or tensor.strides is None:
            return tensor
        offset = 0 if tensor.storage.id in self.fresh else tensor.offset - (self.middle or 0) * stride
        shape, strides = (self.count, *tensor.shape), (stride, *tensor.strides)
        return replace(tensor, shape=shape, strides=strides, offset=simplify(lift(offset)))


def independent_loop(context: Context, repeat: Repeat) -> Loop | None:
    """``repeat`` as a :class:`Loop` when its iterations are proven independent and each launches something.

    The proof: the loop statement hands no variable from one iteration to the next; what an iteration writes is either
    allocated in it or a part of a tensor that no other iteration touches; and nothing written is read by others.
    """
    found = flat_loop(repeat)
    if found is None or not _plain_statements(context, repeat):
        return None
    loop = replace(found, fresh=fresh_storages(context.workload, found), indexed=indexed_launches(context, found))
    launches = [step for step in loop.body if isinstance(step, Launch)]
    others = [step for step in loop.body if not isinstance(step, Launch)]
    if not launches or not all(launch.kernel.complete for launch in launches):
        return None
    if not all(isinstance(step, TorchOp) and step.kind in _BATCHED for step in others):
        return None
    known = known_storages(context.workload, loop)
    read = [t for step in loop.body for t in read_tensors(step)]
    written = [t for step in loop.body for t in written_tensors(step)]
    if any(t.storage.id not in known and t.storage.id not in loop.fresh for t in read):
        return None  # made by the iteration before
    if any(loop.stride(t) is None for t in (*read, *written)):
        return None
    for tensor in written:
        if tensor.storage.id in loop.fresh:
            continue
        views = [t for t in (*read, *written) if t.storage.id == tensor.storage.id]
        shared = any(t.storage.id == tensor.storage.id for t in read)
        by_index = _indexed_stores_move(loop, tensor)
        if loop.middle is None or by_index:
            # Where stores cannot be told apart by numbers (open sizes), at least nothing may be read back.
            if shared:
                return None
        elif not _disjoint(loop, tensor) or any(_place(t) != _place(tensor) for t in views):
            return None
    moving = tuple(t for t in (*read, *written) if loop.stride(t) and t.storage.id not in loop.fresh)
    return replace(loop, moving=moving or tuple(written))


def flat_loop(repeat: Repeat) -> Loop | None:
    """A perfect nest of loops over whole ranges as one loop; None where the body holds a further loop beside steps."""
    count: Size = 1
    middle: int | None = 0
    body: tuple[Step, ...] = (repeat,)
    while len(body) == 1 and isinstance(body[0], Repeat):
        inner = body[0]
        if inner.count is None:
            return None
        number = concrete(inner.count)
        count = simplify(lift(count) * inner.count)
        middle = None if number is None or middle is None else middle * number + number // 2
        body = inner.body
    if any(isinstance(step, Repeat) for step in body) or middle == 0:
        return None
    return Loop(repeat, count, middle, body)


def _plain_statements(context: Context, repeat: Repeat) -> bool:
    """Every loop statement of the nest uses its variable, hands nothing on, and does the same in each iteration."""
    step: Step = repeat
    while isinstance(step, Repeat):
        loop = loop_statement(context, step.span)
        if loop is None:
            return False
        variables = loop_variables(loop)
        body = loop.body.body if isinstance(loop, cst.For) else loop.body.body[:-1]
        if carried_names(loop) - variables or not variables & {name for line in body for name in names_in(line)}:
            return False
        for node in walk(loop.body):
            if isinstance(node, (cst.Break, cst.Continue, cst.While, cst.Return)):
                return False
            if isinstance(node, (cst.If, cst.IfExp)) and variables & names_in(node.test):
                return False
        step = step.body[0] if step.body else step
        if not isinstance(step, Repeat):
            return True
    return True


def known_storages(workload: Workload, loop: Loop) -> set[int]:
    """Storages that exist before the loop begins."""
    known = storages(list(workload.inputs))
    for step in workload.steps:
        if isinstance(step, Repeat) and step.span == loop.repeat.span:
            break
        for inner in step.body if isinstance(step, Repeat) else (step,):
            known |= storages(written_tensors(inner)) | storages(read_tensors(inner))
    for step in loop.body:
        tensors = (*read_tensors(step), *written_tensors(step))
        known |= {t.storage.id for t in tensors if t.storage.origin in ("input", "parameter", "constant")}
    return known


def fresh_storages(workload: Workload, loop: Loop) -> frozenset[int]:
    """Storages that the iteration itself makes."""
    known = known_storages(workload, loop)
    made = {t.storage.id for step in loop.body if isinstance(step, TorchOp) for t in step.writes}
    return frozenset(made - known)


def indexed_launches(context: Context, loop: Loop) -> frozenset[Span]:
    """The launches in the loop's own text that are passed its variable as an argument."""
    statement = loop_statement(context, loop.repeat.span)
    if statement is None or isinstance(loop.repeat.body[0], Repeat):
        return frozenset()
    variables = loop_variables(statement)
    for one in assignments(statement.body):
        if isinstance(one, cst.Assign) and dotted_name(one.value) in variables:
            variables |= bound_names(one)
    found = set()
    for step in loop.body:
        call = node_at(context, step.span, cst.Call) if isinstance(step, Launch) else None
        if call is not None and any(dotted_name(argument.value) in variables for argument in call.args):
            found.add(step.span)
    return frozenset(found)


def _indexed_stores_move(loop: Loop, tensor: Tensor) -> bool:
    """Every store to ``tensor`` stands in a launch that is passed the index, at an address that advances with it."""
    moved = []
    for step in loop.body:
        if isinstance(step, Launch):
            for node in step.accesses(tensor.storage.id, (Store, Atomic)):
                stride = constant_stride(loop, node) if step.span in loop.indexed else None
                moved.append(bool(stride) and isinstance(node, Store))
        elif tensor.storage.id in storages(written_tensors(step)):
            moved.append(False)
    return bool(moved) and all(moved)


def constant_stride(loop: Loop, access: Access) -> Size | None:
    """What the index adds to an offset per iteration, where the kernel multiplies it by a stride itself."""
    if access.offset is None:
        return None
    return loop.per_iteration(access.offset.terms.get((), 0))


def _place(tensor: Tensor) -> tuple[object, ...]:
    return (tensor.offset, tensor.shape, tensor.strides)


def _disjoint(loop: Loop, tensor: Tensor) -> bool:
    """Whether no two iterations' views of ``tensor`` share an element: each stride steps over all that is nested in it."""
    stride, count = concrete(loop.stride(tensor)), concrete(loop.count)
    if not stride or count is None or tensor.shape is None or tensor.strides is None:
        return False
    dims = [(concrete(s), concrete(n)) for s, n in zip(tensor.strides, tensor.shape)]
    reach = 0
    for step, extent in sorted([*_numbers(dims), (stride, count)]):
        if extent > 1:
            if step <= reach:
                return False
            reach += step * (extent - 1)
    return all(s is not None and n is not None for s, n in dims)


def _numbers(dims: Sequence[tuple[int | None, int | None]]) -> list[tuple[int, int]]:
    return [(s, n) for s, n in dims if s is not None and n is not None]
