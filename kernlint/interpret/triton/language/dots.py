"""Products of tiles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.arguments import Handler, takes
from kernlint.interpret.triton.language.arguments import dtype_or
from kernlint.interpret.triton.values import Block
from kernlint.interpret.values import Unknown
from kernlint.records import replace
from kernlint.workload import Dot, Load, Operand
from kernlint.workload import dtype as dt

if TYPE_CHECKING:
    from kernlint.interpret.triton.evaluator import KernelEvaluator


def _beside(operand: Operand, other: Operand) -> Operand:
    """``operand`` with the type that it must have beside ``other``: Triton compiles no dot of two types, but for those of 8 bits."""
    told = not operand.known and other.known and other.dtype.bits > 8
    return replace(operand, dtype=other.dtype, known=True, alike=True) if told else operand


def _product(k: KernelEvaluator, node: cst.CSTNode, *given: Any, of_one_type: bool = True) -> Any:
    a, b, acc = map(k.lift, given[:3])
    precision, allow_tf32, _, out_dtype = given[3:]
    if a is None or b is None or len(a.shape) < 2 or len(b.shape) < 2:
        k.give_up("dot of unknown operands")
        return Unknown("dot")
    out = dtype_or(out_dtype, acc.dtype if acc is not None else None)
    span = k.span(node)
    if span in k.edits.native_dots:
        for moved, other in ((a, b), (b, a)):
            if moved.scaled is not None and moved.scaled.offsets:
                _sum_along(k, other, node)
        a, b, out = _native(k, a), _native(k, b), None
    integer = a.dtype is not None and a.dtype.is_integer
    out = out or (dt.INT32 if integer else dt.FLOAT32)
    if not isinstance(precision, str):
        precision = "ieee" if allow_tf32 is False else "tf32"
    precision = k.new_precisions.get(span, precision)
    m, kk, n = a.shape[-2], a.shape[-1], b.shape[-1]
    accumulates = acc is not None
    left, right = _operand(k, a, -1, _argument(node, 0)), _operand(k, b, -2, _argument(node, 1))
    if of_one_type:
        left, right = _beside(left, right), _beside(right, left)
    k.emit(Dot(k.new_id(), m, n, kk, left, right, out, precision, accumulates, span, math.prod(a.shape[:-2])))
    loads = a.loads | b.loads | (acc.loads if acc is not None else frozenset())
    carried = a.carried | b.carried | (acc.carried if acc is not None else frozenset())
    return Block(out, (*a.shape[:-1], n), loads=loads, carried=carried, fresh=None if accumulates else out)


def _native(k: KernelEvaluator, block: Block) -> Block:
    """``block`` without the casts and factors since it was loaded; their work is dropped from the kernel."""
    if block.origin is None or not block.casts:
        return block
    k.dropped_casts |= {cast.span for cast in block.casts}
    if block.scaled is not None:
        k.dropped_casts |= set(block.scaled.spans)
    return replace(block, dtype=block.casts[0].source, casts=(), source=block.origin, scaled=None)


def _sum_along(k: KernelEvaluator, block: Block, node: cst.CSTNode) -> None:
    """The work of sums of ``block`` along the contracted axis."""
    if block.origin is not None:
        k.compute("arith", "+", replace(block, dtype=dt.INT32), node)


@takes("lhs", "lhs_scale", "lhs_format", "rhs", "rhs_scale", "rhs_format", "acc")
def _dot_scaled(k: KernelEvaluator, node: cst.CSTNode, *given: Any) -> Any:
    lhs, _, _, rhs, _, _, acc = given
    return _product(k, node, lhs, rhs, acc, None, None, None, dt.FLOAT32, of_one_type=False)


def _argument(node: cst.CSTNode, index: int) -> cst.CSTNode:
    return node.args[index].value if isinstance(node, cst.Call) and index < len(node.args) else node


def _operand(k: KernelEvaluator, block: Block, contracted: int, node: cst.CSTNode) -> Operand:
    """What a dot knows of the operand; ``contracted`` is the operand's K dimension."""
    rank = len(block.shape)
    k_dim, other = contracted % rank, (-1 if contracted == -2 else -2) % rank
    k_stride = other_stride = None
    direct = block.origin is not None and len(block.order) == rank
    if direct:
        load = _find_load(k, block.origin)
        if load is None:
            direct = False
        else:
            k_stride = load.stride(block.order[k_dim]) if block.order[k_dim] >= 0 else None
            other_stride = load.stride(block.order[other]) if block.order[other] >= 0 else None
    operand = Operand(
        block.dtype or dt.FLOAT32,
        block.loads,
        block.casts,
        direct,
        k_stride,
        other_stride,
        k.span(node),
        block.origin,
        known=block.dtype is not None,
    )
    scaled = block.scaled
    if scaled is None:
        return operand
    plain = replace(operand, direct=False, casts=(), k_stride=None, other_stride=None, load=None)
    if not direct or block.order[k_dim] in scaled.axes:
        return plain
    factors = tuple(span for span in scaled.spans if span not in scaled.offsets)
    return replace(plain, unscaled=replace(operand, factors=factors, offsets=scaled.offsets))


def _find_load(k: KernelEvaluator, id: int | None) -> Load | None:
    for body in reversed(k.stack):
        found = _search(body, id)
        if found is not None:
            return found
    return None


def _search(body: Any, id: int | None) -> Load | None:
    for node in reversed(body):
        if isinstance(node, Load) and node.id == id:
            return node
        inner = getattr(node, "body", None)
        if inner is not None:
            found = _search(inner, id)
            if found is not None:
                return found
        for arm in getattr(node, "arms", ()):
            found = _search(arm, id)
            if found is not None:
                return found
    return None


_dot = takes("input", "other", "acc", "input_precision", "allow_tf32", "max_num_imprecise_acc", "out_dtype")(_product)

TABLE: dict[str, Handler] = {"dot": _dot, "dot_scaled": _dot_scaled}
