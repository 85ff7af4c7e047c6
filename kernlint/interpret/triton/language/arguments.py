"""How functions of `triton.language` take their arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernlint.interpret.triton.values import Block
from kernlint.workload import Dtype, Expr
from kernlint.workload import expr as ex

if TYPE_CHECKING:
    from kernlint.interpret.triton.evaluator import KernelEvaluator


def integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value
    if isinstance(value, Block) and value.expr is not None:
        return value.expr.value
    return None


def tile_shape(k: KernelEvaluator, value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, (tuple, list)):
        value = (value,)
    extents = [integer(v) for v in value]
    if any(e is None or e < 0 for e in extents):
        k.give_up("tile shape is not a constant")
        return None
    return tuple(e for e in extents if e is not None)


def size_of(value: Any) -> ex.Size | None:
    if isinstance(value, Block):
        return ex.simplify(value.expr) if value.expr is not None else None
    if isinstance(value, (int, Expr)) and not isinstance(value, bool):
        return value
    return None


def dtype_or(value: Any, default: Dtype | None) -> Dtype | None:
    return value if isinstance(value, Dtype) else default
