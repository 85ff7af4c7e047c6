"""A product that each step of a K loop multiplies by the same factor before it is added up."""

from __future__ import annotations

import libcst as cst

from kernlint.records import dataclass, replace
from kernlint.rules.proofs.called_functions import written_out
from kernlint.rules.proofs.launch_change import LaunchChange
from kernlint.rules.proofs.source_text import assignments, bound_names, loop_variables, names_in, statements
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import joined_by, walk
from kernlint.workload import Compute, Dot, Launch, Loop, Node, Span
from kernlint.workload.synthesis import arith

#: Calls that give the same in each iteration when their arguments do.
_PURE = frozenset({"to", "exp", "exp2", "sqrt", "rsqrt", "abs"})


@dataclass(frozen=True)
class ScaledProduct:
    """``accumulator += dot * factors`` in ``loop``: ``update`` is that statement, ``product`` the name that holds the dot
    on the way to it, if any."""

    loop: cst.For
    update: cst.Assign | cst.AugAssign
    accumulator: str
    dot: cst.Call
    product: str
    factors: tuple[cst.BaseExpression, ...]


def scaled_product(module: Module, dot: Dot, loop: Loop) -> ScaledProduct | None:
    """The update of ``loop`` that adds ``dot`` times factors which no iteration changes; None where it has another form, or
    where the accumulator is anything but that sum, from zeros on."""
    if loop.span.file != module.path or dot.span.file != module.path or dot.accumulates:
        return None
    node = module.at(loop.span, cst.For)
    call = module.at(dot.span, cst.Call)
    if node is None or call is None or node.orelse is not None:
        return None
    body = list(statements(node.body))
    changed = loop_variables(node) | {n for one in assignments(node.body) for n in bound_names(one)}
    for update in body:
        found = _update(update)
        if found is None:
            continue
        accumulator, term = found
        factors = list(joined_by(term, cst.Multiply))
        products = [factor for factor in factors if factor is call or _names_dot(factor, body, call)]
        others = [factor for factor in factors if not any(factor is one for one in products)]
        if len(products) != 1 or not others or any(names_in(factor) & changed for factor in others):
            continue
        if all(map(_is_pure, others)) and _is_plain_sum(module, node, accumulator):
            product = products[0].value if isinstance(products[0], cst.Name) else ""
            assert isinstance(update, (cst.Assign, cst.AugAssign))
            return ScaledProduct(node, update, accumulator, call, product, tuple(others))
    return None


def _update(statement: cst.CSTNode) -> tuple[str, cst.BaseExpression] | None:
    """(accumulator, what is added to it)."""
    if isinstance(statement, cst.AugAssign) and isinstance(statement.operator, cst.AddAssign):
        return (statement.target.value, statement.value) if isinstance(statement.target, cst.Name) else None
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return None
    target, value = statement.targets[0].target, statement.value
    if isinstance(target, cst.Name) and isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Add):
        for one, other in ((value.left, value.right), (value.right, value.left)):
            if isinstance(one, cst.Name) and one.value == target.value:
                return target.value, other
    return None


def _names_dot(factor: cst.BaseExpression, body: list[cst.CSTNode], call: cst.Call) -> bool:
    """Whether ``factor`` is a name that one statement of the loop gives the dot, and nothing else reads."""
    if not isinstance(factor, cst.Name):
        return False
    bound = [s for s in body if isinstance(s, cst.Assign) and s.value is call]
    uses = [n for s in body for n in walk(s) if isinstance(n, cst.Name) and n.value == factor.value]
    return len(bound) == 1 and bound_names(bound[0]) == {factor.value} and len(uses) == 2


def _is_pure(factor: cst.BaseExpression) -> bool:
    calls = [node for node in walk(factor) if isinstance(node, cst.Call)]
    return all(isinstance(call.func, cst.Attribute) and call.func.attr.value in _PURE for call in calls)


def _is_plain_sum(module: Module, loop: cst.For, accumulator: str) -> bool:
    """Whether nothing else in ``loop`` touches the accumulator, and it starts from zeros."""
    names = [n for n in walk(loop.body) if isinstance(n, cst.Name) and n.value == accumulator]
    if len(names) > 2:
        return False
    function = None
    for outer in walk(module.tree):
        if isinstance(outer, cst.FunctionDef) and any(inner is loop for inner in walk(outer.body)):
            function = outer
    if function is None:
        return False
    first: cst.Assign | cst.AnnAssign | cst.AugAssign | None = None
    for statement in function.body.body:
        if statement is loop:
            break
        for one in assignments(statement):
            if accumulator in bound_names(one):
                first = one
    value = written_out(first.value, module) if isinstance(first, cst.Assign) else None
    if not isinstance(value, cst.Call) or not isinstance(value.func, cst.Attribute):
        return False
    updates = sum(accumulator in bound_names(one) for one in assignments(loop.body))
    return value.func.attr.value == "zeros" and updates == 1


@dataclass(frozen=True)
class ScaleBehindLoop(LaunchChange):
    """The workload with the factors of one product applied once, behind the loop, and the sum left to the dot."""

    dot: Span
    #: Where the arithmetic stands that goes.
    gone: frozenset[Span]

    def _changed(self, launch: Launch) -> Launch:
        dot = next((node for node in launch.kernel.dots() if node.span == self.dot), None)
        if dot is None:
            return launch

        def change(node: Node) -> Node | None:
            if isinstance(node, Compute) and node.kind == "arith" and node.span in self.gone:
                return None
            return replace(node, accumulates=True) if node is dot else node

        changed = launch.rewritten(change)
        body: list[Node] = []
        for node in changed.kernel.body:
            body.append(node)
            if isinstance(node, Loop) and any(isinstance(inner, Dot) and inner.span == self.dot for inner in node.body):
                body.append(arith(dot.m * dot.n * dot.batch, self.dot))
        return replace(changed, kernel=replace(changed.kernel, body=tuple(body)))
