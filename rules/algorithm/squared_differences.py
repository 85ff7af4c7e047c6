"""Squared distances of rows to rows, formed by subtracting element by element: ``|x|^2 - 2 x.c + |c|^2`` is a product."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import libcst as cst

from kernlint.records import dataclass
from kernlint.rules.algorithm.kl502_broadcast_multiply_sum_matmul import broadcast_products
from kernlint.rules.algorithm.outer_product import added_to, is_axis, is_vector
from kernlint.rules.finding import Context
from kernlint.rules.proofs.jit_functions import jit_functions
from kernlint.rules.proofs.source_text import assignments, bound_names, node_at
from kernlint.syntax.names import origin_of
from kernlint.syntax.tree import Module
from kernlint.workload import Compute, Dtype, Launch, Load, Loop, Reduce, Size
from kernlint.workload.dtype import promote

#: The least extent of a tile that `tl.dot` takes.
_LEAST = 16
#: A difference and its square, the difference perhaps written twice.
_SQUARED = frozenset({("arith",) * 2, ("arith",) * 3})
_SQUARED_AND_ADDED = frozenset({("arith",) * 3, ("arith",) * 4})
#: Names, parameters and helpers that a square may be behind.
_DEEPEST = 8


@dataclass(frozen=True)
class SquaredDifferences:
    """A tile of sums of ``(rows - columns) ** 2`` over the axis that two loaded tiles share.

    ``at`` is the `tl.sum` of a tile with all three axes, or the loop that adds one slice of it in each iteration; ``last`` is the
    arithmetic that the sum is known by in the source.
    """

    at: Reduce | Loop
    rows: Load
    columns: Load
    m: int
    n: int
    depth: Size
    last: Compute

    @property
    def dtype(self) -> Dtype:
        return promote(self.rows.dtype, self.columns.dtype)


def squared_differences(launch: Launch) -> Iterator[SquaredDifferences]:
    """The sums of ``launch`` that may be of squared differences, by what is loaded and how much arithmetic there is: that it
    is a square of a difference says only the source (`is_squared_difference`)."""
    for found in broadcast_products(launch, _SQUARED):
        loads, wide = (found.a.load, found.b.load), [node for node in found.product if node.kind != "cast"]
        if min(found.m, found.n, found.k) >= _LEAST and all(load.dtype.is_float for load in loads):
            yield SquaredDifferences(found.reduce, *loads, found.m, found.n, found.k, wide[-1])
    for loop, _ in launch.kernel.walk(Loop):
        assert isinstance(loop, Loop)
        one = _summed_by_loop(loop)
        if one is not None:
            yield one


def _summed_by_loop(loop: Loop) -> SquaredDifferences | None:
    loads = [node for node in loop.body if isinstance(node, Load)]
    if len(loads) != 2 or not all(isinstance(node, (Load, Compute)) for node in loop.body) or loop.trip is None:
        return None
    if not all(is_vector(load) and load.dtype.is_float and load.dtype.bits <= 32 for load in loads):
        return None
    if not is_axis(loop, loads):
        return None
    rows, columns = loads if loads[0].shape[-1] == 1 or len(loads[1].shape) == 1 else loads[::-1]
    whole = rows.elements * columns.elements
    wide = [node for node in loop.body if isinstance(node, Compute) and node.elements == whole]
    kinds = tuple(node.kind for node in wide if node.kind != "cast")
    if kinds not in _SQUARED_AND_ADDED:
        return None
    return SquaredDifferences(loop, rows, columns, rows.elements, columns.elements, loop.trip, wide[-1])


# -- what the source says ----------------------------------------------------------------------------------------------


def is_squared_difference(context: Context, found: SquaredDifferences) -> bool:
    """Whether the source squares a difference and adds it up, or sums a tile of such."""
    module = context.program.kernel
    text = _Text(module)
    if isinstance(found.at, Reduce):
        call = node_at(context, found.at.span, cst.Call)
        summed = _summed(call, module) if call is not None else None
        return call is not None and summed is not None and text.is_square(_Here(summed, text.function_of(call), {}))
    loop = node_at(context, found.at.span, cst.For)
    if loop is None:
        return False
    for update in assignments(loop.body):
        names = bound_names(update)
        if len(names) == 1 and found.last.span in {module.span(n) for n in (update, update.value) if n is not None}:
            added = added_to(update, *names)
            return added is not None and text.is_square(_Here(added, text.function_of(update), {}))
    return False


def _summed(call: cst.Call, module: Module) -> cst.BaseExpression | None:
    """What `tl.sum(tile, axis)`, whatever the module calls it, or `tile.sum(axis)` sums."""
    is_function = (origin_of(call.func, module.imports) or "").startswith("triton.")
    if not is_function and isinstance(call.func, cst.Attribute):
        return call.func.value
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == "input":
            return arg.value
    return next((arg.value for arg in call.args if arg.keyword is None and not arg.star), None)


@dataclass(frozen=True)
class _Here:
    """An expression with the function that it stands in and what the function's parameters are given."""

    node: cst.BaseExpression
    function: cst.FunctionDef | None
    given: Mapping[str, _Here]


class _Text:
    """Follows names to what they were last bound to, and calls of helpers to what these return."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.helpers = {function.name: function.node for function in jit_functions(module)}

    def function_of(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The jit function that ``node`` stands in."""
        kind = type(node)
        inside = (f for f in self.helpers.values() if any(one is node for one in self.module.within(f, kind)))
        return next(inside, None)

    def is_square(self, here: _Here) -> bool:
        """Whether the value is a difference times itself."""
        product = self._resolved(here)
        node = product.node
        if not isinstance(node, cst.BinaryOperation) or not isinstance(node.operator, cst.Multiply):
            return False
        left, right = (self._resolved(replace(product, node=side)) for side in (node.left, node.right))
        alike = left.node is right.node or (left.function is right.function and left.node.deep_equals(right.node))
        return alike and isinstance(left.node, cst.BinaryOperation) and isinstance(left.node.operator, cst.Subtract)

    def _resolved(self, here: _Here) -> _Here:
        for _ in range(_DEEPEST):
            further = self._step(here)
            if further is None:
                return here
            here = further
        return here

    def _step(self, here: _Here) -> _Here | None:
        node = here.node
        if isinstance(node, cst.Name):
            if node.value in here.given:
                return here.given[node.value]
            bound = (
                [one for one in assignments(here.function.body) if node.value in bound_names(one)]
                if here.function
                else []
            )
            value = bound[0].value if len(bound) == 1 and not isinstance(bound[0], cst.AugAssign) else None
            return replace(here, node=value) if value is not None else None
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "to":
            return replace(here, node=node.func.value)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in self.helpers:
            return self._result(here, node, self.helpers[node.func.value])
        return None

    def _result(self, here: _Here, call: cst.Call, helper: cst.FunctionDef) -> _Here | None:
        """What ``helper`` returns, where it has one return."""
        names = [parameter.name.value for parameter in helper.params.params]
        returns = self.module.within(helper, cst.Return)
        if len(returns) != 1 or returns[0].value is None or len(call.args) > len(names):
            return None
        if any(arg.star for arg in call.args):
            return None
        given = {
            arg.keyword.value if arg.keyword is not None else names[position]: replace(here, node=arg.value)
            for position, arg in enumerate(call.args)
        }
        return _Here(returns[0].value, helper, given)
