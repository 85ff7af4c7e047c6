"""The types of functions that make tiles and change their shapes, and of hints to the compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.frontend.language.arguments import Shape, dtype_of, shape_of
from kernlint.interpret.frontend.values import Constexpr, Typed, shape_text
from kernlint.interpret.python.arguments import Args, Handler, Kwargs, takes
from kernlint.interpret.python.control import Raised
from kernlint.interpret.values import Unknown
from kernlint.workload import dtype as dt

if TYPE_CHECKING:
    from kernlint.interpret.frontend.evaluator import FrontEnd


@takes("axis")
def _program_id(f: FrontEnd, node: cst.CSTNode, axis: Any) -> Any:
    if isinstance(axis, int) and not 0 <= axis <= 2:
        return f.fault("program-axis", node, f"a grid has the axes 0, 1 and 2; this asks for axis {int(axis)}")
    if isinstance(axis, Typed):
        return f.fault("program-axis", node, "the axis of a program id must be a compile-time constant")
    return Typed(dt.INT32)


@takes("start", "end")
def _arange(f: FrontEnd, node: cst.CSTNode, start: Any, end: Any) -> Any:
    for value in (start, end):
        if isinstance(value, Typed) or (isinstance(value, float) and not isinstance(value, bool)):
            what = "a run-time value" if isinstance(value, Typed) else "a float"
            f.fault("runtime-shape", node, f"the bounds of tl.arange must be compile-time integers; this is {what}")
            return Typed(dt.INT32, (None,))
    if not isinstance(start, int) or not isinstance(end, int):
        return Typed(dt.INT32, (None,))
    count = int(end) - int(start)
    if count <= 0:
        text = f"tl.arange({int(start)}, {int(end)}) is empty: the end must be above the start"
        f.fault("not-power-of-two", node, text)
        return Typed(dt.INT32, (None,))
    if count & (count - 1):
        text = f"tl.arange({int(start)}, {int(end)}) has {count} elements, not a power of two"
        f.fault("not-power-of-two", node, text)
        return Typed(dt.INT32, (None,))
    return f.block(dt.INT32, (count,), node)


@takes("shape", "dtype")
def _zeros(f: FrontEnd, node: cst.CSTNode, shape: Any, dtype: Any) -> Any:
    return _filled(f, shape, "tl.zeros", dtype, node)


@takes("shape", "value", "dtype")
def _full(f: FrontEnd, node: cst.CSTNode, shape: Any, value: Any, dtype: Any) -> Any:
    return _filled(f, shape, "tl.full", dtype, node)


def _filled(f: FrontEnd, shape: Any, what: str, dtype: Any, node: cst.CSTNode) -> Any:
    extents, element = shape_of(f, shape, what, node), dtype_of(f, dtype, node)
    return f.block(element, extents, node) if extents is not None else Unknown("shape")


@takes("input|x", operands=1)
def _alike(f: FrontEnd, node: cst.CSTNode, value: Typed) -> Any:
    return Typed(value.dtype, value.shape, value.pointer)


def _broadcast_to(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = f.operand(args[0])
    shape = shape_of(f, kwargs.get("shape", args[1] if len(args) == 2 else tuple(args[1:])), "tl.broadcast_to", node)
    if value is None or shape is None:
        return Unknown("broadcast_to")
    if value.shape and not spreads(value.shape, shape):
        text = f"a block of shape {shape_text(value.shape)} does not broadcast to {shape_text(shape)}"
        return f.fault("shape-mismatch", node, text)
    return f.block(value.dtype, shape, node, bool(value.pointer))


def spreads(shape: Shape, target: Shape) -> bool:
    """Whether a block of ``shape`` may be spread to ``target``, which must have its rank."""
    return len(shape) == len(target) and all(a is None or b is None or a in (1, b) for a, b in zip(shape, target))


@takes("input", "other", operands=2)
def _broadcast(f: FrontEnd, node: cst.CSTNode, a: Typed, b: Typed) -> Any:
    shape = f.common_shape(a, b, node)
    return Unknown("broadcast") if shape is None else tuple(Typed(x.dtype, shape, x.pointer) for x in (a, b))


@takes("input", "axis", operands=1)
def _expand_dims(f: FrontEnd, node: cst.CSTNode, value: Typed, axis: Any) -> Any:
    axes = [axis] if isinstance(axis, int) else list(axis) if isinstance(axis, tuple) else None
    if axes is None or not all(isinstance(a, int) for a in axes):
        return Unknown("expand_dims")
    shape = list(value.shape)
    for one in axes:
        place = one if one >= 0 else len(shape) + 1 + one
        if not 0 <= place <= len(shape):
            return f.fault("tensor-rank", node, f"axis {int(one)} does not fit a block of {len(shape)} dimensions")
        shape.insert(place, 1)
    return Typed(value.dtype, tuple(shape), value.pointer)


def _trans(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = f.operand(args[0])
    if value is None:
        return Unknown("trans")
    dims = args[1:] if len(args) > 1 else kwargs.get("dims", ())
    if len(dims) == 1 and isinstance(dims[0], (tuple, list)):
        dims = dims[0]
    rank = len(value.shape)
    if not dims:
        if rank < 2:
            return f.fault("tensor-rank", node, f"a block of shape {shape_text(value.shape)} cannot be transposed")
        dims = (*range(rank - 2), rank - 1, rank - 2)
    if not all(isinstance(d, int) for d in dims):
        return Unknown("trans")
    if sorted(d % rank if rank else d for d in dims) != list(range(rank)):
        return f.fault("tensor-rank", node, f"{tuple(map(int, dims))} is no order of {rank} dimensions")
    return Typed(value.dtype, tuple(value.shape[d] for d in dims), value.pointer)


def _reshape(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = f.operand(args[0])
    target = kwargs.get("shape", args[1] if len(args) == 2 else tuple(args[1:]))
    shape = shape_of(f, target, "a reshape", node)
    if value is None or shape is None:
        return Unknown("reshape")
    before, after = _count(value.shape), _count(shape)
    if before is not None and after is not None and before != after:
        text = f"a block of {before} elements cannot take the shape {shape_text(shape)}"
        return f.fault("shape-mismatch", node, text)
    return Typed(value.dtype, shape, value.pointer)


def _count(shape: Shape) -> int | None:
    count = 1
    for extent in shape:
        if extent is None:
            return None
        count *= extent
    return count


@takes("x", operands=1)
def _ravel(f: FrontEnd, node: cst.CSTNode, value: Typed) -> Any:
    return Typed(value.dtype, (_count(value.shape),), value.pointer)


@takes("a", "b", operands=2)
def _join(f: FrontEnd, node: cst.CSTNode, a: Typed, b: Typed) -> Any:
    shape = f.common_shape(a, b, node)
    return Typed(a.dtype, (*shape, 2)) if shape is not None else Unknown("join")


@takes("a", "b", operands=1)
def _interleave(f: FrontEnd, node: cst.CSTNode, a: Typed, b: Any) -> Any:
    if not a.shape:
        return Unknown("interleave")
    last = a.shape[-1]
    return Typed(a.dtype, (*a.shape[:-1], None if last is None else 2 * last))


@takes("a", operands=1)
def _split(f: FrontEnd, node: cst.CSTNode, value: Typed) -> Any:
    if not value.shape:
        return Unknown("split")
    half = Typed(value.dtype, value.shape[:-1])
    return (half, half)


@takes("input", "other", operands=2)
def _cat(f: FrontEnd, node: cst.CSTNode, a: Typed, b: Typed) -> Any:
    return Typed(a.dtype, (None,))


@takes("src", "index", operands=2)
def _gather(f: FrontEnd, node: cst.CSTNode, source: Typed, index: Typed) -> Any:
    return Typed(source.dtype, index.shape)


def _hint(name: str) -> Any:
    @takes("input", "values")
    def hint(f: FrontEnd, node: cst.CSTNode, x: Any, values: Any) -> Any:
        """``tl.multiple_of(x, values)`` and its like: one value for each dimension of ``x``."""
        if isinstance(x, Typed) and not x.argument and isinstance(values, (int, Constexpr, tuple)):
            given = len(values) if isinstance(values, tuple) else 1
            wanted = max(1, len(x.shape)) if name == "multiple_of" else len(x.shape)
            if given != wanted:
                text = (
                    f"`tl.{name}` is given {given} {'value' if given == 1 else 'values'} for {len(x.shape)} dimensions; "
                    "it takes one for each"
                )
                f.fault("hint-rank", node, text, name)
        return x if x is not None else Unknown("hint")

    return hint


def _nothing(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    return None


@takes("cond")
def _static_assert(f: FrontEnd, node: cst.CSTNode, condition: Any) -> Any:
    if condition is False:
        if not f.doubts:
            f.fault("static-assert", node, "the assertion fails at compile time")
        raise Raised  # the author's own refusal


def _constexpr(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    return args[0] if args else Unknown("constexpr")


TABLE: dict[str, Handler] = {
    **dict.fromkeys(("program_id", "num_programs"), _program_id),
    "arange": _arange,
    "zeros": _zeros,
    "full": _full,
    **dict.fromkeys(("zeros_like", "full_like", "flip", "sort", "softmax", "abs", "clamp"), _alike),
    "broadcast_to": _broadcast_to,
    "broadcast": _broadcast,
    "expand_dims": _expand_dims,
    **dict.fromkeys(("trans", "permute"), _trans),
    **dict.fromkeys(("reshape", "view"), _reshape),
    "ravel": _ravel,
    "join": _join,
    "interleave": _interleave,
    "split": _split,
    "cat": _cat,
    "gather": _gather,
    **{name: _hint(name) for name in ("multiple_of", "max_contiguous", "max_constancy")},
    "static_assert": _static_assert,
    **dict.fromkeys("assume static_print device_print device_assert debug_barrier".split(), _nothing),
    "constexpr": _constexpr,
}
