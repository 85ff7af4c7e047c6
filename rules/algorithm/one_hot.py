"""Rows of zeros with a one each, and their product with a table."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kernlint.records import dataclass
from kernlint.rules.finding import Context
from kernlint.rules.proofs.dataflow import storages
from kernlint.rules.proofs.liveness import uses
from kernlint.rules.proofs.source_text import node_at
from kernlint.syntax.names import dotted_name
from kernlint.workload import (
    Compute,
    Dot,
    Expr,
    Lane,
    Launch,
    Load,
    Loop,
    Step,
    Tensor,
    TorchOp,
    concrete,
)
from kernlint.workload.expr import LoopIndex

_ZEROS = frozenset({"zeros", "zeros_like", "new_zeros", "zero_"})
_SCATTERS = frozenset({"scatter", "scatter_"})


@dataclass(frozen=True)
class OneHotProduct:
    """``reader`` multiplies ``rows`` (one row for each of the class numbers ``ids``, [n, classes]), which ``ops`` make and
    nothing else reads, with ``table``, [classes, width]."""

    ops: tuple[TorchOp, ...]
    ids: Tensor
    rows: Tensor
    reader: Launch | TorchOp
    table: Tensor


def one_hot_products(context: Context) -> Iterator[OneHotProduct]:
    """The products of one-hot rows with a table among the steps of the call that no loop repeats."""
    workload = context.workload
    for step in workload.steps:
        made = _one_hot(context, step) if isinstance(step, TorchOp) else None
        while made is not None:
            ops, ids = made
            rows = ops[-1].writes[0]
            users = [one for one, loops in uses(workload, rows.storage.id) if not loops and one not in ops]
            looped = any(loops for _, loops in uses(workload, rows.storage.id))
            if looped or len(users) != 1 or rows.storage.id in storages([*workload.outputs]):
                break
            (user,) = users
            if isinstance(user, TorchOp) and user.kind == "cast" and len(user.writes) == 1:
                made = ((*ops, user), ids)
                continue
            table = _table(user, rows)
            if table is not None:
                assert isinstance(user, (Launch, TorchOp))
                yield OneHotProduct(ops, ids, rows, user, table)
            break


def _one_hot(context: Context, op: TorchOp) -> tuple[tuple[TorchOp, ...], Tensor] | None:
    """The calls up to ``op`` that make one-hot rows, and the class numbers; None where that is not proven."""
    name = op.name.rsplit(".", 1)[-1]
    if len(op.writes) != 1 or not op.reads:
        return None
    if len(op.writes[0].extents or ()) < 2:
        return None
    if name == "one_hot":
        return (op,), op.reads[0]
    return _scattered(context, op) if name in _SCATTERS else None


def _scattered(context: Context, op: TorchOp) -> tuple[tuple[TorchOp, ...], Tensor] | None:
    """Zeros into which ``op`` puts a one in each row."""
    if len(op.reads) != 2 or len(op.writes[0].shape or ()) != 2:
        return None
    target, ids = op.reads
    call = node_at(context, op.span, cst.Call)
    if call is None or not _is_one_a_row(call, op.name) or not _one_each(ids, target):
        return None
    before = [step for step, _ in uses(context.workload, target.storage.id)]
    position = next(i for i, step in enumerate(before) if step is op)
    if position != 1 or (op.name == "scatter" and len(before) != 2):
        return None
    zeros = before[0]
    if (
        not isinstance(zeros, TorchOp)
        or zeros.name.rsplit(".", 1)[-1] not in _ZEROS
        or zeros.writes[0].numel != target.numel
    ):
        return None
    return (zeros, op), ids


def _is_one_a_row(call: cst.Call, name: str) -> bool:
    """Whether ``call`` scatters the number one along the last of two dimensions."""
    keywords = {argument.keyword.value: argument.value for argument in call.args if argument.keyword is not None}
    given = [argument.value for argument in call.args if argument.keyword is None]
    if dotted_name(call.func) == f"torch.{name}":
        given = given[1:]
    if any(argument.star for argument in call.args) or set(keywords) - {"dim", "index", "value", "src", "input"}:
        return False
    values = dict(zip(("dim", "index", "value"), given)) | keywords
    value = values.get("value", values.get("src"))
    return _number(values.get("dim")) in (1, -1) and _number(value) == 1


def _number(node: cst.BaseExpression | None) -> float | None:
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        inner = _number(node.expression)
        return None if inner is None else -inner
    return node.evaluated_value if isinstance(node, (cst.Integer, cst.Float)) else None


def _one_each(ids: Tensor, rows: Tensor) -> bool:
    """Whether ``ids`` is one class number for each of the ``rows``."""
    shape, wanted = ids.shape or (), rows.shape or ()
    return _is_index(ids) and len(shape) == 2 and concrete(shape[1]) == 1 and concrete(shape[0]) == concrete(wanted[0])


def _is_index(tensor: Tensor) -> bool:
    return tensor.dtype is not None and tensor.dtype.is_integer


def _table(user: Step, rows: Tensor) -> Tensor | None:
    """What ``user`` multiplies ``rows`` with: a table with rows that lie together."""
    classes = concrete(rows.shape[-1]) if rows.shape else None
    if isinstance(user, TorchOp):
        fits = user.kind == "matmul" and len(user.reads) == 2 and len(user.writes) == 1
        left, table = user.reads if fits else (None, None)
        if left is None or table is None or left.storage.id != rows.storage.id or not left.is_contiguous:
            return None
        shape = table.shape or ()
        whole = len(shape) == 2 and concrete(shape[0]) == classes and table.is_contiguous
        return table if whole and left.shape and concrete(left.shape[-1]) == classes else None
    if isinstance(user, Launch):
        found = _product(user, rows)
        return user.tensor(found.base) if found is not None else None
    return None


def _product(launch: Launch, rows: Tensor) -> Load | None:
    """The load of the table in the loop over the classes, whose one dot multiplies it with one-hot rows."""
    kernel = launch.kernel
    dots = list(kernel.walk(Dot))
    if not kernel.complete or launch.autotuned or launch.programs is None or len(dots) != 1 or not rows.is_contiguous:
        return None
    dot, loops = dots[0]
    left = kernel.load(dot.a.load) if dot.a.load is not None else None
    right = kernel.load(dot.b.load) if dot.b.load is not None else None
    if len(loops) != 1 or left is None or right is None or left.offset is None or right.offset is None:
        return None
    loop, classes = loops[0], concrete(rows.shape[-1]) if rows.shape else None
    read = [load for load in kernel.loads() if (t := launch.tensor(load.base)) and t.storage.id == rows.storage.id]
    trip = concrete(loop.trip)
    index = LoopIndex(loop.id)
    if len(read) != 1 or read[0] is not left or classes is None or trip is None or trip * dot.k < classes:
        return None
    if not any(loop is node for node in kernel.body) or any(isinstance(node, Loop) for node in loop.body):
        return None
    # Beside the product there is the sum: what is scaled or decays on the way is something else.
    beside = [node for node in loop.body if isinstance(node, Compute) and node.kind != "cast" and node.elements > dot.k]
    plain = all(isinstance(node, (Load, Dot, Compute)) for node in loop.body)
    if not plain or len(beside) > 1 or len([node for node in loop.body if isinstance(node, Load)]) != 2:
        return None
    if left.shape != (dot.m, dot.k) or right.shape != (dot.k, dot.n):
        return None
    # The product runs over all classes of a row, and over the rows of the table that belong to them.
    steps = [concrete(load.offset.coefficient(index) or 0) for load in (left, right) if load.offset is not None]
    depth = concrete(right.stride(0))
    along = concrete(left.stride(1)) == 1 and concrete(left.stride(0)) == classes
    if not along or not depth or concrete(right.stride(1)) != 1 or steps != [dot.k, dot.k * depth]:
        return None
    start = left.offset - Expr.atom(Lane(1)) - Expr.atom(index) * dot.k
    if {Lane(1), index} & start.atoms() or any(c % classes for c in start.terms.values()):
        return None
    return right
