"""The types of ``triton.language`` functions: what each takes, and the type of its result.

One table, by the function's last name: ``tl.exp``, ``tl.math.exp``, ``libdevice.exp`` and ``x.exp()`` are typed alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.api import keywords
from kernlint.interpret.frontend_values import (
    BlockPointer,
    Constexpr,
    Typed,
    bearing,
    computation,
    is_constant,
    shape_text,
    short,
    tensor,
)
from kernlint.interpret.values import Builtin, Namespace, Unknown
from kernlint.records import dataclass, replace
from kernlint.workload import Dtype
from kernlint.workload import dtype as dt

if TYPE_CHECKING:
    from kernlint.interpret.frontend import FrontEnd

Args = list[Any]
Kwargs = dict[str, Any]
Shape = tuple["int | None", ...]

#: Iterations of a ``tl.static_range`` that are looked at one by one.
MAX_UNROLLED = 8


@dataclass(frozen=True)
class Range:
    """``range``, ``tl.range`` or ``tl.static_range`` with the type of its variable; bounds are kept where static."""

    static: bool
    dtype: Dtype | None = dt.INT32
    bounds: tuple[Any, ...] = ()

    def values(self) -> list[int] | None:
        """The values of a static range; None where a bound is not known."""
        if not all(isinstance(b, int) for b in self.bounds) or not self.bounds:
            return None
        try:
            found = range(*self.bounds)
        except (TypeError, ValueError):
            return None
        return list(found[:MAX_UNROLLED])


def constant(name: str) -> Dtype | None:
    """The element type that ``tl.name`` is, if it is one."""
    return dt.find(name) if name not in ("float", "int", "long", "short", "double", "half", "bool") else None


def call(f: FrontEnd, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode, path: str = "") -> Any:
    """The type of ``tl.name(*args, **kwargs)``; Unknown where it is not known."""
    handler = _TABLE.get(name)
    try:
        if handler is not None:
            return handler(f, args, kwargs, node)
        if name in _REDUCTIONS:
            return _reduce(f, name, args, kwargs, node)
        if name in _ELEMENTWISE:
            return _elementwise(f, name, args, kwargs, node, path or f"triton.language.{name}")
        if name.startswith("atomic_"):
            return _atomic(f, name, args, kwargs, node)
    except (LookupError, AttributeError, TypeError, ValueError):
        pass
    return Unknown(name)


# -- arguments --------------------------------------------------------------------------------------------------------


def _get(args: Args, kwargs: Kwargs, position: int, name: str, default: Any = None) -> Any:
    return args[position] if len(args) > position else kwargs.get(name, default)


def _block(value: Any) -> Typed | None:
    """``value`` as a run-time value, which numbers are made into."""
    value = tensor(value)
    return value if isinstance(value, Typed) else None


def _extent(f: FrontEnd, value: Any, what: str, node: cst.CSTNode) -> int | Unknown | None:
    """One extent of a shape: a power of two known at compile time (None: its value is not known)."""
    if isinstance(value, Typed):
        return f.fault("runtime-shape", node, f"{what} must be a compile-time constant, not a run-time value")
    if isinstance(value, bool) or not isinstance(value, int):
        return Unknown("extent") if isinstance(value, Unknown) else None
    if value <= 0 or value & (value - 1):
        return f.fault("not-power-of-two", node, f"{what} is {int(value)}, which is not a power of two")
    return int(value)


def _shape(f: FrontEnd, value: Any, what: str, node: cst.CSTNode) -> Shape | None:
    """A shape argument; None where it is not known at all or was refused."""
    if isinstance(value, (Unknown, Constexpr)) or value is None:
        return None
    if isinstance(value, Typed) and value.pointer is None and value.dtype is None:
        return None  # an argument of which nothing is known may be a tuple of constants
    items = value if isinstance(value, (tuple, list)) else (value,)
    extents = [_extent(f, item, f"extent {i} of {what}", node) for i, item in enumerate(items)]
    if any(isinstance(e, Unknown) for e in extents):
        return None
    return tuple(e for e in extents if not isinstance(e, Unknown))


def _dtype(f: FrontEnd, value: Any, node: cst.CSTNode) -> Dtype | None:
    """A dtype argument; torch's types are refused."""
    if isinstance(value, Dtype):
        f.demand_fp8(value, node)
        return value
    if isinstance(value, Namespace) and value.path.startswith("torch."):
        name = value.path.removeprefix("torch.")
        if dt.find(name) is not None:
            f.fault("host-dtype", node, f"`{value.path}` is PyTorch's type; a kernel needs tl.{name}", value.path)
    elif isinstance(value, Typed):
        f.fault("host-dtype", node, "a type must be a compile-time constant; this is a run-time argument")
    return None


# -- shapes and constants ---------------------------------------------------------------------------------------------


def _program_id(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    axis = _get(args, kwargs, 0, "axis")
    if isinstance(axis, int) and not 0 <= axis <= 2:
        return f.fault("program-axis", node, f"a grid has the axes 0, 1 and 2; this asks for axis {int(axis)}")
    if isinstance(axis, Typed):
        return f.fault("program-axis", node, "the axis of a program id must be a compile-time constant")
    return Typed(dt.INT32)


def _arange(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    start, end = _get(args, kwargs, 0, "start"), _get(args, kwargs, 1, "end")
    for value in (start, end):
        if isinstance(value, Typed) or (isinstance(value, float) and not isinstance(value, bool)):
            what = "a run-time value" if isinstance(value, Typed) else "a float"
            f.fault("runtime-shape", node, f"the bounds of tl.arange must be compile-time integers; this is {what}")
            return Typed(dt.INT32, (None,))
    if not isinstance(start, int) or not isinstance(end, int):
        return Typed(dt.INT32, (None,))
    count = int(end) - int(start)
    if count <= 0:
        f.fault(
            "not-power-of-two", node, f"tl.arange({int(start)}, {int(end)}) is empty: the end must be above the start"
        )
        return Typed(dt.INT32, (None,))
    if count & (count - 1):
        f.fault(
            "not-power-of-two", node, f"tl.arange({int(start)}, {int(end)}) has {count} elements, not a power of two"
        )
        return Typed(dt.INT32, (None,))
    return f.block(dt.INT32, (count,), node)


def _zeros(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    shape = _shape(f, _get(args, kwargs, 0, "shape"), "tl.zeros", node)
    dtype = _dtype(f, _get(args, kwargs, 1, "dtype"), node)
    return f.block(dtype, shape, node) if shape is not None else Unknown("shape")


def _full(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    shape = _shape(f, _get(args, kwargs, 0, "shape"), "tl.full", node)
    dtype = _dtype(f, _get(args, kwargs, 2, "dtype"), node)
    return f.block(dtype, shape, node) if shape is not None else Unknown("shape")


def _zeros_like(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = _block(args[0])
    return Typed(value.dtype, value.shape, value.pointer) if value is not None else Unknown("like")


def _broadcast_to(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = _block(args[0])
    shape = _shape(f, kwargs.get("shape", args[1] if len(args) == 2 else tuple(args[1:])), "tl.broadcast_to", node)
    if value is None or shape is None:
        return Unknown("broadcast_to")
    if value.shape and not _spreads(value.shape, shape):
        return f.fault(
            "shape-mismatch",
            node,
            f"a block of shape {shape_text(value.shape)} does not broadcast to {shape_text(shape)}",
        )
    return f.block(value.dtype, shape, node, bool(value.pointer))


def _spreads(shape: Shape, target: Shape) -> bool:
    """Whether a block of ``shape`` may be spread to ``target``, which must have its rank."""
    return len(shape) == len(target) and all(a is None or b is None or a in (1, b) for a, b in zip(shape, target))


def _broadcast(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    a, b = _block(args[0]), _block(args[1])
    if a is None or b is None:
        return Unknown("broadcast")
    shape = f.common_shape(a, b, node)
    return Unknown("broadcast") if shape is None else tuple(Typed(x.dtype, shape, x.pointer) for x in (a, b))


def _expand_dims(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value, axis = _block(args[0]), _get(args, kwargs, 1, "axis")
    axes = [axis] if isinstance(axis, int) else list(axis) if isinstance(axis, tuple) else None
    if value is None or axes is None or not all(isinstance(a, int) for a in axes):
        return Unknown("expand_dims")
    shape = list(value.shape)
    for one in axes:
        place = one if one >= 0 else len(shape) + 1 + one
        if not 0 <= place <= len(shape):
            return f.fault("tensor-rank", node, f"axis {int(one)} does not fit a block of {len(shape)} dimensions")
        shape.insert(place, 1)
    return Typed(value.dtype, tuple(shape), value.pointer)


def _trans(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = _block(args[0])
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
    value = _block(args[0])
    target = kwargs.get("shape", args[1] if len(args) == 2 else tuple(args[1:]))
    shape = _shape(f, target, "a reshape", node)
    if value is None or shape is None:
        return Unknown("reshape")
    before, after = _count(value.shape), _count(shape)
    if before is not None and after is not None and before != after:
        return f.fault(
            "shape-mismatch", node, f"a block of {before} elements cannot take the shape {shape_text(shape)}"
        )
    return Typed(value.dtype, shape, value.pointer)


def _count(shape: Shape) -> int | None:
    count = 1
    for extent in shape:
        if extent is None:
            return None
        count *= extent
    return count


def _ravel(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = _block(args[0])
    return Typed(value.dtype, (_count(value.shape),), value.pointer) if value is not None else Unknown("ravel")


def _join(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    a, b = _block(args[0]), _block(args[1])
    if a is None or b is None:
        return Unknown("join")
    shape = f.common_shape(a, b, node)
    return Typed(a.dtype, (*shape, 2)) if shape is not None else Unknown("join")


def _interleave(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    a = _block(args[0])
    if a is None or not a.shape:
        return Unknown("interleave")
    last = a.shape[-1]
    return Typed(a.dtype, (*a.shape[:-1], None if last is None else 2 * last))


def _split(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = _block(args[0])
    if value is None or not value.shape:
        return Unknown("split")
    half = Typed(value.dtype, value.shape[:-1])
    return (half, half)


def _cat(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    a, b = _block(args[0]), _block(args[1])
    return Typed(a.dtype, (None,)) if a is not None and b is not None else Unknown("cat")


def _same(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = _block(args[0] if args else kwargs.get("input", kwargs.get("x")))
    return Typed(value.dtype, value.shape, value.pointer) if value is not None else Unknown("value")


def _hint(name: str) -> Any:
    def hint(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        """``tl.multiple_of(x, values)`` and its like: one value for each dimension of ``x``."""
        x, values = _get(args, kwargs, 0, "input"), _get(args, kwargs, 1, "values")
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


def _check_cache_modifier(f: FrontEnd, function: str, value: Any, node: cst.CSTNode) -> None:
    """Note a cache modifier that ``tl.load`` or ``tl.store`` does not take in the release asked about."""
    known = _CACHE_MODIFIERS[function]
    if not isinstance(value, str) or not value:
        return
    since = known.get(value)
    if since is None:
        text = f"`{function}` takes no cache modifier {value!r}; there are {', '.join(known)}"
        f.fault("cache-modifier", node, text, value)
    elif f.target.version < since:
        text = f"`{function}` takes the cache modifier {value!r} from Triton {since[0]}.{since[1]} on, not in {f.target.release}"
        f.fault("cache-modifier", node, text, value)


#: The cache modifiers of loads and stores with the first release (of 3.2 and later) that takes them.
_CACHE_MODIFIERS: dict[str, dict[str, tuple[int, int]]] = {
    "tl.load": {".ca": (3, 2), ".cg": (3, 2), ".cs": (3, 8), ".cv": (3, 2)},
    "tl.store": {".wb": (3, 2), ".cg": (3, 2), ".cs": (3, 2), ".wt": (3, 2)},
}


def _nothing(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    return None


# -- memory -----------------------------------------------------------------------------------------------------------


def _load(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    pointer = _get(args, kwargs, 0, "pointer")
    mask, other = _get(args, kwargs, 1, "mask"), _get(args, kwargs, 2, "other")
    _check_cache_modifier(f, "tl.load", _get(args, kwargs, 5, "cache_modifier"), node)
    if isinstance(pointer, BlockPointer):
        return Typed(pointer.dtype, pointer.shape) if pointer.shape is not None else Unknown("load")
    if other is not None and not isinstance(other, Unknown) and mask is None:
        f.fault("other-without-mask", node, "`other` is given without `mask`")
    where = _target(f, pointer, "tl.load", node)
    if where is None:
        return Unknown("load")
    shape = where.shape
    for value, what in ((mask, "mask"), (other, "other")):
        fitted = _fitted(f, shape, value, what, "tl.load", node)
        if fitted is None:
            return Typed(where.dtype, shape)
        shape = fitted
    return f.block(where.dtype, shape, node)


def _target(f: FrontEnd, pointer: Any, what: str, node: cst.CSTNode) -> Typed | None:
    """The pointers that an access goes through; None where they are not known or are no pointers."""
    if is_constant(pointer) and not isinstance(pointer, Constexpr):
        f.fault("not-a-pointer", node, f"`{what}` needs a pointer; this is a number")
        return None
    if not isinstance(pointer, Typed):
        return None
    if pointer.pointer is False and pointer.dtype is not None:
        f.fault("not-a-pointer", node, f"`{what}` needs a pointer; this is {pointer}")
        return None
    return pointer


def _fitted(f: FrontEnd, shape: Shape, value: Any, what: str, function: str, node: cst.CSTNode) -> Shape | None:
    """The shape of an access with ``value`` (a mask, a stored value) beside its pointers; None where they do not fit."""
    value = tensor(value)
    if not isinstance(value, Typed) or not value.shape:
        return shape
    if not shape:
        text = f"`{function}` goes through one pointer, but its {what} is a block of shape {shape_text(value.shape)}"
        f.fault("block-through-scalar", node, text)
        return None
    if f.target.version < (3, 5) or function != "tl.load":
        if not _spreads(value.shape, shape):
            text = (
                f"the {what} of `{function}` has shape {shape_text(value.shape)}, its pointers have {shape_text(shape)}"
            )
            f.fault("shape-mismatch", node, text)
            return None
        return shape
    return f.common_shape(Typed(None, shape), value, node)


def _store(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    pointer = _get(args, kwargs, 0, "pointer")
    value, mask = _get(args, kwargs, 1, "value"), _get(args, kwargs, 2, "mask")
    _check_cache_modifier(f, "tl.store", _get(args, kwargs, 4, "cache_modifier"), node)
    if isinstance(pointer, BlockPointer):
        return None
    where = _target(f, pointer, "tl.store", node)
    if where is None:
        return None
    shape = where.shape
    for one, what in ((value, "value"), (mask, "mask")):
        if f.target.version < (3, 5) or not shape:
            fitted = _fitted(f, shape, one, what, "tl.store", node)
        else:
            other = tensor(one)
            fitted = f.common_shape(Typed(None, shape), other, node) if isinstance(other, Typed) else shape
        if fitted is None:
            return None
        shape = fitted
    return None


def _atomic(f: FrontEnd, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    where = _target(f, _get(args, kwargs, 0, "pointer"), f"tl.{name}", node)
    if where is None:
        return Unknown(name)
    if name != "atomic_cas":
        for value, what in ((_get(args, kwargs, 1, "val"), "value"), (_get(args, kwargs, 2, "mask"), "mask")):
            if _fitted(f, where.shape, value, what, f"tl.{name}", node) is None:
                break
    return Typed(where.dtype, where.shape)


def _make_block_ptr(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    base = _get(args, kwargs, 0, "base")
    shape = _shape(f, _get(args, kwargs, 4, "block_shape"), "a block pointer", node)
    return BlockPointer(base.dtype if isinstance(base, Typed) else None, shape)


def _advance(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    return args[0] if args and isinstance(args[0], BlockPointer) else Unknown("advance")


def _make_descriptor(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    base, strides = _get(args, kwargs, 0, "base"), _get(args, kwargs, 2, "strides")
    shape = _shape(f, _get(args, kwargs, 3, "block_shape"), "a tensor descriptor", node)
    last = strides[-1] if isinstance(strides, (tuple, list)) and strides else None
    if isinstance(last, int) and last != 1:
        f.fault("descriptor", node, f"the last stride of a tensor descriptor must be 1, not {int(last)}")
    dtype = base.dtype if isinstance(base, Typed) else None
    if shape and dtype is not None and shape[-1] is not None and shape[-1] * dtype.bytes < 16:
        f.fault(
            "descriptor", node, f"a row of a descriptor's block has {shape[-1] * dtype.bytes} bytes; 16 is the least"
        )
    return BlockPointer(dtype, shape)


def block_pointer_attribute(f: FrontEnd, value: BlockPointer, name: str, node: cst.CSTNode) -> Any:
    """``desc.load`` and the like."""
    if name == "load":
        return Builtin(
            name, lambda a, k, n: Typed(value.dtype, value.shape) if value.shape is not None else Unknown(name)
        )
    if name == "advance":
        return Builtin(name, lambda a, k, n: value)
    if name == "dtype" and value.dtype is not None:
        return value.dtype
    return Builtin(name, lambda a, k, n: Unknown(name))


# -- arithmetic -------------------------------------------------------------------------------------------------------


def _cast(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = _block(args[0] if args else kwargs.get("input"))
    dtype = _dtype(f, _get(args, kwargs, 1, "dtype"), node)
    if value is None:
        return Unknown("cast")
    if value.pointer is not False and dtype is None:
        return Typed(None, value.shape, None)
    wrapped = f.becoming(value, dtype, node).wrapped
    if (
        keywords("cast", args, kwargs, 2).get("bitcast") is True
        and dtype is not None
        and value.dtype is not None
        and not value.pointer
    ):
        bits = [1 if d == dt.BOOL else d.bits for d in (value.dtype, dtype)]
        if bits[0] != bits[1]:
            text = f"{short(value.dtype)} has {bits[0]} bits and {short(dtype)} {bits[1]}: no bitcast between them"
            return f.fault("operand-type", node, text)
    result = Typed(dtype, value.shape, False if dtype is not None else value.pointer)
    return result if wrapped is None or wrapped.fault is None else replace(result, wrapped=wrapped)


def _elementwise(f: FrontEnd, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode, path: str) -> Any:
    values = [_block(a) for a in (*args, *kwargs.values())]
    blocks = [v for v in values if v is not None]
    if len(blocks) < len(values) or not blocks:
        return Unknown(name)
    _demand_dtype(f, name, path, blocks, node)
    shape: Shape | None = blocks[0].shape
    for other in blocks[1:]:
        shape = f.common_shape(Typed(None, shape or ()), other, node)
        if shape is None:
            return Unknown(name)
    if name in _PREDICATES:
        return Typed(None, shape or ())
    return bearing(Typed(blocks[0].dtype if len(blocks) == 1 else None, shape or ()), *blocks)


def _demand_dtype(f: FrontEnd, name: str, path: str, blocks: list[Typed], node: cst.CSTNode) -> None:
    """Functions that are implemented for a few element types only."""
    if ".libdevice." in path:
        path = f"triton.language.extra.cuda.libdevice.{name}"
    takes = ["fp32", "fp64"] if name == "sigmoid" else f.target.dtypes(path)
    if takes is None or len(blocks) != 1:
        return
    (value,) = blocks
    if value.dtype is not None and value.pointer is False and short(value.dtype) not in takes:
        text = f"`{name}` takes {' or '.join(takes)}, not {short(value.dtype)}; cast the operand to tl.float32"
        f.fault("math-type", node, text, name)


def _binary_function(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    a, b = (_get(args, kwargs, i, n) for i, n in enumerate(("x", "y")))
    x, y = _block(a), _block(b)
    if x is None or y is None:
        return Unknown("operand")
    return _promoted(f, a, b, x, y, node)


def _promoted(f: FrontEnd, a: Any, b: Any, x: Typed, y: Typed, node: cst.CSTNode) -> Any:
    shape = f.common_shape(x, y, node)
    if shape is None:
        return Unknown("shape")
    if x.pointer is not False or y.pointer is not False:
        return Typed(x.dtype if x.pointer else y.dtype, shape, True if x.pointer and y.pointer else None)
    dtype = None
    if x.dtype is not None and y.dtype is not None:
        dtype = computation(x.dtype, y.dtype, (not isinstance(a, Typed), not isinstance(b, Typed)), False)
    return f.block(dtype, shape, node)


def _where(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    test, a, b = (_get(args, kwargs, i, n) for i, n in enumerate(("condition", "x", "y")))
    x, y = _block(a), _block(b)
    if x is None or y is None:
        return Unknown("where")
    result = _promoted(f, a, b, x, y, node)
    condition = _block(test)
    if condition is None:
        return Unknown("where")
    for arm in (x, y):
        if arm.wrapped is not None and arm.wrapped.fault is not None and condition.tested is arm.wrapped.minuend:
            f.found.pop(arm.wrapped.fault, None)  # the lanes that have wrapped are told by what was subtracted from
    if isinstance(result, Typed):
        if condition.dtype is not None and condition.dtype != dt.BOOL and condition.pointer is False:
            text = (
                f"the condition of tl.where is {short(condition.dtype)}; a condition that is not boolean is deprecated"
            )
            f.fault("where-condition", node, text)
        shape = f.common_shape(condition, result, node)
        if shape is None:
            return Unknown("where")
        return Typed(result.dtype, shape, result.pointer)
    return result


def _dot(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    a, b = _get(args, kwargs, 0, "input"), _get(args, kwargs, 1, "other")
    if not isinstance(a, Typed) or not isinstance(b, Typed):
        return Unknown("dot")
    for value in (a, b):
        if len(value.shape) not in (2, 3):
            return f.fault(
                "dot-shape",
                node,
                f"an operand of tl.dot has shape {shape_text(value.shape)}; it must have 2 or 3 dimensions",
            )
    if len(a.shape) != len(b.shape):
        return f.fault(
            "dot-shape", node, f"the operands of tl.dot have shapes {shape_text(a.shape)} and {shape_text(b.shape)}"
        )
    k, other = a.shape[-1], b.shape[-2]
    shape: Shape = (*a.shape[:-1], b.shape[-1])
    if k is not None and other is not None and k != other:
        text = f"the operands of tl.dot have shapes {shape_text(a.shape)} and {shape_text(b.shape)}: {k} and {other} must be equal"
        return f.fault("dot-shape", node, text)
    _dot_types(f, a, b, node)
    _dot_least(f, a, b, node)
    return _dot_result(f, a, shape, args, kwargs, node)


def _dot_types(f: FrontEnd, a: Typed, b: Typed, node: cst.CSTNode) -> None:
    x, y = a.dtype, b.dtype
    if x is None or y is None or (x.is_fp8 and y.is_fp8):
        return
    refused = [d for d in (x, y) if d.name in ("bool", "int16", "int32", "int64", "uint16", "uint32", "uint64")]
    if refused:
        f.fault("dot-type", node, f"tl.dot takes no {short(refused[0])} operand")
    elif x != y and not {x.name, y.name} <= {"int8", "uint8"}:
        f.fault(
            "dot-type", node, f"the operands of tl.dot have types {short(x)} and {short(y)}; both must have one type"
        )


def _dot_least(f: FrontEnd, a: Typed, b: Typed, node: cst.CSTNode) -> None:
    """The least extents that the back end multiplies."""
    if a.dtype is None or f.target.vendor != "nvidia":
        return
    bits, version = a.dtype.bits, f.target.version
    rows = 16 if version < (3, 5) else 1
    depth = 32 if bits == 8 else 16
    if version >= (3, 6):
        depth = {8: 32, 16: 16, 32: 8, 64: 4}.get(bits, 16)
    least = (("M", a.shape[-2], rows), ("N", b.shape[-1], rows), ("K", a.shape[-1], depth))
    for axis, extent, minimum in least:
        if extent is not None and extent < minimum:
            text = (
                f"{axis} of tl.dot is {extent}; Triton {f.target.release} needs at least {minimum} for {short(a.dtype)}"
            )
            f.fault("dot-least", node, text)
            return


def _dot_result(f: FrontEnd, a: Typed, shape: Shape, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    acc, out = _get(args, kwargs, 2, "acc"), _get(args, kwargs, 6, "out_dtype")
    precision = _get(args, kwargs, 3, "input_precision")
    if isinstance(precision, str) and f.target.vendor == "amd":
        allowed = ("tf32", "ieee", "bf16x3", "bf16x6") if f.target.arch == "gfx942" else ("ieee", "bf16x3", "bf16x6")
        if precision not in allowed:
            f.fault(
                "dot-precision", node, f"input_precision={precision!r} is not available on {f.target.arch}", precision
            )
    wanted = _dtype(f, out, node) if out is not None else dt.FLOAT32
    dtype: Dtype | None
    if a.dtype is not None and a.dtype.is_integer:
        dtype = dt.INT32
    elif wanted == dt.BFLOAT16:
        f.fault("dot-type", node, "tl.dot has no out_dtype=tl.bfloat16; use float32 and cast the result")
        dtype = dt.FLOAT32
    elif a.dtype in (dt.FLOAT32, dt.BFLOAT16):
        dtype = a.dtype and dt.FLOAT32
    else:
        dtype = wanted if a.dtype is not None or wanted != dt.FLOAT32 else dt.FLOAT32
    if a.dtype is None:
        dtype = None
    if isinstance(acc, Typed):
        if (
            acc.shape
            and len(acc.shape) == len(shape)
            and not all(x is None or y is None or x == y for x, y in zip(acc.shape, shape))
        ):
            f.fault(
                "dot-shape",
                node,
                f"the accumulator of tl.dot has shape {shape_text(acc.shape)}, its result {shape_text(shape)}",
            )
        elif dtype is not None and acc.dtype is not None and acc.dtype != dtype and out is not None:
            f.fault("dot-type", node, f"the accumulator of tl.dot is {short(acc.dtype)}, its result {short(dtype)}")
    return f.block(dtype, shape, node)


def _reduce(f: FrontEnd, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = args[0] if args else kwargs.get("input")
    if isinstance(value, tuple):
        return Unknown(name)
    value = _block(value)
    if value is None:
        return Unknown(name)
    axis = _get(args, kwargs, 1, "axis")
    kwargs = keywords(name, args, kwargs, 2)
    keep = kwargs.get("keep_dims", False)
    if isinstance(axis, (Unknown, Constexpr, Typed)) or not isinstance(keep, bool):
        return Unknown(name)
    shape = _reduced(f, f"tl.{name}", value.shape, axis, keep, node)
    if shape is None:
        return Unknown(name)
    result = Typed(_reduced_type(name, value, kwargs.get("dtype")), shape)
    if kwargs.get("return_indices") is True:
        return (result, Typed(dt.INT32, shape))
    return result


def _reduced(f: FrontEnd, what: str, shape: Shape, axis: Any, keep: bool, node: cst.CSTNode) -> Shape | None:
    if axis is None:
        return (1,) * len(shape) if keep else ()
    if not isinstance(axis, int):
        return None
    place = axis + len(shape) if axis < 0 else axis
    if not 0 <= place < len(shape):
        rank = f"{len(shape)} dimensions" if shape else "no dimension: it is one value"
        f.fault("tensor-rank", node, f"`{what}` over axis {int(axis)}: its operand has {rank}")
        return None
    return (*shape[:place], *((1,) if keep else ()), *shape[place + 1 :])


def _reduced_type(name: str, value: Typed, wanted: Any) -> Dtype | None:
    dtype = value.dtype
    if name.startswith("arg"):
        return dt.INT32
    if dtype is None or value.pointer is not False:
        return None
    if name == "sum":
        if isinstance(wanted, Dtype):
            return wanted
        if dtype.kind == "int" and dtype.bits < 32:
            return dt.INT32
        # int1 counts as unsigned
        return dt.find("uint32") if dtype.kind == "bool" or (dtype.kind == "uint" and dtype.bits < 32) else dtype
    if name in ("max", "min") and dtype.bits < 32:
        return dt.FLOAT32 if dtype.is_float else dt.INT32
    return dtype


def _custom_reduce(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    given = keywords("reduce", args, kwargs, 0)
    value, axis, keep = given["input"], given.get("axis"), given.get("keep_dims") is True
    values = value if isinstance(value, tuple) else (value,)
    results = []
    for one in values:
        block = _block(one)
        if block is None or isinstance(axis, (Unknown, Constexpr, Typed)):
            return Unknown("reduce")
        shape = _reduced(f, "tl.reduce", block.shape, axis, keep, node)
        if shape is None:
            return Unknown("reduce")
        results.append(Typed(block.dtype, shape))
    return tuple(results) if isinstance(value, tuple) else results[0]


def _scan(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = args[0] if args else kwargs.get("input")
    if isinstance(value, tuple):
        return tuple(_scan(f, [v, *args[1:]], kwargs, node) for v in value)
    block = _block(value)
    axis = _get(args, kwargs, 1, "axis", 0)
    if block is None:
        return Unknown("scan")
    if isinstance(axis, int) and not -len(block.shape) <= axis < len(block.shape):
        rank = f"{len(block.shape)} dimensions" if block.shape else "no dimension: it is one value"
        return f.fault("tensor-rank", node, f"a scan over axis {int(axis)}: its operand has {rank}")
    return Typed(None if block.dtype is not None and block.dtype.bits < 32 else block.dtype, block.shape)


def _cdiv(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    a, b = _get(args, kwargs, 0, "x"), _get(args, kwargs, 1, "div")
    x, y = _block(a), _block(b)
    if x is None or y is None:
        return Unknown("cdiv")
    shape = f.common_shape(x, y, node)
    if shape is None:
        return Unknown("cdiv")
    return Typed(x.dtype if x.dtype == y.dtype else None, shape)


def _random(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    offset = _block(_get(args, kwargs, 1, "offset"))
    return Typed(dt.FLOAT32, offset.shape) if offset is not None else Unknown("random")


def _fma(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    product = f.binary("*", _unused, args[0], args[1], node)
    return f.binary("+", _unused, product, args[2], node)


def _unused(a: Any, b: Any) -> Any:
    raise TypeError


def _gather(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    source, index = _block(args[0]), _block(_get(args, kwargs, 1, "index"))
    return Typed(source.dtype, index.shape) if source is not None and index is not None else Unknown("gather")


def _constexpr(f: FrontEnd, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    return args[0] if args else Unknown("constexpr")


# -- Python's own functions -------------------------------------------------------------------------------------------


def builtin(f: FrontEnd, name: str, args: Args, kwargs: Kwargs, node: cst.Call) -> Any:
    """A Python built-in that kernels may call."""
    if name == "range":
        return range_of(f, "builtins.range", args, kwargs, node)
    if name in ("min", "max") and len(args) == 2:
        if all(is_constant(a) for a in args):
            known = [a for a in args if not isinstance(a, Constexpr)]
            return (min if name == "min" else max)(known) if len(known) == 2 else Constexpr(True)
        return _binary_function(f, args, kwargs, node)
    if name in ("int", "float"):
        value = args[0] if args else 0
        if isinstance(value, Typed):
            shown = f"use `.to(tl.{'int32' if name == 'int' else 'float32'})`"
            return f.fault("host-function", node, f"`{name}` takes no run-time value; {shown}", name)
        try:
            return (int if name == "int" else float)(value)
        except (TypeError, ValueError):
            return Constexpr(True)
    if name == "len":
        return len(args[0]) if args and isinstance(args[0], tuple) else Unknown(name)
    if name == "list" and args and isinstance(args[0], tuple):
        return args[0]
    if name == "isinstance" and len(args) == 2 and (isinstance(args[0], Typed) or is_constant(args[0])):
        kinds = args[1] if isinstance(args[1], tuple) else (args[1],)
        names = {kind.path.rpartition(".")[2] if isinstance(kind, Namespace) else "" for kind in kinds}
        if names <= {"tensor", "constexpr"}:
            return ("tensor" if isinstance(args[0], Typed) else "constexpr") in names
    asked = (name, len(args)) in (("hasattr", 2), ("getattr", 3)) and isinstance(args[0], Typed)
    if asked and f.lacks(args[0], args[1]):
        return False if name == "hasattr" else args[2]
    return None if name == "print" else Unknown(name)


def range_of(f: FrontEnd, path: str, args: Args, kwargs: Kwargs, node: cst.Call) -> Any:
    """The bounds of a loop."""
    static = path.endswith("static_range")
    names = ("arg1", "arg2", "step")
    bounds = [*args[: len(names)], *(kwargs[n] for n in names[len(args) :] if n in kwargs)]
    shown = "tl." + path.rpartition(".")[2] if path.startswith("triton") else "range"
    dtype: Dtype | None = None
    for bound in bounds:
        if static and isinstance(bound, Typed):
            f.fault("runtime-shape", node, "the bounds of tl.static_range must be compile-time constants")
            return Unknown("range")
        value = _block(bound)
        if value is None:
            return Range(static, None, ())
        if value.shape and any(e != 1 for e in value.shape):
            f.fault(
                "loop-bound",
                node,
                f"a bound of {shown} is a block of shape {shape_text(value.shape)}; it must be one value",
            )
        if value.pointer or value.is_float:
            f.fault("loop-bound", node, f"a bound of {shown} is {value}; it must be an integer")
        dtype = value.dtype if dtype is None or (value.dtype is not None and value.dtype.bits > dtype.bits) else dtype
    if any(isinstance(b, (Typed, Constexpr)) and getattr(b, "dtype", None) is None for b in bounds):
        dtype = None
    return Range(static, dtype, tuple(int(b) if isinstance(b, int) else b for b in bounds))


_TABLE: dict[str, Callable[..., Any]] = {
    "program_id": _program_id,
    "num_programs": _program_id,
    "arange": _arange,
    "zeros": _zeros,
    "full": _full,
    "zeros_like": _zeros_like,
    "full_like": _zeros_like,
    "broadcast_to": _broadcast_to,
    "broadcast": _broadcast,
    "expand_dims": _expand_dims,
    "trans": _trans,
    "permute": _trans,
    "reshape": _reshape,
    "view": _reshape,
    "ravel": _ravel,
    "join": _join,
    "interleave": _interleave,
    "split": _split,
    "cat": _cat,
    "flip": _same,
    "sort": _same,
    "softmax": _same,
    "abs": _same,
    "multiple_of": _hint("multiple_of"),
    "max_contiguous": _hint("max_contiguous"),
    "max_constancy": _hint("max_constancy"),
    "assume": _nothing,
    "static_assert": _nothing,
    "static_print": _nothing,
    "device_print": _nothing,
    "device_assert": _nothing,
    "debug_barrier": _nothing,
    "load": _load,
    "store": _store,
    "make_block_ptr": _make_block_ptr,
    "advance": _advance,
    "make_tensor_descriptor": _make_descriptor,
    "_experimental_make_tensor_descriptor": _make_descriptor,
    "cast": _cast,
    "to": _cast,
    "dot": _dot,
    "minimum": _binary_function,
    "maximum": _binary_function,
    "where": _where,
    "cdiv": _cdiv,
    "fma": _fma,
    "clamp": _same,
    "rand": _random,
    "randn": _random,
    "cumsum": _scan,
    "cumprod": _scan,
    "associative_scan": _scan,
    "reduce": _custom_reduce,
    "gather": _gather,
    "constexpr": _constexpr,
}

_REDUCTIONS = frozenset("sum max min argmax argmin xor_sum reduce_or".split())

_PREDICATES = frozenset("isnan isinf isfinite isfinited finitef signbit".split())

_ELEMENTWISE = frozenset(
    "exp exp2 log log2 log10 log1p expm1 sqrt rsqrt sqrt_rn sin cos tan tanh sinh cosh asin acos atan atan2 sigmoid erf erfc "
    "erfinv pow div_rn fdiv floor ceil round rint trunc isnan isinf isfinite isfinited finitef llrint nearbyint signbit "
    "fmod fast_expf fast_dividef lgamma cbrt acosh asinh atanh fast_logf fast_sinf fast_cosf fast_powf tgamma rcbrt "
    "copysign fmin fmax".split()
)
