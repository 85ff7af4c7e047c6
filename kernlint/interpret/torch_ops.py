"""What each torch function and tensor method does: shape, dtype and strides of the result, and the device work it
costs.

A table by last name: ``torch.softmax``, ``F.softmax`` and ``x.softmax`` are one operation. Views cost nothing; what
allocates, copies or computes is recorded as a :class:`~kernlint.workload.TorchOp`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.values import Builtin, Instance, ReadValue, Unknown, is_huge
from kernlint.records import replace
from kernlint.workload import Dtype, Expr, Size, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex

if TYPE_CHECKING:
    from kernlint.interpret.host import HostEvaluator

Args = list[Any]
Kwargs = dict[str, Any]
Shape = tuple[Size, ...]

#: Views of one tensor that are told apart.
MAX_VIEWS = 1024
#: What a handler raises on arguments that do not fit.
_MISFIT = (IndexError, AttributeError, TypeError, ValueError, AssertionError)


def function(h: HostEvaluator, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    """The result of ``torch.name(*args, **kwargs)`` or ``F.name``."""
    handler = _TABLE.get(name)
    if handler is None and name.endswith("_") and not name.startswith("_"):
        handler = partial(_inplace, name=name)
    if handler is None:
        handler = _by_family(name)
    if handler is None:
        reads = tuple(t for t in _tensors(args) + _tensors(list(kwargs.values())))
        if reads:
            h.torch_op(name, "unknown", reads, (), node, flops=None)
            if h.perhaps_number(reads[0]):
                h.escape(reads)  # a method of some other object, perhaps one that keeps what it is given
            h.unknown(f"torch function {name}")
        return Unknown(f"torch.{name}")
    try:
        with h.inside(name, args, kwargs):
            return handler(h, args, kwargs, node)
    except _MISFIT:
        # The program passes what this function does not take (or what was not followed): its own error, not ours.
        h.unknown(f"arguments of torch function {name}")
        return Unknown(f"torch.{name}")


def attribute(h: HostEvaluator, x: Tensor, name: str, node: cst.CSTNode) -> Any:
    """``x.name`` for a tensor: a property, or a method to call."""
    if name == "shape":
        return h.shape(x)
    if name == "dtype":
        return x.dtype if x.dtype is not None else h.dtype_of(x)
    if name == "device":
        return device_of("cpu" if h.is_hosted(x) else "cuda")
    if name in ("T", "mT", "H", "mH"):
        shape = h.rank(x, 2)
        return _transpose(h, shape, -2, -1) if name != "T" or len(shape.shape or ()) == 2 else _permute_all(h, shape)
    if name == "ndim":
        return len(x.shape) if x.shape is not None else Unknown("rank")
    if name == "is_cuda" and h.is_hosted(x):
        return False
    if name in ("is_cuda", "requires_grad", "is_sparse", "is_quantized", "is_leaf", "grad"):
        return {"is_cuda": True, "requires_grad": h.differentiated, "grad": None}.get(name, False)
    if name == "data":
        return x
    if name == "itemsize":
        return x.dtype.bytes if x.dtype is not None else Unknown("dtype")
    if name in ("nbytes",):
        return x.nbytes if x.nbytes is not None else Unknown("nbytes")
    # A method and a function of one name that do different things.
    called = "unfolded_view" if name == "unfold" else name
    return Builtin(name, lambda args, kwargs, n: function(h, called, [x, *args], kwargs, n))


# -- shapes -----------------------------------------------------------------------------------------------------------


def contiguous_strides(shape: Shape) -> Shape:
    """Row-major strides in elements."""
    strides: list[Size] = []
    step: Size = 1
    for extent in reversed(shape):
        strides.append(step)
        step = (
            ex.simplify(ex.lift(step) * extent)
            if not (isinstance(step, int) and isinstance(extent, int))
            else step * extent
        )
    return tuple(reversed(strides))


def broadcast(a: Shape | None, b: Shape | None) -> Shape | None:
    """The common shape of two operands; None when either is unknown."""
    if a is None or b is None:
        return None
    rank = max(len(a), len(b))
    a = (1,) * (rank - len(a)) + a
    b = (1,) * (rank - len(b)) + b
    return tuple(y if x == 1 else x if (y == 1 or isinstance(x, int) or x == y) else y for x, y in zip(a, b))


def product(shape: Shape) -> Size:
    total: Size = 1
    for extent in shape:
        total = ex.simplify(ex.lift(total) * extent)
    return total


def _tensors(values: Any) -> tuple[Tensor, ...]:
    """The tensors in ``values``, however deep; none where nobody can have put so many."""
    return () if is_huge(values) else tuple(_tensors_within(values))


def _tensors_within(values: Any) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors_within(value)


def _note_read_sizes(h: HostEvaluator, x: Tensor, values: Any) -> None:
    """Remember where the host has read those of ``values``, the sizes of ``x``, that it has read from a tensor."""
    for value in values:
        if isinstance(value, (tuple, list)):
            _note_read_sizes(h, x, value)
        elif isinstance(value, slice):
            _note_read_sizes(h, x, (value.start, value.stop))
        elif isinstance(value, ReadValue):
            h.read_sizes[x.storage.id] = h.read_sizes.get(x.storage.id, frozenset()) | value.places


def _sizes(values: Any) -> Shape | None:
    """A shape given as ``(2, 3)``, ``[2, 3]`` or spread over arguments."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        values = values[0]
    if all(isinstance(v, (int, Expr)) and not isinstance(v, bool) for v in values):
        return tuple(values)
    return None


def _axis(value: Any, rank: int) -> int | None:
    return (
        value % rank
        if isinstance(value, int) and not isinstance(value, bool) and rank and -rank <= value < rank
        else None
    )


def _arg(args: Args, kwargs: Kwargs, position: int, *names: str, default: Any = None) -> Any:
    for name in names:
        if name in kwargs:
            return kwargs[name]
    return args[position] if len(args) > position else default


def _dtype(kwargs: Kwargs, default: Dtype | None) -> Dtype | None:
    value = kwargs.get("dtype")
    return value if isinstance(value, Dtype) else default if value is None else None


def _common(values: Any) -> Dtype | None:
    """The element type of what is computed from tensors and Python numbers, by torch's rule: tensors with dimensions decide,
    those without and numbers only where they are of a higher kind. None where that is not known."""
    tensors = [value for value in values if isinstance(value, Tensor)]
    if any(t.dtype is None for t in tensors):
        return None
    result: Dtype | None = None
    for part in ([t for t in tensors if t.shape != ()], [t for t in tensors if t.shape == ()]):
        found: Dtype | None = None
        for t in part:
            assert t.dtype is not None
            found = t.dtype if found is None else _promoted(found, t.dtype)
        if result is None or (found is not None and dt.RANK[found.kind] > dt.RANK[result.kind]):
            result = found
    if result is None or result.is_float:
        return result
    if any(isinstance(value, (Unknown, ReadValue)) for value in values):
        return None
    if any(isinstance(value, float) for value in values):
        return dt.FLOAT32
    return dt.INT64 if result == dt.BOOL and any(type(value) in (int, Expr) for value in values) else result


def _by_kind(dtype: Dtype) -> int:
    return dt.RANK[dtype.kind]


def _promoted(a: Dtype, b: Dtype) -> Dtype:
    return dt.INT16 if {a, b} == {dt.UINT8, dt.INT8} else dt.promote(a, b)


# -- creation ---------------------------------------------------------------------------------------------------------


def _create(origin: str, kind: str, random: bool = False) -> Callable[..., Any]:
    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        values = args
        name = kind
        default: Dtype | None = dt.FLOAT32
        if kind == "full":
            values, fill = args[:1], _arg(args, kwargs, 1, "fill_value")
            default = dt.BOOL if isinstance(fill, bool) else dt.INT64 if isinstance(fill, (int, Expr)) else dt.FLOAT32
        elif kind == "randint":
            given = [*args, kwargs.get("size")]
            values = [a for a in given if isinstance(a, (tuple, list))] or [Unknown("size")]
            default = dt.INT64
        if "size" in kwargs and kind != "randint":
            values = [kwargs["size"]]
        shape = _sizes(values)
        result = h.allocate(_dtype(kwargs, default), shape, origin, node)
        _note_read_sizes(h, result, values)
        if on_cpu(kwargs):
            return h.host_tensor(result)
        bare = origin == "empty" or (bool(h.edits.unfilled) and h.span(node) in h.edits.unfilled)
        device_kind = "alloc" if bare else "random" if random else "fill"
        h.torch_op(name, device_kind, (), (result,), node)
        return result

    return handler


def _create_like(origin: str, kind: str, random: bool = False) -> Callable[..., Any]:
    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        x = args[0] if args else kwargs.get("input")
        if x is None:
            h.lacks_tensor(node)
        if not isinstance(x, Tensor):
            return Unknown(kind)
        result = h.allocate(_dtype(kwargs, x.dtype), x.shape, origin, node)
        dense = x.strides is not None and x.is_contiguous is False and _is_dense(x)
        if dense and x.strides is not None and kwargs.get("memory_format") != "contiguous_format":
            result = replace(result, strides=x.strides)  # preserve_format
        if on_cpu(kwargs) or (h.is_hosted(x) and "device" not in kwargs):
            return h.host_tensor(result)
        bare = origin == "empty" or (bool(h.edits.unfilled) and h.span(node) in h.edits.unfilled)
        h.torch_op(kind, "alloc" if bare else "random" if random else "fill", (), (result,), node)
        return result

    return handler


def _is_dense(x: Tensor) -> bool:
    """Whether the view covers its elements without gaps or overlap, in some order of the axes."""
    if x.shape is None or x.strides is None:
        return False
    pairs = sorted(
        ((ex.concrete(s), ex.concrete(n)) for s, n in zip(x.strides, x.shape)), key=lambda p: (p[0] or 0, p[1] or 0)
    )
    step = 1
    for stride, extent in pairs:
        if stride is None or extent is None:
            return False
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True


def _new(origin: str, kind: str) -> Callable[..., Any]:
    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        x = args[0]
        values = args[1:] if kind != "new_full" else args[1:2]
        shape = _sizes([kwargs["size"]] if "size" in kwargs else values)
        result = h.allocate(_dtype(kwargs, x.dtype if isinstance(x, Tensor) else None), shape, origin, node)
        _note_read_sizes(h, result, [kwargs["size"]] if "size" in kwargs else values)
        if on_cpu(kwargs) or (isinstance(x, Tensor) and h.is_hosted(x) and "device" not in kwargs):
            return h.host_tensor(result)
        bare = origin == "empty" or (bool(h.edits.unfilled) and h.span(node) in h.edits.unfilled)
        h.torch_op(kind, "alloc" if bare else "fill", (), (result,), node)
        return result

    return handler


def _empty_strided(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    shape, strides = _sizes(args[:1]), _sizes([_arg(args, kwargs, 1, "stride")])
    result = h.allocate(_dtype(kwargs, dt.FLOAT32), shape, "empty", node)
    h.torch_op("empty_strided", "alloc", (), (result,), node)
    return replace(result, strides=strides) if strides is not None else result


def _arange(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    given = [*args, *(kwargs[name] for name in ("start", "end", "step")[len(args) :] if name in kwargs)]
    bounds: list[Any] = [a for a in given if isinstance(a, (int, float, Expr))]
    if not bounds or ("step" in kwargs and len(bounds) < 3):
        return h.allocate(_dtype(kwargs, dt.INT64), None, "filled", node)
    start, end, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds[:2], bounds[2] if len(bounds) > 2 else 1)
    integer = all(isinstance(b, (int, Expr)) for b in (start, end, step))
    count: Size | None = None
    if integer:
        count = ex.ceildiv(ex.lift(end) - start, step)
    elif all(isinstance(b, (int, float)) for b in (start, end, step)) and step:
        count = max(0, -int(-(end - start) // step))
    dtype = _dtype(kwargs, dt.INT64 if integer else dt.FLOAT32)
    result = h.allocate(dtype, (count,) if count is not None else None, "filled", node)
    if on_cpu(kwargs):
        return h.host_tensor(result)
    h.torch_op("arange", "fill", (), (result,), node)
    return result


def _tensor(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    data = args[0] if args else None
    if isinstance(data, Tensor):
        return data
    shape: list[int] = []
    inner = data
    while isinstance(inner, (list, tuple)):
        shape.append(len(inner))
        inner = inner[0] if inner else 0
    default: Dtype | None = dt.FLOAT32 if isinstance(inner, float) else dt.BOOL if isinstance(inner, bool) else dt.INT64
    if isinstance(inner, Unknown):
        default = None
    result = h.allocate(_dtype(kwargs, default), tuple(shape), "constant", node)
    device = kwargs.get("device")
    if device is None or on_cpu(kwargs):
        return h.host_tensor(result) if h.sinks else result
    if isinstance(data, (list, tuple)) and result.numel != 0:
        # Pageable memory: the copy waits for all work that is queued, and the host for the copy.
        h.sync("copies a host list to the device", node)
    h.torch_op("tensor", "fill", (), (result,), node)
    return result


# -- views ------------------------------------------------------------------------------------------------------------


def _transpose(h: HostEvaluator, x: Tensor, a: int, b: int) -> Tensor:
    if x.shape is None:
        return replace(x, strides=None)
    order = list(range(len(x.shape)))
    i, j = _axis(a, len(order)), _axis(b, len(order))
    if i is None or j is None:
        return replace(x, shape=None, strides=None)
    order[i], order[j] = order[j], order[i]
    return permuted(x, tuple(order))


def permuted(x: Tensor, order: tuple[int, ...]) -> Tensor:
    """The view of ``x`` with its axes in ``order``."""
    if x.shape is None:
        return replace(x, strides=None)
    strides = tuple(x.strides[i] for i in order) if x.strides is not None else None
    return replace(x, shape=tuple(x.shape[i] for i in order), strides=strides)


def _permute_all(h: HostEvaluator, x: Tensor) -> Tensor:
    return permuted(x, tuple(reversed(range(len(x.shape or ())))))


def _t(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    if not isinstance(x, Tensor):
        return Unknown("t")
    x = h.rank(x, 2)
    return _transpose(h, x, 0, 1) if x.shape is not None and len(x.shape) == 2 else x


def _transpose_op(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x, a, b = args[0], _arg(args, kwargs, 1, "dim0"), _arg(args, kwargs, 2, "dim1")
    if not isinstance(x, Tensor) or not isinstance(a, int) or not isinstance(b, int):
        return Unknown("transpose")
    return _transpose(h, x, a, b)


def _permute(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    order = _sizes([kwargs["dims"]] if "dims" in kwargs else args[1:])
    if not isinstance(x, Tensor) or order is None:
        return Unknown("permute")
    x = h.rank(x, len(order))
    rank = len(x.shape or ())
    axes = [_axis(a, rank) for a in order]
    if x.shape is None or None in axes or len(axes) != rank:
        return replace(x, shape=None, strides=None)
    return permuted(x, tuple(a for a in axes if a is not None))


def _movedim(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x, source, target = args[0], _arg(args, kwargs, 1, "source"), _arg(args, kwargs, 2, "destination")
    if not isinstance(x, Tensor) or x.shape is None:
        return Unknown("movedim")
    rank = len(x.shape)
    moved, places = ([_axis(a, rank) for a in (v if isinstance(v, (tuple, list)) else [v])] for v in (source, target))
    if None in moved or None in places or len(moved) != len(places):
        return Unknown("movedim")
    order: list[Any] = [None] * rank
    for axis, place in zip(moved, places):
        order[place or 0] = axis
    rest = iter(axis for axis in range(rank) if axis not in moved)
    return permuted(x, tuple(next(rest) if axis is None else axis for axis in order))


def _of_unknown_rank(x: Tensor, name: str) -> Tensor:
    """A view of ``x`` by a name of its own: what is learned of the rank of the one is not that of the other."""
    return replace(x, shape=None, strides=None, name=f"{x.name}.{name}" if x.name else "")


def _view(name: str) -> Callable[..., Any]:
    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        x = args[0]
        if not isinstance(x, Tensor):
            return Unknown(name)
        if len(args) == 2 and isinstance(args[1], Dtype):
            return _view_dtype(x, args[1])
        target = _sizes([kwargs.get("shape", kwargs.get("size"))] if not args[1:] else args[1:])
        if target is None and args[1:] and isinstance(args[1], Tensor) and name == "view_as":
            target = args[1].shape
        shape = _infer(h, x, target) if target is not None else None
        if shape is None:
            return _of_unknown_rank(x, name)
        strides = _view_strides(x, shape)
        if strides is not None:
            return replace(x, shape=shape, strides=strides)
        if name == "view" and _is_exact(x, shape) and x.storage.origin in ("input", "parameter", "empty", "filled"):
            text = (
                f"`.view({', '.join(map(str, shape))})` cannot give `{x.name or 'the tensor'}`, of shape "
                f"({', '.join(map(str, x.shape or ()))}) and strides ({', '.join(map(str, x.strides or ()))}), another "
                "shape without a copy; use `.reshape` or `.contiguous()`"
            )
            h.refuse("strided-view", node, text)
        if name == "reshape" and x.is_contiguous is False:
            return _copied(h, "reshape", x, shape, x.dtype, node)
        return replace(x, shape=shape, strides=None)

    return handler


def _is_exact(x: Tensor, shape: Shape) -> bool:
    """Whether shape and strides of ``x`` and the new ``shape`` are numbers, of as many elements."""
    old, strides = x.shape or (), x.strides or ()
    numbers, fresh = [n for n in old if isinstance(n, int)], [n for n in shape if isinstance(n, int)]
    known = len(numbers) == len(old) and len(fresh) == len(shape) and all(isinstance(step, int) for step in strides)
    return known and math.prod(numbers) == math.prod(fresh) > 0


def _view_dtype(x: Tensor, target: Dtype) -> Tensor:
    if x.dtype is None or x.shape is None or x.dtype.bytes == target.bytes:
        return replace(x, dtype=target)
    last = ex.floordiv(ex.lift(x.shape[-1]) * x.dtype.bytes, target.bytes)
    shape = (*x.shape[:-1], last)
    return replace(x, dtype=target, shape=shape, strides=contiguous_strides(shape) if x.is_contiguous else None)


def _infer(h: HostEvaluator, x: Tensor, target: Shape) -> Shape | None:
    """``target`` with its -1 filled in."""
    holes = [i for i, extent in enumerate(target) if extent == -1]
    if not holes:
        return target
    known = product(tuple(e for e in target if e != -1))
    if len(holes) > 1 or known == 0:
        return None
    elements = product(x.shape) if x.shape is not None else h.symbol_for(x, "numel")
    return tuple(ex.floordiv(elements, known) if e == -1 else e for e in target)


def _view_strides(x: Tensor, shape: Shape) -> Shape | None:
    """Strides of ``x.view(shape)`` without a copy, by torch's rule; None where it needs one or is not known."""
    if x.shape is None or x.strides is None:
        return None
    if x.is_contiguous:
        return contiguous_strides(shape)
    old = [(n, s) for n, s in zip(x.shape, x.strides) if n != 1]
    strides: list[Size] = [1] * len(shape)
    position = len(shape) - 1
    i = len(old) - 1
    while i >= 0:
        # A run of old axes that lie behind one another in memory can be cut up anew.
        size, step = old[i]
        base = step
        while i > 0 and old[i - 1][1] == ex.simplify(ex.lift(old[i][1]) * old[i][0]):
            i -= 1
            size = ex.simplify(ex.lift(size) * old[i][0])
        running: Size = 1
        while position >= 0 and (running != size or shape[position] == 1):
            strides[position] = ex.simplify(ex.lift(base) * running)
            running = ex.simplify(ex.lift(running) * shape[position])
            position -= 1
        if running != size:
            return None
        i -= 1
    if any(shape[p] != 1 for p in range(position + 1)):
        return None
    return tuple(strides)


def _flatten(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    if not isinstance(x, Tensor) or x.shape is None:
        return x
    rank = len(x.shape)
    start = _axis(_arg(args, kwargs, 1, "start_dim", default=0), rank)
    end = _axis(_arg(args, kwargs, 2, "end_dim", default=-1), rank)
    if start is None or end is None:
        return _of_unknown_rank(x, "flatten")
    shape = (*x.shape[:start], product(x.shape[start : end + 1]), *x.shape[end + 1 :])
    return _view("reshape")(h, [x, shape], {}, node)


def _unflatten(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x, dim, sizes = args[0], _arg(args, kwargs, 1, "dim"), _sizes([_arg(args, kwargs, 2, "sizes", "unflattened_size")])
    axis = _axis(dim, len(x.shape)) if isinstance(x, Tensor) and x.shape is not None else None
    if axis is None or sizes is None or not isinstance(x.shape[axis], (int, Expr)):
        return _of_unknown_rank(x, "unflatten") if isinstance(x, Tensor) else Unknown("unflatten")
    known = product(tuple(size for size in sizes if size != -1))
    parts = tuple(ex.floordiv(ex.lift(x.shape[axis]), known) if size == -1 else size for size in sizes)
    shape = (*x.shape[:axis], *parts, *x.shape[axis + 1 :])
    strides = None
    if x.strides is not None:
        inner = (ex.simplify(ex.lift(step) * x.strides[axis]) for step in contiguous_strides(parts))
        strides = (*x.strides[:axis], *inner, *x.strides[axis + 1 :])
    return replace(x, shape=shape, strides=strides)


def _as_strided(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x, shape, strides = args[0], _sizes([_arg(args, kwargs, 1, "size")]), _sizes([_arg(args, kwargs, 2, "stride")])
    offset = _arg(args, kwargs, 3, "storage_offset")
    if not isinstance(x, Tensor) or shape is None or not isinstance(offset, (int, Expr, type(None))):
        return Unknown("as_strided")
    return replace(x, shape=shape, strides=strides, offset=x.offset if offset is None else offset)


def _unsqueeze(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x, dim = args[0], _arg(args, kwargs, 1, "dim")
    if not isinstance(x, Tensor) or x.shape is None or not isinstance(dim, int):
        return x
    at = dim if dim >= 0 else len(x.shape) + 1 + dim
    strides = (*x.strides[:at], 1, *x.strides[at:]) if x.strides is not None else None
    return replace(x, shape=(*x.shape[:at], 1, *x.shape[at:]), strides=strides)


def _squeeze(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x, dim = args[0], _arg(args, kwargs, 1, "dim")
    if not isinstance(x, Tensor) or x.shape is None:
        return x
    axes = [_axis(dim, len(x.shape))] if dim is not None else list(range(len(x.shape)))
    keep = [i for i, n in enumerate(x.shape) if not (i in axes and n == 1)]
    strides = tuple(x.strides[i] for i in keep) if x.strides is not None else None
    return replace(x, shape=tuple(x.shape[i] for i in keep), strides=strides)


def _expand(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    shape = args[1].shape if len(args) > 1 and isinstance(args[1], Tensor) else _sizes(args[1:])
    if not isinstance(x, Tensor) or shape is None or x.shape is None:
        return x
    lead = len(shape) - len(x.shape)
    sizes: list[Size] = []
    strides: list[Size] = []
    for i, extent in enumerate(shape):
        old = x.shape[i - lead] if i >= lead else 1
        sizes.append(old if extent == -1 else extent)
        stride = x.strides[i - lead] if i >= lead and x.strides is not None else 0
        strides.append(0 if old == 1 and extent != 1 else stride)
    return replace(x, shape=tuple(sizes), strides=tuple(strides) if x.strides is not None else None)


def index(h: HostEvaluator, x: Tensor, key: Any, node: cst.CSTNode) -> Any:
    """``x[key]``: basic indexing is a view, a tensor index gathers."""
    parts = list(key) if isinstance(key, tuple) else [key]
    if any(isinstance(p, (Tensor, list)) for p in parts):
        return _gathered(h, x, parts, node)
    _note_read_sizes(h, x, [part for part in parts if isinstance(part, slice)])
    if x.shape is None:
        return replace(x, shape=None, strides=None, name=x.name)
    rank = len(x.shape)
    if ... in parts:
        at = parts.index(...)
        missing = rank - sum(p is not None and p is not ... for p in parts)
        parts[at : at + 1] = [slice(None)] * max(0, missing)
    shape: list[Size] = []
    strides: list[Size | None] = []
    offset: Size = x.offset
    dim = 0
    for part in parts:
        if part is None:
            shape.append(1)
            strides.append(1)
            continue
        if dim >= rank:
            return Unknown("too many indices")
        size, stride = x.shape[dim], x.strides[dim] if x.strides is not None else None
        if isinstance(part, slice):
            start, stop, step = part.start, part.stop, part.step
            if start is None and stop is None and step in (None, 1):
                shape.append(size)
                strides.append(stride)
            else:
                begin, length = _sliced(size, start, stop, step)
                shape.append(length if length is not None else ex.opaque("unknown", key=id(node)))
                factor = step if isinstance(step, int) else 1
                strides.append(ex.simplify(ex.lift(stride) * factor) if stride is not None else None)
                if begin is not None and stride is not None:
                    offset = ex.simplify(ex.lift(offset) + ex.lift(begin) * stride)
        elif isinstance(part, (int, Expr)):
            if isinstance(part, int) and part < 0 and isinstance(size, int):
                part += size
            if stride is not None:
                offset = ex.simplify(ex.lift(offset) + ex.lift(part) * stride)
        else:
            return replace(x, shape=None, strides=None)
        dim += 1
    shape += list(x.shape[dim:])
    strides += list(x.strides[dim:]) if x.strides is not None else [None] * (rank - dim)
    known = None if any(s is None for s in strides) else tuple(s for s in strides if s is not None)
    return replace(x, shape=tuple(shape), strides=known, offset=offset)


def _sliced(size: Size, start: Any, stop: Any, step: Any) -> tuple[Size | None, Size | None]:
    """First index and length of ``[start:stop:step]`` along an axis of ``size``."""
    parts = (start, stop, step)
    if isinstance(size, int) and all(p is None or isinstance(p, int) for p in parts):
        first, last, stride = slice(start, stop, step).indices(size)
        return first, len(range(first, last, stride))
    if not all(p is None or isinstance(p, (int, Expr)) for p in parts):
        return None, None
    begin: Size = start if start is not None else 0
    if isinstance(begin, int) and begin < 0:
        begin = ex.simplify(ex.lift(size) + begin)
    end: Size = stop if stop is not None else size
    if isinstance(end, int) and end < 0:
        end = ex.simplify(ex.lift(size) + end)
    length = ex.simplify(ex.lift(end) - begin)
    return begin, length if step in (None, 1) else ex.ceildiv(length, step)


def _gathered(h: HostEvaluator, x: Tensor, parts: list[Any], node: cst.CSTNode) -> Any:
    indices = _tensors(parts)
    shape: Shape | None = None
    lists = [p for p in parts if isinstance(p, list)]
    boolean = any(t.dtype == dt.BOOL for t in indices)
    if (
        x.shape is not None
        and len(parts) <= len(x.shape)
        and all(isinstance(p, (Tensor, list)) or p == slice(None) for p in parts)
        and all(type(element) in (int, Expr) for p in lists for element in p)
    ):
        common: Shape | None = ()
        for extents in (*(t.shape for t in indices), *((len(p),) for p in lists)):
            common = broadcast(common, extents)
        if common is not None and not boolean:
            places = [i for i, p in enumerate(parts) if isinstance(p, (Tensor, list))]
            together = places == list(range(places[0], places[-1] + 1))
            kept = [n for i, n in enumerate(x.shape) if i not in places]
            first = places[0] if together else 0
            shape = (*kept[:first], *common, *kept[first:])
    if boolean:
        h.sync("boolean-mask indexing waits for the number of true elements", node, x)
    result = h.allocate(x.dtype, shape, "result", node)
    dims = _run(x) if len(indices) == 1 and not lists and not boolean and parts[0] is indices[0] else {}
    with h.inside("index", [x, tuple(parts)], {}):
        h.torch_op("index", "gather", (x, *indices), (result,), node, dims=dims)
    return result


def _run(x: Tensor) -> dict[str, int]:
    """The ``dims`` of a gather along the first axis of ``x``: ``run``, the elements that one index picks, side by side."""
    extents = [ex.concrete(size) for size in x.shape[1:]] if x.shape and x.is_contiguous else [None]
    known = [extent for extent in extents if extent is not None]
    return {"run": math.prod(known)} if len(known) == len(extents) else {}


def _select(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x, dim, at = args[0], _arg(args, kwargs, 1, "dim"), _arg(args, kwargs, 2, "index")
    axis = _axis(dim, len(x.shape)) if isinstance(x, Tensor) and x.shape is not None else None
    if axis is None:
        return Unknown("select")
    return index(h, x, (*[slice(None)] * axis, at), node)


def _narrow(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x, dim, start, length = args[0], *(_arg(args, kwargs, i, n) for i, n in ((1, "dim"), (2, "start"), (3, "length")))
    axis = _axis(dim, len(x.shape)) if isinstance(x, Tensor) and x.shape is not None else None
    if axis is None or not isinstance(start, (int, Expr)) or not isinstance(length, (int, Expr)):
        return Unknown("narrow")
    return index(h, x, (*[slice(None)] * axis, slice(start, ex.simplify(ex.lift(start) + length))), node)


def _chunk(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x, count = args[0], _arg(args, kwargs, 1, "chunks")
    axis = _axis(_arg(args, kwargs, 2, "dim", default=0), len(x.shape)) if isinstance(x, Tensor) and x.shape else None
    if axis is None or not isinstance(count, int) or not 0 < count <= 64:
        return Unknown("chunk")
    part = ex.ceildiv(x.shape[axis], count)
    return tuple(
        index(
            h,
            x,
            (*[slice(None)] * axis, slice(ex.simplify(ex.lift(part) * i), ex.simplify(ex.lift(part) * (i + 1)))),
            node,
        )
        for i in range(count)
    )


def _split(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x, sizes = args[0], _arg(args, kwargs, 1, "split_size_or_sections", "split_size")
    axis = _axis(_arg(args, kwargs, 2, "dim", default=0), len(x.shape)) if isinstance(x, Tensor) and x.shape else None
    if axis is None:
        return Unknown("split")
    if isinstance(sizes, int) and sizes > 0 and isinstance(x.shape[axis], int) and x.shape[axis] // sizes <= 64:
        total = x.shape[axis]
        sizes = [min(sizes, total - s) for s in range(0, total, sizes)]
    if not isinstance(sizes, (list, tuple)) or not all(isinstance(s, (int, Expr)) for s in sizes):
        return Unknown("split")
    start: Size = 0
    parts = []
    for size in sizes:
        stop = ex.simplify(ex.lift(start) + size)
        parts.append(index(h, x, (*[slice(None)] * axis, slice(start, stop)), node))
        start = stop
    return tuple(parts)


def _unbind(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    axis = _axis(_arg(args, kwargs, 1, "dim", default=0), len(x.shape)) if isinstance(x, Tensor) and x.shape else None
    if axis is None or not isinstance(x.shape[axis], int) or x.shape[axis] > MAX_VIEWS:
        return Unknown("unbind")
    return tuple(index(h, x, (*[slice(None)] * axis, i), node) for i in range(x.shape[axis]))


def _same(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    return args[0] if args else Unknown("argument")


# -- copies and casts -------------------------------------------------------------------------------------------------


def _copied(
    h: HostEvaluator,
    name: str,
    x: Tensor,
    shape: Shape | None,
    dtype: Dtype | None,
    node: cst.CSTNode,
    strides: Shape | None = None,
) -> Tensor:
    """A new tensor with the elements of ``x``, row-major where no ``strides`` are given."""
    result = h.allocate(dtype, shape, "result", node)
    if strides is not None:
        result = replace(result, strides=strides)
    permutes = x.is_contiguous is False and _is_dense(x) and strides != x.strides
    kind = "cast" if dtype != x.dtype else "transpose" if permutes else "copy"
    h.torch_op(name, kind, (x,), (result,), node)
    return result


def _contiguous(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    if not isinstance(x, Tensor):
        return Unknown("contiguous")
    layout = _arg(args, kwargs, 1, "memory_format")
    if layout is not None and layout != "contiguous_format":
        return x if h.skips(node) else _in_format(h, "contiguous", x, x.dtype, layout, node)
    if x.is_contiguous or h.skips(node):
        return x
    if x.strides is None:
        # Layout not known: a copy may or may not happen. Say so and take the layout that holds either way.
        h.assume(f"{x.name} is contiguous, so .contiguous() copies nothing")
        if x.shape is None:
            h.contiguous.add(x.storage.id)  # for when its rank is learned
            return x
        return replace(x, strides=contiguous_strides(x.shape))
    return _copied(h, "contiguous", x, x.shape, x.dtype, node)


def _clone(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    if not isinstance(x, Tensor):
        return Unknown("clone")
    if h.skips(node):
        return x
    layout = kwargs.get("memory_format", "preserve_format")
    if layout == "preserve_format":
        kept = x.strides if x.is_contiguous is False and _is_dense(x) else None
        return _copied(h, "clone", x, x.shape, x.dtype, node, kept)
    if layout == "contiguous_format":
        return _copied(h, "clone", x, x.shape, x.dtype, node)
    return _in_format(h, "clone", x, x.dtype, layout, node)


def _in_format(h: HostEvaluator, name: str, x: Tensor, dtype: Dtype | None, layout: Any, node: cst.CSTNode) -> Tensor:
    """``x`` in another memory format than torch's usual one: channels last, or one that is not known."""
    strides = _channels_last(x.shape) if layout == "channels_last" else None
    if strides is not None and strides == x.strides and dtype == x.dtype:
        return x
    return replace(_copied(h, name, x, x.shape, dtype, node, strides), strides=strides)


def _channels_last(shape: Shape | None) -> Shape | None:
    """The strides of images [N, C, H, W] whose channels lie next to one another."""
    if shape is None or len(shape) != 4:
        return None
    n, c, height, width = shape
    batch, row, column, channel = contiguous_strides((n, height, width, c))
    return batch, channel, row, column


def _lies_channels_last(x: Tensor) -> bool:
    """Whether ``x`` is images whose channels lie next to one another, for certain: a convolution's result does then too."""
    return x.strides is not None and x.is_contiguous is False and x.strides == _channels_last(x.shape)


def _to(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    if not isinstance(x, Tensor):
        return x if not isinstance(x, Unknown) else Unknown("to")
    target: Any = kwargs.get("dtype")
    moves = False
    for value in args[1:]:
        if isinstance(value, Dtype):
            target = value
        elif isinstance(value, Tensor):
            target = value.dtype
        else:
            moves = moves or not isinstance(value, bool)
    if any(names_cpu(value) for value in args[1:]) or on_cpu(kwargs):
        copied = _cpu(h, args, kwargs, node)
        return replace(copied, dtype=target) if isinstance(target, Dtype) else copied
    if h.is_hosted(x) and (moves or kwargs.get("device") is not None):
        return _cuda(h, [replace(x, dtype=target or x.dtype)], kwargs, node)
    layout = kwargs.get("memory_format", "preserve_format")
    if layout != "preserve_format" and not h.skips(node):
        dtype = target if isinstance(target, Dtype) else x.dtype
        if layout != "contiguous_format":
            return _in_format(h, "to", x, dtype, layout, node)
        return x if x.is_contiguous and dtype == x.dtype else _copied(h, "to", x, x.shape, dtype, node)
    return _cast(h, "to", x, target, node) if isinstance(target, Dtype) else x


def _cast(h: HostEvaluator, name: str, x: Tensor, target: Dtype, node: cst.CSTNode) -> Tensor:
    if x.dtype == target or h.skips(node):
        return x
    result = h.allocate(target, x.shape, "result", node)
    if x.is_contiguous is False and _is_dense(x):
        result = replace(result, strides=x.strides)  # preserve_format keeps the order of the axes
    h.torch_op(name, "cast", (x,), (result,), node)
    return result


def _cast_to(target: Dtype) -> Callable[..., Any]:
    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        x = args[0] if args else None
        return _cast(h, str(target), x, target, node) if isinstance(x, Tensor) else Unknown("cast")

    return handler


def _copy_(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x, source = args[0], _arg(args, kwargs, 1, "src")
    if isinstance(x, Tensor) and isinstance(source, Tensor) and not h.skips(node):
        kind = "cast" if x.dtype != source.dtype else "copy"
        h.torch_op("copy_", kind, (source,), (x,), node)
    return x


def _cpu(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    if not isinstance(x, Tensor):
        return Unknown("copy on the host")
    if h.is_hosted(x):
        return x
    h.sync("copy to the CPU", node, x)
    return h.host_tensor(h.allocate(x.dtype, x.shape, "result", node, x.name))


def _cuda(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    if not isinstance(x, Tensor) or not h.is_hosted(x):
        return x
    result = h.allocate(x.dtype, x.shape, "constant", node, x.name)
    h.torch_op("to", "fill", (), (result,), node)
    return result


def device_of(name: str) -> Instance:
    """What ``torch.device(name)`` makes. A tensor that a file makes without naming a device stands for one on the device in
    question: whoever measures the file moves its inputs there."""
    kind, _, index = name.partition(":")
    return Instance(None, "torch.device", {"type": kind, "index": int(index) if index.isdigit() else None})


def names_cpu(device: Any) -> bool:
    """Whether ``device``, a name or a ``torch.device``, is the host."""
    if isinstance(device, Instance) and device.kind == "torch.device":
        device = device.attrs["type"]
    return isinstance(device, str) and device == "cpu"


def on_cpu(kwargs: Kwargs) -> bool:
    """Whether the arguments of a constructor ask for the memory of the host."""
    return names_cpu(kwargs.get("device")) or kwargs.get("pin_memory") is True


def _item(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0] if args else None
    h.sync("reads a device value on the host", node, x if isinstance(x, Tensor) else None)
    return ReadValue("value of a tensor", frozenset({h.span(node)}))


# -- computation ------------------------------------------------------------------------------------------------------


def elementwise(
    h: HostEvaluator,
    name: str,
    args: Args,
    node: cst.CSTNode,
    dtype: Dtype | None = None,
    flops: int = 1,
    into: Tensor | None = None,
) -> Any:
    """One elementwise kernel over tensors and scalars; ``dtype`` overrides promotion; ``into`` is written in place."""
    tensors = _tensors(args)
    if not tensors:
        return Unknown(name)
    shape: Shape | None = tensors[0].shape
    for t in tensors[1:]:
        shape = broadcast(shape, t.shape)
    result_type = _common(args)
    if name in _OF_FLOATS and result_type is not None and not result_type.is_float:
        result_type = dt.FLOAT32
    if into is not None:
        result = into
    else:
        result = h.allocate(dtype or result_type, shape, "result", node)
        lead = tensors[0]
        if lead.shape == shape and lead.strides is not None and lead.is_contiguous is False and _is_dense(lead):
            result = replace(result, strides=lead.strides)
    count = result.numel
    h.torch_op(name, "elementwise", tensors, (result,), node, flops=None if count is None else count * flops)
    return result


def _elementwise(name: str, dtype: Dtype | None = None, flops: int = 1) -> Callable[..., Any]:
    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        out = kwargs.get("out")
        values = [*args, *(v for k, v in kwargs.items() if k != "out" and isinstance(v, (Tensor, float)))]
        operation = "floor_divide" if name in _DIVISIONS and kwargs.get("rounding_mode") is not None else name
        return elementwise(h, operation, values, node, dtype, flops, out if isinstance(out, Tensor) else None)

    return handler


def _inplace(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode, name: str) -> Any:
    x = args[0] if args else None
    if not isinstance(x, Tensor):
        return Unknown(name)
    if name == "resize_":
        _note_read_sizes(h, x, args[1:])
    if name in ("zero_", "fill_"):
        h.torch_op(name, "fill", (), (x,), node)
    elif name in ("normal_", "uniform_", "random_", "bernoulli_", "exponential_", "trunc_normal_"):
        h.torch_op(name, "random", (), (x,), node)
    elif name in ("requires_grad_", "share_memory_", "record_stream"):
        pass
    elif name in ("transpose_", "t_", "unsqueeze_", "squeeze_"):
        return function(h, name[:-1], args, kwargs, node)
    elif name in ("index_add_", "scatter_", "scatter_add_", "index_copy_", "index_fill_"):
        h.torch_op(name, "gather", _tensors(args), (x,), node)
    else:
        elementwise(h, name, args, node, into=x)
    return x


def _reduction(name: str, pair: bool = False, dtype: Dtype | None = None) -> Callable[..., Any]:
    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        x = args[0] if args else None
        if not isinstance(x, Tensor):
            return Unknown(name)
        if name in ("max", "min") and len(args) > 1 and isinstance(args[1], Tensor):
            return elementwise(h, name + "imum", args[:2], node)
        position = 2 if name in ("norm", "quantile") else 1
        dim = _arg(args, kwargs, position, "dim", "axis")
        keep = bool(_arg(args, kwargs, position + 1, "keepdim", default=False))
        result_type = _dtype(kwargs, dtype or x.dtype)
        if name in _SUMS and "dtype" not in kwargs and result_type is not None and not result_type.is_float:
            result_type = dt.INT64
        shape = _reduced(x.shape, dim, keep)
        result = h.allocate(result_type, shape, "result", node)
        axes = _axes(x.shape, dim)
        dims = {"inner": int(bool(axes) and x.shape is not None and max(axes) == len(x.shape) - 1)}
        h.torch_op(name, "reduce", (x,), (result,), node, flops=x.numel, dims=dims)
        if pair and dim is not None:
            return (result, replace(result, dtype=dt.INT64))
        return result

    return handler


def _pair(name: str) -> Callable[..., Any]:
    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        result = _reduction(name)(h, args, kwargs, node)
        return (result, replace(result, name="")) if isinstance(result, Tensor) else (result, result)

    return handler


def _axes(shape: Shape | None, dim: Any) -> list[int]:
    if shape is None:
        return []
    if dim is None:
        return list(range(len(shape)))
    dims = dim if isinstance(dim, (tuple, list)) else [dim]
    return [a for a in (_axis(d, len(shape)) for d in dims) if a is not None]


def _reduced(shape: Shape | None, dim: Any, keep: bool) -> Shape | None:
    if shape is None or isinstance(dim, Unknown):
        return None
    axes = _axes(shape, dim)
    return tuple(1 if i in axes else n for i, n in enumerate(shape) if keep or i not in axes)


def matmul(
    h: HostEvaluator,
    name: str,
    a: Tensor,
    b: Tensor,
    node: cst.CSTNode,
    extra: tuple[Tensor, ...] = (),
    dtype: Dtype | None = None,
) -> Any:
    """``a @ b`` with torch's broadcasting over leading axes; ``extra`` are further operands, such as a bias."""
    result_type = dtype or a.dtype
    if a.shape is None or b.shape is None or not a.shape or not b.shape:
        result = h.allocate(result_type, None, "result", node)
        h.torch_op(name, "matmul", (a, b, *extra), (result,), node, flops=None)
        return result
    m: Size = a.shape[-2] if len(a.shape) > 1 else 1
    k: Size = a.shape[-1]
    n: Size = b.shape[-1] if len(b.shape) > 1 else 1
    batch = broadcast(a.shape[:-2], b.shape[:-2]) or ()
    shape = batch + ((m,) if len(a.shape) > 1 else ()) + ((n,) if len(b.shape) > 1 else ())
    if len(b.shape) <= 2 and batch:
        m, batch = ex.simplify(ex.lift(m) * product(batch)), ()  # one GEMM over all rows
    if len(batch) > 1:
        for x in (a, b):
            _as_batch(h, _broadcast_to(x, (*batch, *(x.shape or ())[-2:])), (len(batch), 1, 1), node)
    result = h.allocate(result_type, shape, "result", node)
    sizes = {"batch": ex.concrete(product(batch)), "m": ex.concrete(m), "n": ex.concrete(n), "k": ex.concrete(k)}
    known = {key: value for key, value in sizes.items() if value is not None}
    flops = 2 * known["batch"] * known["m"] * known["n"] * known["k"] if len(known) == 4 else None
    h.torch_op(name, "matmul", (a, b, *extra), (result,), node, flops=flops, dims=known)
    return result


def _broadcast_to(x: Tensor, shape: Shape) -> Tensor:
    """The view of ``x`` with the leading axes, and the extents of those that have one element, of ``shape``."""
    assert x.shape is not None
    lead = len(shape) - len(x.shape)
    if x.strides is None:
        return replace(x, shape=shape)
    old = [(1, 0)] * lead + list(zip(x.shape, x.strides))
    strides = tuple(0 if size == 1 and new != 1 else stride for (size, stride), new in zip(old, shape))
    return replace(x, shape=shape, strides=strides)


def _as_batch(h: HostEvaluator, x: Tensor, groups: tuple[int, int, int], node: cst.CSTNode) -> None:
    """Record the copy that torch makes of an operand whose axes, in ``groups`` of so many, are to be those of a batch of
    matrices, where they do not lie in memory like that."""
    if x.shape is None or x.strides is None or any(ex.concrete(n) is None for n in (*x.shape, *x.strides)):
        return
    shape, at = [], 0
    for count in groups:
        shape.append(product(x.shape[at : at + count]))
        at += count
    if _view_strides(x, tuple(shape)) is None:
        result = h.allocate(x.dtype, tuple(shape), "result", node)
        h.torch_op("reshape", "transpose" if _is_dense(x) else "copy", (x,), (result,), node)


def _matmul(name: str) -> Callable[..., Any]:
    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        a, b = _arg(args, kwargs, 0, "input"), _arg(args, kwargs, 1, "other", "mat2")
        if not isinstance(a, Tensor) or not isinstance(b, Tensor):
            return Unknown(name)
        return matmul(h, name, a, b, node, dtype=dt.INT32 if name == "_int_mm" else None)

    return handler


def _addmm(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    bias, a, b = args[:3]
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        return Unknown("addmm")
    return matmul(h, "addmm", a, b, node, _tensors([bias]))


def linear(h: HostEvaluator, x: Any, weight: Any, bias: Any, node: cst.CSTNode) -> Any:
    """``F.linear``: x [..., k] times weight [n, k] transposed, plus bias [n]."""
    if not isinstance(x, Tensor) or not isinstance(weight, Tensor):
        return Unknown("linear")
    return matmul(h, "linear", x, _transpose(h, weight, -2, -1), node, _tensors([bias]))


def _linear(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    return linear(
        h, _arg(args, kwargs, 0, "input"), _arg(args, kwargs, 1, "weight"), _arg(args, kwargs, 2, "bias"), node
    )


def _einsum(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    tensors = _tensors(args[1:])
    if not isinstance(args[0], str) or len(tensors) != 2 or "->" not in args[0] or "." in args[0]:
        h.torch_op("einsum", "matmul", tensors, (), node, flops=None)
        return Unknown("einsum")
    inputs, output = args[0].replace(" ", "").split("->")
    terms = inputs.split(",")
    sizes: dict[str, Size] = {}
    for term, t in zip(terms, tensors):
        for letter, extent in zip(term, t.shape or ()):
            sizes.setdefault(letter, extent)
    if len(terms) != 2 or any(c not in sizes for c in output):
        return Unknown("einsum")
    result = h.allocate(tensors[0].dtype, tuple(sizes[c] for c in output), "result", node)
    groups = {"batch": 1, "m": 1, "n": 1, "k": 1}
    for letter, extent in sizes.items():
        number = ex.concrete(extent)
        if number is None:
            h.torch_op("einsum", "matmul", tensors, (result,), node, flops=None)
            return result
        first, second, kept = letter in terms[0], letter in terms[1], letter in output
        key = "k" if not kept else "batch" if first and second else "m" if first else "n"
        groups[key] *= number
    for term, x in zip(terms, tensors):
        # As ATen orders them: a batch of matrices, one with the summed axes last, the other with them in the middle.
        batch, own = (
            [c for c in output if c in term and all(c in one for one in terms) is shared] for shared in (True, False)
        )
        summed = sorted({c for c in term if c not in output and all(c in one for one in terms)})
        ordered = [batch, own, summed] if term is terms[0] else [batch, summed, own]
        letters = [letter for group in ordered for letter in group]
        if len(letters) == len(set(term)) == len(term):
            order = tuple(term.index(letter) for letter in letters)
            _as_batch(h, permuted(x, order), (len(batch), len(ordered[1]), len(ordered[2])), node)
    flops = 2 * groups["batch"] * groups["m"] * groups["n"] * groups["k"]
    h.torch_op("einsum", "matmul", tensors, (result,), node, flops=flops, dims=groups)
    return result


def _rowwise(name: str, kind: str, flops: int = 5) -> Callable[..., Any]:
    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        x = _arg(args, kwargs, 0, "input")
        if not isinstance(x, Tensor):
            return Unknown(name)
        default = next((value for value in args[1:] if isinstance(value, Dtype)), x.dtype)
        if name in _SUMS and default is not None and not default.is_float:
            default = dt.INT64
        result = h.allocate(_dtype(kwargs, default), x.shape, "result", node)
        extra = _tensors(args[1:]) + _tensors(kwargs.values())
        count = x.numel
        axis = _axis(_arg(args, kwargs, 1, "dim"), len(x.shape)) if x.shape else None
        dims = {"inner": int(axis == len(x.shape) - 1)} if axis is not None and x.shape else {}
        h.torch_op(name, kind, (x, *extra), (result,), node, None if count is None else flops * count, dims)
        return result

    return handler


#: Sums and products that are wide enough for integers whatever the operand is.
_SUMS = frozenset({"sum", "prod", "cumsum", "cumprod"})


def _with_places(name: str) -> Callable[..., Any]:
    """A row-wise operation that tells beside the values where they come from."""

    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        result = _rowwise(name, "scan", 16 if name == "sort" else 1)(h, args, kwargs, node)
        return (result, replace(result, dtype=dt.INT64)) if isinstance(result, Tensor) else result

    return handler


def _argsort(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    return _rowwise("argsort", "scan", 16)(h, args, {**kwargs, "dtype": dt.INT64}, node)


def _outer(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    a, b = _arg(args, kwargs, 0, "input"), _arg(args, kwargs, 1, "vec2")
    if not isinstance(a, Tensor) or not isinstance(b, Tensor):
        return Unknown("outer")
    return elementwise(h, "outer", [_unsqueeze(h, [a, 1], {}, node), _unsqueeze(h, [b, 0], {}, node)], node)


def _attention(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    q, k, v = (_arg(args, kwargs, i, n) for i, n in enumerate(("query", "key", "value")))
    if not all(isinstance(t, Tensor) for t in (q, k, v)):
        return Unknown("attention")
    shape = (*q.shape[:-1], v.shape[-1]) if q.shape and v.shape else None
    result = h.allocate(q.dtype, shape, "result", node)
    causal = _arg(args, kwargs, 5, "is_causal", default=False) is True
    flops = None
    dims: dict[str, int] = {"causal": int(causal)}
    if q.shape and k.shape and v.shape:
        sizes = [ex.concrete(e) for e in (product(q.shape[:-2]), q.shape[-2], k.shape[-2], q.shape[-1], v.shape[-1])]
        if None not in sizes:
            batch, m, n, d, dv = (s for s in sizes if s is not None)
            flops = 2 * batch * m * n * (d + dv) // (2 if causal else 1)
            dims.update(batch=batch, m=m, n=n, k=d)
    h.torch_op("scaled_dot_product_attention", "attention", (q, k, v), (result,), node, flops=flops, dims=dims)
    return result


def convolution(
    h: HostEvaluator,
    name: str,
    x: Any,
    weight: Any,
    bias: Any,
    node: cst.CSTNode,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
) -> Any:
    """``F.convNd``: x [N, C, *spatial], weight [O, C / groups, *kernel]."""
    if not isinstance(x, Tensor) or not isinstance(weight, Tensor):
        return Unknown(name)
    shape = None
    if x.shape is not None and weight.shape is not None and len(x.shape) == len(weight.shape):
        rank = len(weight.shape) - 2
        steps, pads, gaps = (_spread(v, rank, d) for v, d in ((stride, 1), (padding, 0), (dilation, 1)))
        spatial = []
        for i in range(rank):
            pad = (
                ex.floordiv(ex.lift(gaps[i]) * (ex.lift(weight.shape[2 + i]) - 1), 2) if pads[i] == "same" else pads[i]
            )
            span = (
                ex.lift(x.shape[2 + i]) + ex.lift(pad) * 2 - ex.lift(gaps[i]) * (ex.lift(weight.shape[2 + i]) - 1) - 1
            )
            spatial.append(ex.simplify(ex.lift(ex.floordiv(span, steps[i])) + 1))
        shape = (x.shape[0], weight.shape[0], *spatial)
    result = h.allocate(x.dtype, shape, "result", node)
    if shape is not None and any(_lies_channels_last(one) for one in (x, weight)):
        result = replace(result, strides=_channels_last(result.shape))
    return _convolved(h, name, x, weight, bias, node, result, result, stride=stride, dilation=dilation)


def transposed_convolution(
    h: HostEvaluator,
    name: str,
    x: Any,
    weight: Any,
    bias: Any,
    node: cst.CSTNode,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: Any = 1,
    dilation: Any = 1,
) -> Any:
    """``F.conv_transposeNd``: x [N, C, *spatial], weight [C, O / groups, *kernel]."""
    if not isinstance(x, Tensor) or not isinstance(weight, Tensor):
        return Unknown(name)
    shape = None
    if x.shape is not None and weight.shape is not None and len(x.shape) == len(weight.shape):
        rank = len(weight.shape) - 2
        geometry = ((stride, 1), (padding, 0), (output_padding, 0), (dilation, 1))
        steps, pads, more, gaps = (_spread(value, rank, default) for value, default in geometry)
        spatial = [
            ex.simplify(
                (ex.lift(x.shape[2 + i]) - 1) * steps[i]
                - ex.lift(pads[i]) * 2
                + ex.lift(gaps[i]) * (ex.lift(weight.shape[2 + i]) - 1)
                + ex.lift(more[i])
                + 1
            )
            for i in range(rank)
        ]
        channels = ex.simplify(ex.lift(weight.shape[1]) * (groups if isinstance(groups, (int, Expr)) else 1))
        shape = (x.shape[0], channels, *spatial)
    result = h.allocate(x.dtype, shape, "result", node)
    return _convolved(h, name, x, weight, bias, node, result, x, stride=stride, dilation=dilation, groups=groups)


def _convolved(
    h: HostEvaluator,
    name: str,
    x: Tensor,
    weight: Tensor,
    bias: Any,
    node: cst.CSTNode,
    result: Tensor,
    windows: Tensor,
    **geometry: Any,
) -> Tensor:
    """``result``, recorded as a convolution in which each element of ``windows`` meets one filter's taps; of ``geometry`` the largest
    number along any axis."""
    taps = ex.concrete(product(weight.shape[1:])) if weight.shape is not None else None
    flops = 2 * windows.numel * taps if windows.numel is not None and taps is not None else None
    dims = {}
    for word, value in geometry.items():
        numbers = value if isinstance(value, (tuple, list)) else [value]
        dims[word] = max((number for number in numbers if isinstance(number, int)), default=1)
    h.torch_op(name, "conv", (x, weight, *_tensors([bias])), (result,), node, flops=flops, dims=dims)
    return result


def _spread(value: Any, rank: int, default: int) -> list[Any]:
    if isinstance(value, (tuple, list)) and len(value) == rank:
        return list(value)
    return [value if isinstance(value, (int, Expr, str)) else default] * rank


def _conv(name: str) -> Callable[..., Any]:
    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        names = ("input", "weight", "bias", "stride", "padding", "dilation")
        x, weight, bias, *geometry = (_arg(args, kwargs, i, n) for i, n in enumerate(names))
        return convolution(h, name, x, weight, bias, node, *geometry)

    return handler


def _conv_transpose(name: str) -> Callable[..., Any]:
    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        names = ("input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation")
        x, weight, bias, *geometry = (_arg(args, kwargs, i, n) for i, n in enumerate(names))
        return transposed_convolution(h, name, x, weight, bias, node, *geometry)

    return handler


def _cat(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    parts = args[0] if args else kwargs.get("tensors")
    parts = parts if isinstance(parts, (tuple, list)) else []
    tensors = _tensors(parts)
    if not tensors or len(tensors) != len(parts):
        return Unknown("cat")
    dim = _arg(args, kwargs, 1, "dim", default=0)
    shape = tensors[0].shape
    axis = _axis(dim, len(shape)) if shape is not None else None
    if (
        shape is not None
        and axis is not None
        and all(t.shape is not None and len(t.shape) == len(shape) for t in tensors)
    ):
        total: Size = 0
        for t in tensors:
            assert t.shape is not None
            total = ex.simplify(ex.lift(total) + t.shape[axis])
        count = h.list_length(parts)
        if count is not None and count != len(parts):  # filled by a loop: all but the first are like the last
            rest = ex.lift(count) - len(parts)
            total = ex.simplify(ex.lift(total) + rest * (tensors[-1].shape or (1,))[axis])
        shape = (*shape[:axis], total, *shape[axis + 1 :])
    else:
        shape = None
    result = h.allocate(_common(tensors), shape, "result", node)
    h.torch_op("cat", "cat", tensors, (result,), node)
    return result


def _stack(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    parts = args[0] if args else kwargs.get("tensors")
    tensors = _tensors(parts if isinstance(parts, (tuple, list)) else [])
    if not tensors or tensors[0].shape is None:
        return Unknown("stack")
    dim = _arg(args, kwargs, 1, "dim", default=0)
    shape = tensors[0].shape
    axis = _axis(dim, len(shape) + 1)
    count = h.list_length(parts)
    result_shape = (*shape[:axis], count, *shape[axis:]) if axis is not None and count is not None else None
    result = h.allocate(_common(tensors), result_shape, "result", node)
    h.torch_op("stack", "cat", tensors, (result,), node)
    return result


def _embedding(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    ids, table = _arg(args, kwargs, 0, "input"), _arg(args, kwargs, 1, "weight")
    if not isinstance(ids, Tensor) or not isinstance(table, Tensor):
        return Unknown("embedding")
    shape = (*ids.shape, table.shape[-1]) if ids.shape is not None and table.shape else None
    result = h.allocate(table.dtype, shape, "result", node)
    h.torch_op("embedding", "gather", (ids, table), (result,), node)
    return result


def _gather(name: str) -> Callable[..., Any]:
    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        tensors = _tensors(args) + _tensors(kwargs.values())
        if len(tensors) < 2:
            return Unknown(name)
        x, ids = tensors[0], tensors[1]
        shape = ids.shape
        dim = _arg(args, kwargs, 1, "dim")
        dims: dict[str, int] = {}
        if name == "index_select" and x.shape is not None and ids.shape is not None:
            axis = _axis(dim, len(x.shape))
            shape = (*x.shape[:axis], ids.shape[0], *x.shape[axis + 1 :]) if axis is not None else None
            dims = _run(x) if axis == 0 else {}
        elif name == "take_along_dim" and x.shape is not None and ids.shape is not None:
            axis = _axis(_arg(args, kwargs, 2, "dim"), len(x.shape))
            shape = broadcast((*x.shape[:axis], 1, *x.shape[axis + 1 :]), ids.shape) if axis is not None else None
        elif name.startswith(("scatter", "index_")):
            shape = x.shape
        result = h.allocate(x.dtype, shape, "result", node)
        h.torch_op(name, "gather", tensors, (result,), node, dims=dims)
        return result

    return handler


def _one_hot(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    ids, classes = _arg(args, kwargs, 0, "tensor", "input"), _arg(args, kwargs, 1, "num_classes", default=-1)
    if not isinstance(ids, Tensor):
        return Unknown("one_hot")
    told = isinstance(classes, (int, Expr)) and classes != -1
    result = h.allocate(dt.INT64, (*ids.shape, classes) if ids.shape is not None and told else None, "result", node)
    h.torch_op("one_hot", "gather", (ids,), (result,), node)
    if not told:
        h.sync("one_hot waits for the largest class", node, ids)
    return result


def _repeat(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode, tiles: bool = False) -> Any:
    x, times = args[0], _sizes(args[1:] or [_arg([], kwargs, 0, "repeats", "dims")])
    if not isinstance(x, Tensor):
        return Unknown("repeat")
    shape = None
    if tiles and times is not None and x.shape is not None:
        times = (1,) * (len(x.shape) - len(times)) + times
    if times is not None and x.shape is not None and len(times) >= len(x.shape):
        old = (1,) * (len(times) - len(x.shape)) + x.shape
        shape = tuple(ex.simplify(ex.lift(a) * b) for a, b in zip(old, times))
    result = h.allocate(x.dtype, shape, "result", node)
    h.torch_op("repeat", "copy", (x,), (result,), node)
    return result


def _repeat_interleave(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x, times = args[0], _arg(args, kwargs, 1, "repeats")
    if not isinstance(x, Tensor):
        return Unknown("repeat_interleave")
    shape = None
    axis = _axis(_arg(args, kwargs, 2, "dim"), len(x.shape)) if x.shape is not None else None
    if axis is not None and isinstance(times, (int, Expr)) and x.shape is not None:
        shape = (*x.shape[:axis], ex.simplify(ex.lift(x.shape[axis]) * times), *x.shape[axis + 1 :])
    result = h.allocate(x.dtype, shape, "result", node)
    h.torch_op("repeat_interleave", "copy", (x,), (result,), node)
    return result


def _shape_only(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    if not isinstance(x, Tensor):
        return Unknown("size")
    dim = _arg(args, kwargs, 1, "dim")
    shape = h.shape(x)
    return shape if dim is None else h.subscript(shape, dim, node)


def _stride(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x, dim = args[0], _arg(args, kwargs, 1, "dim")
    if not isinstance(x, Tensor):
        return Unknown("stride")
    strides = h.strides(x)
    return strides if dim is None else h.subscript(strides, dim, node)


def _numel(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    if not isinstance(x, Tensor):
        return Unknown("numel")
    return product(x.shape) if x.shape is not None else h.symbol_for(x, "numel")


def _dim(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    return len(x.shape) if isinstance(x, Tensor) and x.shape is not None else Unknown("rank")


def _is_contiguous(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x = args[0]
    answer = x.is_contiguous if isinstance(x, Tensor) else None
    if answer is None or "memory_format" in kwargs:
        return h.contiguity_test(x)
    return answer


def _topk(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x, k = args[0], _arg(args, kwargs, 1, "k")
    if not isinstance(x, Tensor):
        return Unknown("topk")
    axis = _axis(_arg(args, kwargs, 2, "dim", default=-1), len(x.shape)) if x.shape else None
    shape = x.shape
    if axis is not None and isinstance(k, (int, Expr)) and x.shape is not None:
        shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    result = h.allocate(x.dtype, shape, "result", node)
    h.torch_op("topk", "scan", (x,), (result,), node, flops=x.numel)
    return (result, replace(result, dtype=dt.INT64))


def _dynamic(name: str) -> Callable[..., Any]:
    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        tensors = _tensors(args)
        result = h.allocate(tensors[0].dtype if tensors else None, None, "result", node)
        h.torch_op(name, "scan", tensors, (result,), node)
        h.sync(f"{name} waits for the size of its result", node, tensors[0] if tensors else None)
        return result

    return handler


def _where(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    if len(args) == 1:
        return _dynamic("where")(h, args, kwargs, node)
    args = [*args, *(kwargs[name] for name in ("input", "other") if name in kwargs)]
    # The condition comes first, or second where this is a method.
    condition = next((a for a in args[:2] if isinstance(a, Tensor) and a.dtype == dt.BOOL), None)
    values = [a for a in args if a is not condition]
    numbers = [dt.FLOAT32 if isinstance(a, float) else dt.BOOL if isinstance(a, bool) else dt.INT64 for a in values]
    dtype = None if condition is None else _common(values) if _tensors(values) else max(numbers, key=_by_kind)
    result = elementwise(h, "where", args, node, dtype)
    return result if dtype is not None or not isinstance(result, Tensor) else replace(result, dtype=None)


def _nothing(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    return None


def _loss(name: str, kind: str = "softmax") -> Callable[..., Any]:
    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        x = _arg(args, kwargs, 0, "input")
        if not isinstance(x, Tensor):
            return Unknown(name)
        shape: Shape | None = () if kwargs.get("reduction", "mean") != "none" else None
        result = h.allocate(x.dtype, shape, "result", node)
        h.torch_op(name, kind, _tensors(args), (result,), node, flops=x.numel)
        return result

    return handler


def _cross_entropy(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    """With classes as targets: the logarithms of all probabilities are written, and one of each row is read again."""
    x, target = _arg(args, kwargs, 0, "input"), _arg(args, kwargs, 1, "target")
    classes = isinstance(target, Tensor) and target.dtype is not None and target.dtype.is_integer
    if not isinstance(x, Tensor) or x.shape is None or not classes:
        return _loss("cross_entropy")(h, args, kwargs, node)
    logs = _rowwise("log_softmax", "softmax")(h, [x, 1 if len(x.shape) > 1 else 0], {}, node)
    shape: Shape | None = target.shape if kwargs.get("reduction", "mean") == "none" else ()
    result = h.allocate(x.dtype, shape, "result", node)
    h.torch_op("nll_loss", "gather", (logs, target), (result,), node, flops=target.numel)
    return result


def _pixel_shuffle(up: bool) -> Callable[..., Any]:
    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        x, factor = args[0], _arg(args, kwargs, 1, "upscale_factor", "downscale_factor")
        if (
            not isinstance(x, Tensor)
            or x.shape is None
            or len(x.shape) < 3
            or not isinstance(factor, int)
            or factor < 1
        ):
            return Unknown("pixel_shuffle")
        *lead, channels, high, wide = x.shape
        sizes: tuple[Size, Size, Size]
        if up:
            sizes = ex.floordiv(channels, factor * factor), ex.lift(high) * factor, ex.lift(wide) * factor
        else:
            sizes = ex.lift(channels) * (factor * factor), ex.floordiv(high, factor), ex.floordiv(wide, factor)
        result = h.allocate(x.dtype, (*lead, *map(ex.simplify, sizes)), "result", node)
        h.torch_op("pixel_shuffle" if up else "pixel_unshuffle", "transpose", (x,), (result,), node)
        return result

    return handler


def _pool(name: str) -> Callable[..., Any]:
    def handler(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        x = args[0]
        if not isinstance(x, Tensor) or x.shape is None:
            return Unknown(name)
        rank = int(name[-2]) if name[-2:-1].isdigit() else 2
        if name.startswith("adaptive"):
            target = _spread(_arg(args, kwargs, 1, "output_size"), rank, 1)
            shape = (*x.shape[:-rank], *(x.shape[i - rank] if t is None else t for i, t in enumerate(target)))
        else:
            window = _spread(_arg(args, kwargs, 1, "kernel_size"), rank, 1)
            stride = _arg(args, kwargs, 2, "stride")
            steps = _spread(stride, rank, 1) if stride is not None else window
            pads = _spread(_arg(args, kwargs, 3, "padding", default=0), rank, 0)
            # An average has no dilation, and what a maximum has in its place says how its sizes are rounded.
            widest = name.startswith("max")
            gaps = _spread(_arg(args, kwargs, 4, "dilation", default=1), rank, 1) if widest else [1] * rank
            up = _arg(args, kwargs, 5 if widest else 4, "ceil_mode", default=False) is True
            sizes = []
            for i in range(rank):
                room = (
                    ex.lift(x.shape[i - rank]) + ex.lift(pads[i]) * 2 - ex.lift(gaps[i]) * (ex.lift(window[i]) - 1) - 1
                )
                sizes.append(ex.simplify(ex.lift((ex.ceildiv if up else ex.floordiv)(room, steps[i])) + 1))
            shape = (*x.shape[:-rank], *sizes)
        result = h.allocate(x.dtype, shape, "result", node)
        h.torch_op(name, "reduce", (x,), (result,), node, flops=x.numel, dims={"inner": 1})
        return result

    return handler


def _unfolded_view(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    """``x.unfold(dimension, size, step)``: a view of overlapping windows, which get an axis of their own at the end."""
    x, dim, size, step = args[0], *(_arg(args, kwargs, i, n) for i, n in ((1, "dimension"), (2, "size"), (3, "step")))
    axis = _axis(dim, len(x.shape)) if isinstance(x, Tensor) and x.shape is not None else None
    if axis is None or not isinstance(size, (int, Expr)) or not isinstance(step, int) or step < 1:
        return Unknown("unfold")
    windows = ex.simplify(ex.lift(ex.floordiv(ex.lift(x.shape[axis]) - size, step)) + 1)
    shape = (*x.shape[:axis], windows, *x.shape[axis + 1 :], size)
    strides = None
    if x.strides is not None:
        walked = ex.simplify(ex.lift(x.strides[axis]) * step)
        strides = (*x.strides[:axis], walked, *x.strides[axis + 1 :], x.strides[axis])
    return replace(x, shape=shape, strides=strides)


def _unfold(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    """``F.unfold``: x [N, C, H, W] to the columns [N, C * KH * KW, windows]; one launch an image."""
    names = ("input", "kernel_size", "dilation", "padding", "stride")
    x, *geometry = (_arg(args, kwargs, i, n, default=int(n != "padding")) for i, n in enumerate(names))
    if not isinstance(x, Tensor) or x.shape is None or len(x.shape) not in (3, 4):
        return Unknown("unfold")
    (kh, kw), dilation, padding, stride = (_spread(value, 2, 1) for value in geometry)
    images: Size = x.shape[0] if len(x.shape) == 4 else 1
    spans = [ex.lift(d) * (ex.lift(k) - 1) + 1 for d, k in zip(dilation, (kh, kw))]
    high, wide = (
        ex.lift(ex.floordiv(ex.lift(size) + ex.lift(p) * 2 - span, s)) + 1
        for size, span, p, s in zip(x.shape[-2:], spans, padding, stride)
    )
    taps = ex.lift(kh) * kw
    shape = (*x.shape[:-3], ex.simplify(ex.lift(x.shape[-3]) * taps), ex.simplify(high * wide))
    result = h.allocate(x.dtype, shape, "result", node)
    sizes = {
        "launches": images, "taps": taps, "kernel_height": kh, "kernel_width": kw, "windows_wide": wide,
        **{f"{word}_{side}": pair[i] for i, side in enumerate(("height", "width"))
           for word, pair in (("stride", stride), ("padding", padding), ("dilation", dilation))},
    }  # fmt: skip
    dims = {name: number for name, size in sizes.items() if (number := ex.concrete(size)) is not None}
    h.torch_op("unfold", "gather", (x,), (result,), node, dims=dims)
    return result


def _pad(h: HostEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    x, widths = args[0], _arg(args, kwargs, 1, "pad")
    if not isinstance(x, Tensor) or x.shape is None or not isinstance(widths, (tuple, list)):
        return Unknown("pad")
    shape = list(x.shape)
    for i in range(len(widths) // 2):
        shape[-1 - i] = ex.simplify(ex.lift(shape[-1 - i]) + widths[2 * i] + widths[2 * i + 1])
    result = h.allocate(x.dtype, tuple(shape), "result", node)
    h.torch_op("pad", "copy", (x,), (result,), node)
    return result


_POINTWISE = (
    "add sub mul div true_divide subtract multiply divide rsub pow exp exp2 log log2 log10 log1p expm1 sqrt rsqrt square abs "
    "neg negative sin cos tan tanh sinh cosh asin acos atan atan2 sigmoid relu gelu silu elu selu celu leaky_relu hardtanh "
    "hardswish hardsigmoid softplus softsign mish relu6 logsigmoid tanhshrink threshold prelu erf erfc reciprocal floor ceil "
    "round trunc frac sign clamp clip clamp_min clamp_max maximum minimum fmax fmin remainder fmod floor_divide bitwise_and "
    "bitwise_or bitwise_xor lerp addcmul addcdiv nan_to_num dropout masked_fill absolute abs_ sgn rot90 logaddexp glu"
).split()

_DIVISIONS = frozenset({"div", "divide", "true_divide"})

#: What gives floats for integers too.
_OF_FLOATS = _DIVISIONS | frozenset(
    "exp exp2 log log2 log10 log1p expm1 sqrt rsqrt sin cos tan tanh sinh cosh asin acos atan atan2 sigmoid erf erfc reciprocal "
    "logaddexp".split()
)

_LOGICAL = "eq ne lt le gt ge equal isnan isinf isfinite logical_and logical_or logical_not isclose isin".split()


def _by_family(name: str) -> Callable[..., Any] | None:
    if name.startswith(("avg_pool", "max_pool", "adaptive_avg_pool", "adaptive_max_pool")):
        return _pool(name)
    return None


_TABLE: dict[str, Callable[..., Any]] = {
    **{name: _elementwise(name) for name in _POINTWISE},
    **{name: _elementwise(name, dt.BOOL) for name in _LOGICAL},
    "where": _where,
    "empty": _create("empty", "empty"),
    "zeros": _create("filled", "zeros"),
    "ones": _create("filled", "ones"),
    "full": _create("filled", "full"),
    "rand": _create("input", "rand", True),
    "randn": _create("input", "randn", True),
    "randint": _create("input", "randint", True),
    "empty_like": _create_like("empty", "empty_like"),
    "zeros_like": _create_like("filled", "zeros_like"),
    "ones_like": _create_like("filled", "ones_like"),
    "full_like": _create_like("filled", "full_like"),
    "rand_like": _create_like("input", "rand_like", True),
    "randn_like": _create_like("input", "randn_like", True),
    "new_empty": _new("empty", "new_empty"),
    "new_zeros": _new("filled", "new_zeros"),
    "new_ones": _new("filled", "new_ones"),
    "new_full": _new("filled", "new_full"),
    "empty_strided": _empty_strided,
    "arange": _arange,
    "linspace": lambda h, a, k, n: _create("filled", "linspace")(h, a[2:3], k, n),
    "tensor": _tensor,
    "as_tensor": _tensor,
    "from_numpy": lambda h, a, k, n: h.host_tensor(h.allocate(None, None, "constant", n)),
    "result_type": lambda h, a, k, n: _common(a) or Unknown("torch.result_type"),
    "randperm": lambda h, a, k, n: _create("input", "randperm", True)(h, a, {"dtype": dt.INT64, **k}, n),
    "eye": lambda h, a, k, n: _create("filled", "eye")(h, [a[0], a[1] if len(a) > 1 else a[0]], k, n),
    "scalar_tensor": _tensor,
    "t": _t,
    "transpose": _transpose_op,
    "swapaxes": _transpose_op,
    "permute": _permute,
    "swapdims": _transpose_op,
    "movedim": _movedim,
    "moveaxis": _movedim,
    "view": _view("view"),
    "reshape": _view("reshape"),
    "view_as": _view("view_as"),
    "flatten": _flatten,
    "ravel": _flatten,
    "unsqueeze": _unsqueeze,
    "squeeze": _squeeze,
    "expand": _expand,
    "expand_as": _expand,
    "broadcast_to": _expand,
    "select": _select,
    "narrow": _narrow,
    "chunk": _chunk,
    "split": _split,
    "unbind": _unbind,
    "unflatten": _unflatten,
    "as_strided": _as_strided,
    "detach": _same,
    "cuda": _cuda,
    "requires_grad_": _same,
    "to_dense": _same,
    "pin_memory": _same,
    "data": _same,
    "as_subclass": _same,
    "contiguous": _contiguous,
    "clone": _clone,
    "to": _to,
    "type": _to,
    "type_as": _to,
    "copy_": _copy_,
    "cpu": _cpu,
    "numpy": _cpu,
    "half": _cast_to(dt.FLOAT16),
    "float": _cast_to(dt.FLOAT32),
    "double": _cast_to(dt.FLOAT64),
    "bfloat16": _cast_to(dt.BFLOAT16),
    "int": _cast_to(dt.INT32),
    "long": _cast_to(dt.INT64),
    "bool": _cast_to(dt.BOOL),
    "char": _cast_to(dt.INT8),
    "item": _item,
    "tolist": _item,
    "__bool__": _item,
    "nonzero": _dynamic("nonzero"),
    "unique": _dynamic("unique"),
    "masked_select": _dynamic("masked_select"),
    "unique_consecutive": _dynamic("unique_consecutive"),
    "argwhere": _dynamic("argwhere"),
    "sum": _reduction("sum"),
    "mean": _reduction("mean"),
    "prod": _reduction("prod"),
    "amax": _reduction("amax"),
    "amin": _reduction("amin"),
    "max": _reduction("max", True),
    "min": _reduction("min", True),
    "argmax": _reduction("argmax", dtype=dt.INT64),
    "argmin": _reduction("argmin", dtype=dt.INT64),
    "any": _reduction("any", dtype=dt.BOOL),
    "all": _reduction("all", dtype=dt.BOOL),
    "var_mean": _pair("var_mean"),
    "std_mean": _pair("std_mean"),
    "aminmax": _pair("aminmax"),
    "std": _reduction("std"),
    "var": _reduction("var"),
    "norm": _reduction("norm"),
    "vector_norm": _reduction("vector_norm"),
    "logsumexp": _reduction("logsumexp"),
    "median": _reduction("median", True),
    "count_nonzero": _reduction("count_nonzero", dtype=dt.INT64),
    "matmul": _matmul("matmul"),
    "mm": _matmul("mm"),
    "bmm": _matmul("bmm"),
    "mv": _matmul("mv"),
    "dot": _matmul("dot"),
    "_int_mm": _matmul("_int_mm"),
    "_scaled_mm": _matmul("_scaled_mm"),
    "addmm": _addmm,
    "baddbmm": _addmm,
    "linear": _linear,
    "einsum": _einsum,
    "outer": _outer,
    "ger": _outer,
    "softmax": _rowwise("softmax", "softmax"),
    "log_softmax": _rowwise("log_softmax", "softmax"),
    "layer_norm": _rowwise("layer_norm", "norm"),
    "rms_norm": _rowwise("rms_norm", "norm"),
    "group_norm": _rowwise("group_norm", "norm"),
    "batch_norm": _rowwise("batch_norm", "norm"),
    "instance_norm": _rowwise("instance_norm", "norm"),
    "normalize": _rowwise("normalize", "norm"),
    "cumsum": _rowwise("cumsum", "scan", 1),
    "cumprod": _rowwise("cumprod", "scan", 1),
    "cummax": _with_places("cummax"),
    "cummin": _with_places("cummin"),
    "sort": _with_places("sort"),
    "argsort": _argsort,
    "flip": _rowwise("flip", "copy", 0),
    "roll": _rowwise("roll", "copy", 0),
    "tril": _rowwise("tril", "elementwise", 1),
    "triu": _rowwise("triu", "elementwise", 1),
    "scaled_dot_product_attention": _attention,
    "conv1d": _conv("conv1d"),
    "conv2d": _conv("conv2d"),
    "conv3d": _conv("conv3d"),
    **{f"conv_transpose{d}d": _conv_transpose(f"conv_transpose{d}d") for d in (1, 2, 3)},
    "cat": _cat,
    "concat": _cat,
    "concatenate": _cat,
    "stack": _stack,
    "embedding": _embedding,
    "gather": _gather("gather"),
    "index_select": _gather("index_select"),
    "take": _gather("take"),
    "scatter": _gather("scatter"),
    "scatter_add": _gather("scatter_add"),
    "take_along_dim": _gather("take_along_dim"),
    **{name: _gather(name) for name in ("index_add", "index_copy", "index_fill", "index_put", "scatter_reduce")},
    "one_hot": _one_hot,
    "repeat": _repeat,
    "tile": partial(_repeat, tiles=True),
    "repeat_interleave": _repeat_interleave,
    "size": _shape_only,
    "stride": _stride,
    "numel": _numel,
    "nelement": _numel,
    "dim": _dim,
    "ndimension": _dim,
    "is_contiguous": _is_contiguous,
    "topk": _topk,
    "pad": _pad,
    "unfold": _unfold,
    "unfolded_view": _unfolded_view,
    "element_size": lambda h, a, k, n: a[0].dtype.bytes if a[0].dtype else Unknown("dtype"),
    "is_floating_point": lambda h, a, k, n: (
        a[0].dtype.is_float if isinstance(a[0], Tensor) and a[0].dtype else Unknown("dtype")
    ),
    "data_ptr": lambda h, a, k, n: Unknown("address"),
    "get_device": lambda h, a, k, n: 0,
    "storage_offset": lambda h, a, k, n: a[0].offset,
    "cross_entropy": _cross_entropy,
    "pixel_shuffle": _pixel_shuffle(True),
    "pixel_unshuffle": _pixel_shuffle(False),
    "cross": _elementwise("cross"),
    "nll_loss": _loss("nll_loss"),
    "mse_loss": _loss("mse_loss", "reduce"),
    "l1_loss": _loss("l1_loss", "reduce"),
    "smooth_l1_loss": _loss("smooth_l1_loss", "reduce"),
    "kl_div": _loss("kl_div", "reduce"),
    "huber_loss": _loss("huber_loss", "reduce"),
    "triplet_margin_loss": _loss("triplet_margin_loss", "reduce"),
    "binary_cross_entropy": _loss("binary_cross_entropy", "reduce"),
    "manual_seed": _nothing,
    "synchronize": lambda h, a, k, n: h.sync("torch.cuda.synchronize", n),
    "device": lambda h, a, k, n: device_of(a[0]) if a and isinstance(a[0], str) else Unknown("device"),
    "record_stream": _nothing,
    "retain_grad": _nothing,
    "backward": _nothing,
    "set_default_dtype": _nothing,
    "no_grad": lambda h, a, k, n: Unknown("context"),
    "is_tensor": lambda h, a, k, n: isinstance(a[0], Tensor),
    "is_available": lambda h, a, k, n: True,
    "is_grad_enabled": lambda h, a, k, n: False,
    "__len__": lambda h, a, k, n: a[0].shape[0] if a[0].shape else Unknown("length"),
}
