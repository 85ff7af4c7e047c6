"""Kernels that walk a row in chunks whose width means nothing: any other width gives the same results.

That takes proof. A chunk may be a group that is quantised with a scale of its own, or one term of a sum over chunks. So
every access in such a loop has to be the next lanes of the row, and whatever a loop reduces a chunk to has to be combined
with what it carries by the same operation, or be part of an online softmax.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kernlint.records import dataclass
from kernlint.rules.algorithm.recurrence import associative_updates
from kernlint.rules.finding import Context
from kernlint.rules.proofs.dot_tiles import editable
from kernlint.rules.proofs.kernel_source import definition
from kernlint.rules.proofs.softmax_state import softmax_state
from kernlint.rules.proofs.source_text import carried_names, loop_variables, names_in, node_at, statements
from kernlint.rules.tiling.kl209_scalar_reduction_per_iteration import combined
from kernlint.syntax.names import dotted_name
from kernlint.syntax.walk import walk
from kernlint.workload import Access, Atomic, Branch, Compute, Dot, Kernel, Launch, Load, Loop, Reduce, Scan, concrete
from kernlint.workload.expr import LoopIndex

Source = cst.For | cst.While

#: Calls that take the lanes of a chunk, or the step or number of the chunks of a row.
_WIDTH_CALLS = frozenset({"arange", "range"})
_REDUCTIONS = frozenset({"sum", "max", "min"})


@dataclass(frozen=True)
class RowChunks:
    """The constexpr ``name`` is the ``width`` of the chunks; the longest loop takes ``trip`` of them, and one chunk takes part
    in up to ``reductions`` reductions. ``masked`` says that every access ends with the row."""

    name: str
    width: int
    trip: int
    reductions: int
    masked: bool

    @property
    def columns(self) -> int:
        """The elements of the longest row, a last chunk counted as full."""
        return self.trip * self.width


def row_chunks(context: Context, launch: Launch) -> RowChunks | None:
    """The chunks that every loop of ``launch`` walks its rows in; None where another width might give other results."""
    kernel = launch.kernel
    if not kernel.complete or kernel.assumed or any(True for _ in kernel.walk((Dot, Scan, Atomic, Branch))):
        return None
    function = definition(context, kernel)
    loops = [node for node, _ in kernel.walk(Loop) if isinstance(node, Loop)]
    walking = [loop for loop in loops if not any(isinstance(inner, Loop) for inner in loop.body)]
    widths = {access.elements for access, _ in kernel.walk(Access) if isinstance(access, Access) and access.shape}
    trips = [concrete(loop.trip) for loop in walking]
    if function is None or len(widths) != 1 or not walking or any(trip is None for trip in trips):
        return None
    (width,) = widths
    names = [
        name
        for name, value in launch.constexprs.items()
        if value == width and not isinstance(value, bool) and editable(launch, name)
    ]
    reductions = [sum(isinstance(node, Reduce) for node in loop.body) for loop in walking]
    if len(names) != 1 or not max(reductions) or not _only_in(kernel, walking):
        return None
    counters = set()
    for loop in walking:
        source = node_at(context, loop.span, cst.For) or node_at(context, loop.span, cst.While)
        counter = _counter(source, function, names[0]) if source is not None and _next_lanes(loop, width) else None
        if source is None or counter is None or not _combines(context, launch, loop, source):
            return None
        counters.add(counter)
    if not _sizes_only(function, names[0], counters):
        return None
    tiles = (node for loop in walking for node in loop.body if isinstance(node, Access) and node.shape)
    return RowChunks(
        names[0], width, max(trip or 0 for trip in trips), max(reductions), all(node.mask for node in tiles)
    )


def _only_in(kernel: Kernel, walking: list[Loop]) -> bool:
    """Whether all that is done to tiles is done inside of the loops that walk."""
    inside = {id(node) for loop in walking for node in loop.body}
    tiles = (
        node
        for node, _ in kernel.walk((Access, Compute, Reduce))
        if not isinstance(node, (Access, Compute)) or node.elements > 1
    )
    return all(id(node) in inside for node in tiles)


def _next_lanes(loop: Loop, width: int) -> bool:
    """Whether each iteration accesses the ``width`` lanes behind those of the one before, or one element that is always the
    same. A tile that is stored may not depend on what its chunk was reduced to."""
    index = LoopIndex(loop.id)
    reduces = any(isinstance(node, Reduce) for node in loop.body)
    for node in loop.body:
        if not isinstance(node, Access):
            continue
        if node.offset is None or (reduces and not isinstance(node, Load)):
            return False
        step = node.offset.coefficient(index)
        if not node.shape:
            if not isinstance(node, Load) or index in node.offset.atoms():
                return False
            continue
        stride = concrete(node.stride(0))
        if len(node.shape) != 1 or not stride or step is None or concrete(step) != width * stride:
            return False
    return True


def _counter(loop: Source, function: cst.FunctionDef, name: str) -> str | None:
    """The variable that counts the columns or the chunks of ``loop``, where it is only used to number the lanes of a chunk
    within the row: in sums of it, or of it times the width, with ``tl.arange``."""
    if isinstance(loop, cst.For):
        counters = loop_variables(loop)
    else:
        counters = names_in(loop.test) & carried_names(loop)
    if len(counters) != 1:
        return None
    (counter,) = counters
    lanes = {
        target
        for statement in walk(function.body)
        if isinstance(statement, cst.Assign) and _call(statement.value) == "arange"
        for part in statement.targets
        if (target := dotted_name(part.target)) is not None
    }
    numbered: set[int] = set()
    for node in _sums(loop.body):
        terms = list(_terms(node))
        counted = [term for term in terms if _counts(term, counter, name)]
        laned = [term for term in terms if _call(term) == "arange" or dotted_name(term) in lanes]
        if len(counted) == 1 and len(laned) == 1:
            numbered.update(id(inner) for term in (*counted, *laned) for inner in walk(term))
    for statement in statements(loop.body):
        if isinstance(loop, cst.While) and _moves(statement, counter, name):
            numbered.update(id(inner) for inner in walk(statement))
    loose = (
        node
        for node in walk(loop.body)
        if (isinstance(node, cst.Name) and node.value in {counter, *lanes}) or _call(node) == "arange"
    )
    bound = {
        id(part.target)
        for statement in walk(loop.body)
        if isinstance(statement, cst.Assign) and _call(statement.value) == "arange"
        for part in statement.targets
    }
    own = {
        id(statement.value)
        for statement in walk(loop.body)
        if isinstance(statement, cst.Assign) and _call(statement.value) == "arange"
    }
    return counter if all(id(node) in numbered | bound | own for node in loose) else None


def _sums(body: cst.CSTNode) -> Iterator[cst.BinaryOperation]:
    """The outermost additions in ``body``."""
    inner: set[int] = set()
    for node in walk(body):
        if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
            if id(node) not in inner:
                yield node
            inner.update(id(side) for side in (node.left, node.right))


def _terms(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        yield from _terms(node.left)
        yield from _terms(node.right)
    else:
        yield node


def _counts(term: cst.BaseExpression, counter: str, name: str) -> bool:
    """Whether ``term`` is the counter, or it times the width."""
    if isinstance(term, cst.BinaryOperation) and isinstance(term.operator, cst.Multiply):
        return {dotted_name(term.left), dotted_name(term.right)} == {counter, name}
    return dotted_name(term) == counter


def _moves(statement: cst.CSTNode, counter: str, name: str) -> bool:
    """Whether ``statement`` moves the counter of a ``while`` on by the width of a chunk."""
    if isinstance(statement, cst.AugAssign):
        target, added = statement.target, [statement.value]
        moved = isinstance(statement.operator, cst.AddAssign)
    elif isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        target = statement.targets[0].target
        terms = list(_terms(statement.value))
        added = [term for term in terms if dotted_name(term) != counter]
        moved = len(terms) == 2
    else:
        return False
    return moved and dotted_name(target) == counter and [dotted_name(one) for one in added] == [name]


def _combines(context: Context, launch: Launch, loop: Loop, source: Source) -> bool:
    """Whether ``source`` carries nothing but what its chunks are reduced to, combined as they are reduced."""
    calls = {
        node_at(context, node.span, cst.Call): node.op for node in loop.body if isinstance(node, Reduce) and node.scalar
    }
    if len(calls) != sum(isinstance(node, Reduce) for node in loop.body) or None in calls:
        return False
    if not set(calls.values()) <= _REDUCTIONS:
        return False
    if not calls:
        return associative_updates(source) is None and not _carries(source)
    if associative_updates(source):
        return all(_combined(source, call, op) for call, op in calls.items() if call is not None)
    state = softmax_state(launch.kernel, loop)
    if state is None:
        return False
    relative = _relative(source, {state.maximum, *state.sums})
    for call, op in calls.items():
        assert call is not None
        # What is not relative to the maximum belongs to its chunk alone: only the maximum itself may take it in.
        if not names_in(call) & relative and not (op == "max" and _raises(source, call, state.maximum)):
            return False
    return True


def _carries(source: Source) -> bool:
    counters = names_in(source.test) if isinstance(source, cst.While) else set()
    return bool(carried_names(source) - counters)


def _combined(source: Source, call: cst.Call, op: str) -> bool:
    """Whether the result of ``call`` is used once: to be combined with a carried variable by the operation ``op``."""
    for statement in statements(source.body):
        found = combined(statement, op)
        if found is not None and _is(source, found[1], call):
            return True
    return False


def _raises(source: Source, call: cst.Call, maximum: str) -> bool:
    """Whether the result of ``call`` is used once: as the other operand of ``tl.maximum`` with the carried maximum."""
    for node in walk(source.body):
        if _call(node) == "maximum" and isinstance(node, cst.Call) and len(node.args) == 2:
            sides = [argument.value for argument in node.args]
            for own, other in (sides, sides[::-1]):
                if dotted_name(own) == maximum and _is(source, other, call):
                    return True
    return False


def _is(source: Source, value: cst.BaseExpression, call: cst.Call) -> bool:
    """Whether ``value`` is ``call``, or the one use of the variable that it is given to."""
    if value is call:
        return True
    name = dotted_name(value)
    given = [
        statement
        for statement in statements(source.body)
        if isinstance(statement, cst.Assign) and statement.value is call and len(statement.targets) == 1
    ]
    if name is None or len(given) != 1 or dotted_name(given[0].targets[0].target) != name:
        return False
    return sum(isinstance(node, cst.Name) and node.value == name for node in walk(source.body)) == 2


def _relative(source: Source, carried: set[str]) -> set[str]:
    """The variables of ``source`` that depend on what it carries, and those carried."""
    found = set(carried)
    while True:
        more = {
            name
            for statement in statements(source.body)
            if isinstance(statement, cst.Assign) and names_in(statement.value) & found
            for target in statement.targets
            for name in names_in(target.target)
        }
        if more <= found:
            return found
        found |= more


def _sizes_only(function: cst.FunctionDef, name: str, counters: set[str]) -> bool:
    """Whether the constexpr ``name`` gives the lanes of tiles, the steps and numbers of iterations, and no value."""
    in_calls = {
        id(inner)
        for call in walk(function.body)
        if isinstance(call, cst.Call) and _call(call) in _WIDTH_CALLS
        for argument in call.args
        for inner in walk(argument)
    }
    allowed = set(in_calls)
    for node in walk(function.body):
        if isinstance(node, cst.BinaryOperation) and any(_counts(node, counter, name) for counter in counters):
            allowed.update(id(side) for side in (node.left, node.right))
        elif isinstance(node, cst.While):
            moves = (s for s in statements(node.body) if any(_moves(s, counter, name) for counter in counters))
            allowed.update(id(inner) for statement in moves for inner in walk(statement))
        elif isinstance(node, cst.Assign) and _call(node.value) == "cdiv":
            number = dotted_name(node.targets[0].target) if len(node.targets) == 1 else None
            reads = [n for n in walk(function.body) if isinstance(n, cst.Name) and n.value == number]
            if all(id(n) in in_calls or n is node.targets[0].target for n in reads):
                allowed.update(id(inner) for inner in walk(node.value))
    uses = (node for node in walk(function.body) if isinstance(node, cst.Name) and node.value == name)
    return all(id(node) in allowed for node in uses)


def _call(node: cst.CSTNode) -> str:
    """The last name of the function that ``node`` calls; empty where it is no call."""
    return (dotted_name(node.func) or "").rpartition(".")[2] if isinstance(node, cst.Call) else ""
