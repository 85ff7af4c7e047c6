"""Dots that compute in fp32 what comes from 16-bit tensors and goes back to them, so that 16-bit operands lose little."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import libcst as cst

from kernlint.records import dataclass
from kernlint.rules.algorithm.softmax_state import softmax_state
from kernlint.rules.finding import Context
from kernlint.rules.helpers import written_out
from kernlint.rules.source import assignments, bound_names, carried_names, names_in, node_at
from kernlint.syntax.names import dotted_name
from kernlint.syntax.tree import children
from kernlint.syntax.walk import walk
from kernlint.workload import Dot, Dtype, Launch, Loop, Operand, Span, Workload
from kernlint.workload import dtype as dt
from kernlint.workload.kernel import Node
from kernlint.workload.steps import map_configurations


@dataclass(frozen=True)
class Product:
    """A dot of fp32 operands of which one at least is a 16-bit tensor that was widened; ``computed`` says that the other is a
    result of the kernel. ``narrow`` is the tensor's type."""

    dot: Dot
    narrow: Dtype
    computed: bool


def products_of_halves(launch: Launch) -> Iterator[tuple[Loop, list[Product]]]:
    """The loops of ``launch`` with such dots, which all come from one 16-bit type, of a kernel that stores nothing wider."""
    if any(store.dtype.bits != 16 or not store.dtype.is_float for store in launch.kernel.stores()):
        return
    for loop, _ in launch.kernel.walk(Loop):
        assert isinstance(loop, Loop)
        found = [_product(node) for node in loop.body if isinstance(node, Dot)]
        products = [one for one in found if one is not None]
        if len({one.narrow for one in products}) == 1:
            yield loop, products


def _product(dot: Dot) -> Product | None:
    narrow = [_widened_from(operand) for operand in (dot.a, dot.b)]
    first = narrow[0] or narrow[1]
    both = all(operand.known and operand.dtype == dt.FLOAT32 for operand in (dot.a, dot.b))
    if first is None or not both or any(one not in (None, first) for one in narrow):
        return None
    # The other operand is a widened tensor too, or computed; a tensor that is fp32 in memory keeps its bits.
    other = dot.b if narrow[0] is not None else dot.a
    computed = None in narrow
    return None if computed and other.direct else Product(dot, first, computed)


def _widened_from(operand: Operand) -> Dtype | None:
    """The 16-bit type that an operand has in memory, where casts alone made it fp32."""
    stored = operand.memory_dtype
    return stored if operand.direct and operand.casts and stored in (dt.FLOAT16, dt.BFLOAT16) else None


def errors_stay(context: Context, loop: Loop) -> bool:
    """Whether what rounding does in one iteration of ``loop`` is not fed back into products of the next: carried values are
    added to, scaled by what does not come from them, or are those of an online softmax."""
    statement = node_at(context, loop.span, cst.For)
    if statement is None:
        return False
    statement = written_out(statement, context.program.kernel)
    if softmax_state(statement, context.program.kernel.imports) is not None:
        return True
    carried = carried_names(statement)
    updates = list(assignments(statement.body))
    reached = _reached(carried, updates)
    return all(_adds_up(update, reached) for update in updates if bound_names(update) & carried)


def _reached(names: set[str], updates: list[cst.Assign | cst.AnnAssign | cst.AugAssign]) -> set[str]:
    """``names`` with those that are computed from them."""
    found, before = set(names), -1
    while len(found) != before:
        before = len(found)
        for update in updates:
            if update.value is not None and names_in(update.value) & found:
                found |= bound_names(update)
    return found


def _adds_up(update: cst.Assign | cst.AnnAssign | cst.AugAssign, reached: set[str]) -> bool:
    """Whether the new value is the old one, added to or scaled by what is not ``reached`` from carried values."""
    value = update.value
    if value is None:
        return False
    if isinstance(update, cst.AugAssign):
        elementwise = isinstance(update.operator, (cst.AddAssign, cst.SubtractAssign, cst.MultiplyAssign))
        return elementwise and not names_in(value) & reached
    bound = bound_names(update)
    if len(bound) != 1:
        return False
    (name,) = bound
    uses = [node for node in walk(value) if isinstance(node, cst.Name) and node.value == name]
    return len(uses) == 1 and not names_in(value) & (reached - bound) and _is_summand(value, name)


def _is_summand(value: cst.BaseExpression, name: str) -> bool:
    """Whether ``name`` reaches ``value`` through sums, elementwise products and as the accumulator of a dot."""
    node: cst.CSTNode = value
    while dotted_name(node) != name:
        if isinstance(node, cst.BinaryOperation):
            if not isinstance(node.operator, (cst.Add, cst.Subtract, cst.Multiply)):
                return False
        elif isinstance(node, cst.Call):
            if (dotted_name(node.func) or "").rsplit(".", 1)[-1] != "dot" or not _accumulates(node, name):
                return False
        elif not isinstance(node, cst.Arg):
            return False
        below = next((child for child in children(node) if name in names_in(child)), None)
        if below is None:
            return False
        node = below
    return True


def _accumulates(dot: cst.Call, name: str) -> bool:
    """Whether ``name`` stands in the accumulator of ``dot``."""
    given = [arg for i, arg in enumerate(dot.args) if (arg.keyword.value == "acc" if arg.keyword else i == 2)]
    return bool(given) and name in names_in(given[0].value)


@dataclass(frozen=True)
class Rounded:
    """The workload with dots of a launch fed operands of the 16-bit type ``dtype``, on the tensor cores."""

    launch: Span
    dots: frozenset[Span]
    dtype: Dtype

    def __call__(self, workload: Workload) -> Workload:
        return map_configurations(workload, self.launch, lambda launch: launch.rewritten(self._node))

    def _node(self, node: Node) -> Node:
        if not isinstance(node, Dot) or node.span not in self.dots:
            return node
        return replace(node, a=self._rounded(node.a), b=self._rounded(node.b), precision="tf32")

    def _rounded(self, operand: Operand) -> Operand:
        return replace(operand, dtype=self.dtype, casts=())
