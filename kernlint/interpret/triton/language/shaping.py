"""Functions that make tiles and change their shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.arguments import Args, Handler, Kwargs, argument
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


def _arange(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    start, end = integer(argument(args, kwargs, 0, "start")), integer(argument(args, kwargs, 1, "end"))
    if start is None or end is None:
        k.give_up("tl.arange bounds are not constants")
        return Unknown("arange")
    if end < start:
        k.give_up("tl.arange ends before it starts")
        return Unknown("arange")
    return Block(dt.INT32, (end - start,), Expr.atom(Lane(0)) + start)


def _zeros(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    shape = tile_shape(k, argument(args, kwargs, 0, "shape"))
    dtype = dtype_or(argument(args, kwargs, 1, "dtype"), dt.FLOAT32)
    return Block(dtype, shape, _zero(dtype), constant=0.0) if shape is not None else Unknown("shape")


def _full(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    shape = tile_shape(k, argument(args, kwargs, 0, "shape"))
    value = k.lift(argument(args, kwargs, 1, "value"))
    dtype = dtype_or(argument(args, kwargs, 2, "dtype"), value.dtype if value else None)
    if shape is None:
        return Unknown("shape")
    expr = value.expr if value is not None and dtype is not None and dtype.is_integer else None
    return Block(dtype, shape, expr, constant=value.constant if value else None)


def _zero(dtype: Dtype | None) -> Expr | None:
    return Expr.constant(0) if dtype is not None and dtype.is_integer else None


def _zeros_like(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    if not isinstance(args[0], Block):
        return args[0]
    return Block(args[0].dtype, args[0].shape, _zero(args[0].dtype), constant=0.0)


def _broadcast_to(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = k.lift(args[0])
    target = args[1] if len(args) == 2 or not args[1:] else tuple(args[1:])
    shape = tile_shape(k, kwargs.get("shape", target))
    if value is None or shape is None:
        return Unknown("broadcast_to")
    return align(value, shape)


def _expand_dims(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value, axis = args[0], argument(args, kwargs, 1, "axis")
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


def _ravel(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = args[0]
    if not isinstance(value, Block):
        return Unknown("ravel")
    count = 1
    for extent in value.shape:
        count *= extent
    return _reshape(k, [value, (count,)], {}, node)


def _join(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    a, b = k.lift(args[0]), k.lift(args[1])
    if a is None or b is None:
        return Unknown("join")
    return a.computed(shape=(*a.shape, 2), loads=a.loads | b.loads)


def _interleave(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    a, b = k.lift(args[0]), k.lift(args[1])
    if a is None or b is None or not a.shape:
        return Unknown("interleave")
    return a.computed(shape=(*a.shape[:-1], 2 * a.shape[-1]), loads=a.loads | b.loads)


def _split(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    if not isinstance(args[0], Block) or not args[0].shape:
        return Unknown("split")
    half = args[0].computed(shape=args[0].shape[:-1])
    return (half, half)


def _cat(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    a, b = k.lift(args[0]), k.lift(args[1])
    if a is None or b is None or not a.shape:
        return Unknown("cat")
    return a.computed(shape=(a.shape[0] + b.shape[0], *a.shape[1:]), loads=a.loads | b.loads)


def _gather(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    source, index = k.lift(args[0]), k.lift(argument(args, kwargs, 1, "index"))
    if source is None or index is None:
        return Unknown("gather")
    return source.computed(shape=index.shape, loads=source.loads | index.loads)


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
    "flip": lambda k, a, kw, n: a[0].computed(),
    "gather": _gather,
}
