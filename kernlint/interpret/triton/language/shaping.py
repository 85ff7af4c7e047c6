"""Functions that make tiles and change their shapes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.arguments import Args, Handler, Kwargs, takes
from kernlint.interpret.triton.language.arguments import dtype_or, integer, tile_shape
from kernlint.interpret.triton.tiles import align, expand, permute
from kernlint.interpret.triton.values import Block
from kernlint.interpret.values import Unknown
from kernlint.workload import Dtype, Expr
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import Lane

if TYPE_CHECKING:
    from kernlint.interpret.triton.evaluator import KernelEvaluator


@takes("start", "end")
def _arange(k: KernelEvaluator, node: cst.CSTNode, start: Any, end: Any) -> Any:
    first, after = integer(start), integer(end)
    if first is None or after is None:
        k.give_up("tl.arange bounds are not constants")
        return Unknown("arange")
    if after < first:
        k.give_up("tl.arange ends before it starts")
        return Unknown("arange")
    return Block(dt.INT32, (after - first,), Expr.atom(Lane(0)) + first)


@takes("shape", "dtype")
def _zeros(k: KernelEvaluator, node: cst.CSTNode, shape: Any, dtype: Any) -> Any:
    extents, dtype = tile_shape(k, shape), dtype_or(dtype, dt.FLOAT32)
    return Block(dtype, extents, _zero(dtype), constant=0.0) if extents is not None else Unknown("shape")


@takes("shape", "value", "dtype")
def _full(k: KernelEvaluator, node: cst.CSTNode, shape: Any, given: Any, dtype: Any) -> Any:
    extents, value = tile_shape(k, shape), k.lift(given)
    dtype = dtype_or(dtype, value.dtype if value else None)
    if extents is None:
        return Unknown("shape")
    expr = value.expr if value is not None and dtype is not None and dtype.is_integer else None
    return Block(dtype, extents, expr, constant=value.constant if value else None)


def _zero(dtype: Dtype | None) -> Expr | None:
    return Expr.constant(0) if dtype is not None and dtype.is_integer else None


@takes("input")
def _zeros_like(k: KernelEvaluator, node: cst.CSTNode, value: Any) -> Any:
    if not isinstance(value, Block):
        return value
    return Block(value.dtype, value.shape, _zero(value.dtype), constant=0.0)


def _broadcast_to(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = k.lift(args[0])
    target = args[1] if len(args) == 2 or not args[1:] else tuple(args[1:])
    shape = tile_shape(k, kwargs.get("shape", target))
    if value is None or shape is None:
        return Unknown("broadcast_to")
    return align(value, shape)


@takes("input", "axis")
def _expand_dims(k: KernelEvaluator, node: cst.CSTNode, value: Any, axis: Any) -> Any:
    axes = [axis] if isinstance(axis, int) else list(axis) if isinstance(axis, (tuple, list)) else None
    if not isinstance(value, Block) or axes is None:
        return Unknown("expand_dims")
    for a in axes:
        position = a if a >= 0 else len(value.shape) + 1 + a
        index: list[Any] = [slice(None)] * len(value.shape)
        index.insert(position, None)
        value = expand(value, tuple(index))
    return value


def _trans(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = args[0]
    if not isinstance(value, Block):
        return Unknown("trans")
    dims = args[1:] if len(args) > 1 else kwargs.get("dims", ())
    if len(dims) == 1 and isinstance(dims[0], (tuple, list)):
        dims = dims[0]
    rank = len(value.shape)
    order = (
        tuple(integer(d) or 0 for d in dims) if dims else (*range(rank - 2), rank - 1, rank - 2) if rank >= 2 else (0,)
    )
    return permute(value, order)


def _reshape(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = k.lift(args[0])
    target = kwargs.get("shape", args[1] if len(args) == 2 else tuple(args[1:]))
    shape = tile_shape(k, target)
    if value is None or shape is None:
        return Unknown("reshape")
    if shape == value.shape:
        return value
    expr = None
    if value.expr is not None:
        lanes = {a.dim for a in value.expr.atoms() if isinstance(a, Lane)}
        expr = value.expr if not lanes else _reshape_expr(value, shape)
    return value.computed(shape=shape, expr=expr, base=value.base, constant=value.constant)


def _reshape_expr(value: Block, shape: tuple[int, ...]) -> Expr | None:
    """The index expression of a reshaped tile: each old lane written through the new row-major position."""
    if value.expr is None:
        return None
    flat = Expr.constant(0)
    for dim, extent in enumerate(shape):
        flat = flat * extent + (Expr.atom(Lane(dim)) if extent > 1 else 0)
    places: dict[int, ex.Size] = {}
    weight = 1
    for dim in reversed(range(len(value.shape))):
        place: ex.Size = ex.floordiv(flat, weight)
        if dim > 0:
            place = ex.mod(place, value.shape[dim])
        places[dim] = place
        weight *= value.shape[dim]
    return value.expr.rewrite(lambda a: places[a.dim] if isinstance(a, Lane) and a.dim in places else None)


@takes("x", operands=1)
def _ravel(k: KernelEvaluator, node: cst.CSTNode, value: Block) -> Any:
    return _reshape(k, [value, (math.prod(value.shape),)], {}, node)


@takes("a", "b", operands=2)
def _join(k: KernelEvaluator, node: cst.CSTNode, a: Block, b: Block) -> Any:
    return a.computed(shape=(*a.shape, 2), loads=a.loads | b.loads)


@takes("a", "b", operands=2)
def _interleave(k: KernelEvaluator, node: cst.CSTNode, a: Block, b: Block) -> Any:
    if not a.shape:
        return Unknown("interleave")
    return a.computed(shape=(*a.shape[:-1], 2 * a.shape[-1]), loads=a.loads | b.loads)


@takes("a", operands=1)
def _split(k: KernelEvaluator, node: cst.CSTNode, a: Block) -> Any:
    half = a.computed(shape=a.shape[:-1])
    return (half, half) if a.shape else Unknown("split")


@takes("input", "other", operands=2)
def _cat(k: KernelEvaluator, node: cst.CSTNode, a: Block, b: Block) -> Any:
    if not a.shape:
        return Unknown("cat")
    return a.computed(shape=(a.shape[0] + b.shape[0], *a.shape[1:]), loads=a.loads | b.loads)


@takes("src", "index", operands=2)
def _gather(k: KernelEvaluator, node: cst.CSTNode, source: Block, index: Block) -> Any:
    return source.computed(shape=index.shape, loads=source.loads | index.loads)


@takes("x")
def _flip(k: KernelEvaluator, node: cst.CSTNode, value: Any) -> Any:
    return value.computed()


TABLE: dict[str, Handler] = {
    "arange": _arange,
    "zeros": _zeros,
    "full": _full,
    "zeros_like": _zeros_like,
    "full_like": lambda k, a, kw, n: _full(k, [a[0].shape, *a[1:]], {"dtype": a[0].dtype, **kw}, n),
    "broadcast_to": _broadcast_to,
    "broadcast": lambda k, a, kw, n: tuple(a),
    "expand_dims": _expand_dims,
    **dict.fromkeys(("trans", "permute"), _trans),
    **dict.fromkeys(("reshape", "view"), _reshape),
    **dict.fromkeys(("ravel", "flatten"), _ravel),
    "join": _join,
    "interleave": _interleave,
    "split": _split,
    "cat": _cat,
    "flip": _flip,
    "gather": _gather,
}
