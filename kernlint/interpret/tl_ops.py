"""What each function of ``triton.language`` does to abstract tiles.

One table, by the function's last name: ``tl.exp``, ``tl.math.exp``, ``libdevice.exp`` and ``x.exp()`` are the same
operation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret import masked_lanes, numerics, widths
from kernlint.interpret.api import keywords
from kernlint.interpret.tiles import align, broadcast, expand, permute, rename_lanes
from kernlint.interpret.values import Block, Descriptor, Function, Jit, Unknown
from kernlint.records import replace
from kernlint.workload import Atomic, Cast, Dot, Dtype, Expr, Load, Operand, ProgramId, Reduce, Scan, Store
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import Lane
from kernlint.workload.histogram import histogram_steps
from kernlint.workload.kernel import Bounds, Pad

if TYPE_CHECKING:
    from kernlint.interpret.kernel import KernelEvaluator

Args = list[Any]
Kwargs = dict[str, Any]


def constant(path: str) -> Any:
    """The value of a ``triton.language`` name that is not a function (an element type), or None."""
    head, _, name = path.rpartition(".")
    if head.endswith(("language", "language.core")):
        return dt.find(name) if name not in ("float", "int", "long", "short", "double", "half") else None
    return None


def call(k: KernelEvaluator, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode, method: bool = False) -> Any:
    """The result of ``tl.name(*args, **kwargs)``; noted as not followed when the arguments do not fit."""
    recorder = k.recorder
    if recorder is None:
        return _answer(k, name, args, kwargs, node, method)
    mark, before = recorder.mark, k.next_id
    result = _answer(k, name, args, kwargs, node, method)
    made = k.next_id if k.next_id != before else 0
    return recorder.note(name, args, result, node, k.modules[-1], kwargs, mark, made)


def _answer(k: KernelEvaluator, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode, method: bool) -> Any:
    try:
        return _call(k, name, args, kwargs, node, method)
    except (LookupError, AttributeError, TypeError, ValueError, AssertionError):
        k.give_up(f"arguments of {name}")
        return Unknown(name)


def _call(k: KernelEvaluator, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode, method: bool) -> Any:
    args, kwargs = _by_position(name, args, kwargs)
    handler = _TABLE.get(name)
    if handler is not None:
        return handler(k, args, kwargs, node)
    if name in _UNARY:
        return _unary(k, _UNARY[name], args, node, name)
    if name in _REDUCTIONS:
        return _reduce(k, name, args, kwargs, node)
    if name.startswith("atomic_"):
        return _atomic(k, name[7:], args, kwargs, node)
    if method and name in _BINARY_METHODS:
        return k.elementwise(_BINARY_METHODS[name], args[0], k.lift(args[1]) or args[0], node)
    k.give_up(f"{name} is not known")
    blocks = [a for a in args if isinstance(a, Block)]
    if not blocks:
        return Unknown(name)
    return blocks[0].computed(loads=frozenset().union(*(b.loads for b in blocks)))


# -- helpers ----------------------------------------------------------------------------------------------------------


def _by_position(name: str, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    """The arguments with those first ones by position that the call gives by keyword: ``maximum(x=a, y=b)``."""
    if not kwargs:
        return args, kwargs
    for parameter in _LEADING.get(name, ("x", "y") if name in _UNARY else ())[len(args) :]:
        if parameter not in kwargs:
            break
        args = [*args, kwargs[parameter]]
        kwargs = {one: value for one, value in kwargs.items() if one != parameter}
    return args, kwargs


def _get(args: Args, kwargs: Kwargs, position: int, name: str, default: Any = None) -> Any:
    if len(args) > position:
        return args[position]
    return kwargs.get(name, default)


def _int(value: Any) -> int | None:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value
    if isinstance(value, Block) and value.expr is not None:
        return value.expr.value
    return None


def _shape(k: KernelEvaluator, value: Any) -> tuple[int, ...] | None:
    if not isinstance(value, (tuple, list)):
        value = (value,)
    extents = [_int(v) for v in value]
    if any(e is None or e < 0 for e in extents):
        k.give_up("tile shape is not a constant")
        return None
    return tuple(e for e in extents if e is not None)


def _size(value: Any) -> ex.Size | None:
    if isinstance(value, Block):
        return ex.simplify(value.expr) if value.expr is not None else None
    if isinstance(value, (int, Expr)) and not isinstance(value, bool):
        return value
    return None


def _dtype(value: Any, default: Dtype | None) -> Dtype | None:
    return value if isinstance(value, Dtype) else default


# -- programs and tiles -----------------------------------------------------------------------------------------------


def _program_id(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    axis = _int(_get(args, kwargs, 0, "axis", 0)) or 0
    k.dims = max(k.dims, axis + 1)
    if axis < len(k.grid) and k.grid[axis] == 1:
        return Block(dt.INT32, expr=Expr.constant(0))
    return Block(dt.INT32, expr=Expr.atom(ProgramId(axis)))


def _num_programs(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    axis = _int(_get(args, kwargs, 0, "axis", 0)) or 0
    k.counts_programs = True
    extent = k.grid[axis] if axis < len(k.grid) else 1
    return Block(dt.INT32, expr=ex.lift(extent))


def _arange(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    start, end = _int(_get(args, kwargs, 0, "start")), _int(_get(args, kwargs, 1, "end"))
    if start is None or end is None:
        k.give_up("tl.arange bounds are not constants")
        return Unknown("arange")
    if end < start:
        k.give_up("tl.arange ends before it starts")
        return Unknown("arange")
    return Block(dt.INT32, (end - start,), Expr.atom(Lane(0)) + start)


def _zeros(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    shape = _shape(k, _get(args, kwargs, 0, "shape"))
    dtype = _dtype(_get(args, kwargs, 1, "dtype"), dt.FLOAT32)
    return Block(dtype, shape, _zero(dtype), constant=0.0) if shape is not None else Unknown("shape")


def _full(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    shape = _shape(k, _get(args, kwargs, 0, "shape"))
    value = k.lift(_get(args, kwargs, 1, "value"))
    dtype = _dtype(_get(args, kwargs, 2, "dtype"), value.dtype if value else None)
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
    shape = _shape(k, kwargs.get("shape", target))
    if value is None or shape is None:
        return Unknown("broadcast_to")
    return align(value, shape)


def _expand_dims(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value, axis = args[0], _get(args, kwargs, 1, "axis")
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
    order = tuple(_int(d) or 0 for d in dims) if dims else (*range(rank - 2), rank - 1, rank - 2) if rank >= 2 else (0,)
    return permute(value, order)


def _reshape(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = k.lift(args[0])
    target = kwargs.get("shape", args[1] if len(args) == 2 else tuple(args[1:]))
    shape = _shape(k, target)
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


def _hint(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    return args[0] if args else kwargs.get("input")


def _max_contiguous(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    """``tl.max_contiguous(x, n)``: a clamped index, of which the compiler would not see it, goes in steps of one for ``n`` elements."""
    value, claimed = _hint(k, args, kwargs, node), _get(args, kwargs, 1, "values")
    run = _int(claimed[0] if isinstance(claimed, (tuple, list)) and claimed else claimed)
    if not isinstance(value, Block) or value.expr is None or run is None:
        return value

    def told(atom: ex.Atom) -> Expr | None:
        clamped = isinstance(atom, ex.Opaque) and atom.op == "unknown" and len(atom.args) == 1
        return ex.opaque("unknown", atom.args[0], run, key=atom.key) if clamped else None  # type: ignore[union-attr]

    return replace(value, expr=value.expr.rewrite(told))


def _assume(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    """``tl.assume(condition)``: a fault where the first program of the grid breaks it."""
    value = args[0] if args else kwargs.get("cond")
    for left, right in (isinstance(value, Block) and value.bounds) or ():
        slack = ex.concrete(ex.simplify(_at_programs(left, 0) - _at_programs(right, 0)))
        if slack is not None and slack >= 0:
            k.fault("false-assumption", node, "the condition does not hold for the program with index 0")
    return None


def _multiple_of(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    """``tl.multiple_of(x, n)``: a fault where the second program of the grid breaks it, an uncertain one where a size that
    is open decides."""
    value, claimed = args[0] if args else kwargs.get("input"), _get(args, kwargs, 1, "values")
    factor = _int(claimed[0] if isinstance(claimed, (tuple, list)) and claimed else claimed)
    if isinstance(value, Block) and value.expr is not None and not value.base and factor is not None and factor > 1:
        first = value.expr.rewrite(lambda atom: 0 if isinstance(atom, (Lane, ex.LoopIndex)) else None)
        here = ex.concrete(ex.simplify(_at_programs(first, 1)))
        if here is not None and here % factor and all((ex.concrete(extent) or 0) > 1 for extent in k.grid):
            k.fault(
                "false-multiple", node, f"the value is {here} for the program with index 1, no multiple of {factor}"
            )
        elif any(coefficient % factor for coefficient in _open_terms(first)):
            k.fault("false-multiple", node, f"nothing here makes the value a multiple of {factor}", certain=False)
    return value


def _at_programs(value: Expr, index: int) -> Expr:
    """``value`` for the program whose index is ``index`` along every axis."""
    return value.rewrite(lambda atom: index if isinstance(atom, ProgramId) else None)


def _open_terms(value: Expr) -> list[int]:
    """The coefficients of the terms of ``value`` that hold a size which the source does not fix."""
    return [
        coefficient
        for term, coefficient in value.terms.items()
        if any(isinstance(atom, ex.Symbol) for atom in term) and not any(isinstance(a, ex.Opaque) for a in term)
    ]


def _nothing(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    return None


def _barrier(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    k.barriers += 1
    return None


# -- memory -----------------------------------------------------------------------------------------------------------


def _pointer(k: KernelEvaluator, value: Any) -> Block | None:
    """``value`` as a pointer tile; a parameter that was not bound to a tensor becomes its own base."""
    if not isinstance(value, Block):
        return None
    index = widths.index_of(value)
    if value.base or index is None:
        return value
    for name in k.maybe_pointers:
        atom = ex.Symbol(name)
        if index.coefficient(atom) == 1:
            return replace(value, base=name, expr=index - Expr.atom(atom), dtype=None)
    return value


def _address(k: KernelEvaluator, pointer: Block, mask: Any, stretched: bool) -> dict[str, Any]:
    """What an access keeps of its address beside base and offset, and of its mask beside bounds."""
    return {
        "narrow": widths.widened(pointer) if not pointer.base else pointer.narrow,
        "through": pointer.loads,
        "tested": mask.loads if isinstance(mask, Block) else frozenset(),
        "classes": mask.classes if isinstance(mask, Block) else (),
        "stretched": stretched,
        "barriers": k.barriers,
    }


def _is_stretched(pointer: Block, mask: Any) -> bool:
    return isinstance(mask, Block) and 0 < len(mask.shape) < len(pointer.shape)


def _mask_known(value: Any) -> bool:
    """Whether a mask argument says nothing beyond the bounds kept of it."""
    if value is None or value is True:
        return True
    return isinstance(value, Block) and bool(value.bounds) and not value.partly


def _mask(value: Any, k: KernelEvaluator) -> Bounds | None:
    if value is None or value is True:
        return None
    if isinstance(value, Block):
        return value.bounds if value.bounds is not None else ()
    return ()


def _aligned(pointer: Block, mask: Any, value: Block | None = None) -> tuple[Block, Any]:
    """``pointer`` and ``mask`` as tiles of the shape that they and ``value`` have together."""
    shape = pointer.shape
    for other in (value, mask):
        if isinstance(other, Block):
            shape = broadcast(shape, other.shape) or shape
    return align(pointer, shape), align(mask, shape) if isinstance(mask, Block) else mask


def _load(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    pointer = _pointer(k, args[0] if args else kwargs.get("pointer"))
    if pointer is None:
        k.give_up("load through an unknown pointer")
        return Unknown("load")
    mask, other = _get(args, kwargs, 1, "mask"), _get(args, kwargs, 2, "other")
    stretched = _is_stretched(pointer, mask)
    pointer, mask = _aligned(pointer, mask)
    dtype = pointer.dtype
    filled = k.lift(other)
    eviction = kwargs.get("eviction_policy", "")
    load = Load(
        k.new_id(),
        pointer.base,
        dtype or dt.FLOAT32,
        pointer.shape,
        pointer.expr,
        _mask(mask, k),
        k.span(node),
        filled.constant if filled is not None else None,
        eviction if isinstance(eviction, str) else "",
        _mask_known(mask),
        len(args) > 2 or "other" in kwargs,
        checked=bool(_get(args, kwargs, 3, "boundary_check")),
        **_address(k, pointer, mask, stretched),
    )
    if not pointer.base:
        k.give_up("load through an unknown pointer")
    k.emit(load)
    loads = pointer.loads | {load.id} | (mask.loads if isinstance(mask, Block) else frozenset())
    expr = ex.opaque("load", key=load.id) if dtype is not None and dtype.is_integer else None
    return Block(
        dtype,
        pointer.shape,
        expr,
        loads=loads,
        source=load.id,
        order=tuple(range(len(pointer.shape))),
        bounds=() if dtype == dt.BOOL else None,
        form=numerics.of_load(load.other, k.perhaps_empty(mask)),
        shadow=ex.opaque("load", key=load.id) if dtype is None else None,
        pads=_left_out(load, mask, dtype is None and isinstance(other, int)),
        nonnegative=dtype is not None and dtype.kind in ("uint", "bool"),
        growth="data" if dtype is None or dtype.is_float else "",
    )


def _left_out(load: Load, mask: Any, integer: bool) -> tuple[Pad, ...]:
    """What the lanes hold that the mask of a load leaves out. With an integer literal as ``other`` (``integer``), what is
    loaded may well be integers, of which little can be said."""
    if not isinstance(mask, Block) or not mask.bounds:
        return ()
    value: float | str = "undefined"
    if integer:
        value = "unknown"
    elif load.other is not None:
        value = float(load.other)
    elif load.filled:
        value = "unknown"
    return (Pad(mask.bounds, value, load.id),)


def _store(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    pointer = _pointer(k, args[0] if args else kwargs.get("pointer"))
    value, mask = k.lift(_get(args, kwargs, 1, "value")), _get(args, kwargs, 2, "mask")
    if pointer is None:
        k.give_up("store through an unknown pointer")
        return None
    stretched = _is_stretched(pointer, mask)
    pointer, mask = _aligned(pointer, mask, value)
    if not pointer.base:
        k.give_up("store through an unknown pointer")
    dtype = pointer.dtype or (value.dtype if value is not None else None) or dt.FLOAT32
    # An integer takes no NaN; but what goes into integers is rounded first, which ends the chain.
    spoilt_by = numerics.spoilt_by(value) if value is not None and dtype.is_float else None
    if spoilt_by is not None:
        k.confirm(spoilt_by)
    k.emit(
        Store(
            k.new_id(),
            pointer.base,
            dtype,
            pointer.shape,
            pointer.expr,
            _mask(mask, k),
            k.span(node),
            depends=value.loads if value is not None else frozenset(),
            kept=numerics.kept_loads(value) if value is not None else frozenset(),
            casts=value.casts if value is not None else (),
            mask_known=_mask_known(mask),
            checked=bool(_get(args, kwargs, 3, "boundary_check")),
            **_address(k, pointer, mask, stretched),
        )
    )
    return None


def _is_number(value: Block) -> bool:
    """Whether a value is one number in all lanes, which the source tells."""
    return value.constant is not None or (value.expr is not None and ex.concrete(ex.simplify(value.expr)) is not None)


def _atomic(k: KernelEvaluator, op: str, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    pointer = _pointer(k, args[0] if args else kwargs.get("pointer"))
    value = k.lift(_get(args, kwargs, 2 if op == "cas" else 1, "val"))
    mask = _get(args, kwargs, 2, "mask") if op != "cas" else None
    if pointer is None:
        k.give_up("atomic through an unknown pointer")
        return Unknown("atomic")
    stretched = _is_stretched(pointer, mask)
    pointer, mask = _aligned(pointer, mask, value)
    atomic = Atomic(
        k.new_id(),
        pointer.base,
        pointer.dtype or dt.FLOAT32,
        pointer.shape,
        pointer.expr,
        _mask(mask, k),
        k.span(node),
        op,
        value.loads if value is not None else frozenset(),
        _mask_known(mask),
        alike=value is not None and _is_number(value),
        relaxed=_get(args, kwargs, 3, "sem") == "relaxed",
        **_address(k, pointer, mask, stretched),
    )
    k.emit(atomic)
    return Block(atomic.dtype, pointer.shape, loads=frozenset({atomic.id}))


def _make_block_ptr(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    base = _pointer(k, _get(args, kwargs, 0, "base"))
    shape = _get(args, kwargs, 1, "shape")
    strides = _get(args, kwargs, 2, "strides")
    offsets = _get(args, kwargs, 3, "offsets")
    block = _shape(k, _get(args, kwargs, 4, "block_shape"))
    if (
        base is None
        or block is None
        or not isinstance(strides, (tuple, list))
        or not isinstance(offsets, (tuple, list))
    ):
        k.give_up("block pointer")
        return Unknown("block pointer")
    return _tile_pointer(base, strides, offsets, block, shape)


def _tile_pointer(base: Block, strides: Any, offsets: Any, block: tuple[int, ...], shape: Any) -> Any:
    expr = base.expr
    steps = tuple(_size(s) for s in strides)
    for dim, (offset, stride) in enumerate(zip(offsets, steps)):
        place = _size(offset)
        if expr is None or stride is None or place is None:
            expr = None
            break
        expr = expr + (ex.lift(place) + (Expr.atom(Lane(dim)) if block[dim] > 1 else 0)) * stride
    return replace(base, shape=block, expr=expr, strides=steps)


def _advance(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    pointer, offsets = _get(args, kwargs, 0, "base"), _get(args, kwargs, 1, "offsets")
    if not isinstance(pointer, Block) or not isinstance(offsets, (tuple, list)) or not pointer.strides:
        return Unknown("advance")
    expr = pointer.expr
    for offset, stride in zip(offsets, pointer.strides):
        place = _size(offset)
        expr = expr + ex.lift(place) * stride if expr is not None and place is not None and stride is not None else None
    return replace(pointer, expr=expr)


def _make_descriptor(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    base = _pointer(k, _get(args, kwargs, 0, "base"))
    shape = _get(args, kwargs, 1, "shape")
    strides = _get(args, kwargs, 2, "strides")
    block = _shape(k, _get(args, kwargs, 3, "block_shape"))
    if base is None or block is None or not isinstance(strides, (tuple, list)):
        k.give_up("tensor descriptor")
        return Unknown("descriptor")
    return Descriptor(base, tuple(shape or ()), tuple(strides), block)


def descriptor_load(k: KernelEvaluator, desc: Descriptor, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    """``desc.load([i, j])``."""
    offsets = _get(args, kwargs, 0, "offsets")
    pointer = _tile_pointer(
        desc.base, desc.strides, offsets if isinstance(offsets, (tuple, list)) else [], desc.block, ()
    )
    return _load(k, [pointer], {"boundary_check": True}, node)


def descriptor_store(
    k: KernelEvaluator, desc: Descriptor, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode
) -> Any:
    """``desc.store([i, j], value)`` and its atomic forms."""
    offsets, value = _get(args, kwargs, 0, "offsets"), _get(args, kwargs, 1, "value")
    pointer = _tile_pointer(
        desc.base, desc.strides, offsets if isinstance(offsets, (tuple, list)) else [], desc.block, ()
    )
    if name == "store":
        return _store(k, [pointer, value], {"boundary_check": True}, node)
    return _atomic(k, name[7:], [pointer, value], {}, node)


def _descriptor_store(name: str) -> Callable[..., Any]:
    return lambda k, a, kw, n: descriptor_store(k, a[0], name, a[1:], kw, n)


# -- arithmetic -------------------------------------------------------------------------------------------------------


def cast(k: KernelEvaluator, value: Block | None, target: Any, node: cst.CSTNode, bitcast: bool = False) -> Any:
    """``value.to(target)``; keeps the memory layout and records the change of type."""
    if value is None:
        return Unknown("cast")
    if value.base and not isinstance(target, Dtype):
        return replace(value, dtype=getattr(target, "element", value.dtype))
    if not isinstance(target, Dtype):
        return replace(value, dtype=None)
    if value.base:
        return value
    value = replace(value, form=numerics.of_cast(value, target))
    if value.dtype == target:
        return value
    expr = value.expr if target.is_integer and not bitcast else None
    if expr is None and target.is_integer and not bitcast and value.product is None:
        # A loaded value of unknown type: cast to an index, it is one, and it is itself where it was one before.
        expr = value.shadow
    casts = value.casts
    if value.dtype is not None and value.constant is None:
        casts = (*value.casts, Cast(value.dtype, target, k.span(node), k.symbol))
    result = replace(value, dtype=target, expr=expr, casts=casts, bounds=value.bounds if target == dt.BOOL else None)
    if not target.is_float and numerics.spoilt_by(value) is not None:
        result = replace(result, form=None)  # an integer is no NaN
    if widths.is_wide(result):
        result = replace(result, narrow=widths.widened(value), product=None, shadow=None)
    elif target.is_float:
        result = replace(result, product=None, shadow=None)
    k.compute("cast", "bitcast" if bitcast else str(value.dtype or ""), result, node)
    return result


def _cast(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = k.lift(args[0] if args else kwargs.get("input"))
    return cast(k, value, _get(args, kwargs, 1, "dtype"), node, bool(keywords("cast", args, kwargs, 2).get("bitcast")))


def _dot(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    a, b = k.lift(_get(args, kwargs, 0, "input")), k.lift(_get(args, kwargs, 1, "other"))
    acc = k.lift(_get(args, kwargs, 2, "acc"))
    if a is None or b is None or len(a.shape) < 2 or len(b.shape) < 2:
        k.give_up("dot of unknown operands")
        return Unknown("dot")
    out = _dtype(_get(args, kwargs, 6, "out_dtype"), None)
    if out is None:
        out = acc.dtype if acc is not None and acc.dtype is not None else None
    span = k.span(node)
    if span in k.edits.native_dots:
        a, b, out = _native(k, a), _native(k, b), None
    integer = a.dtype is not None and a.dtype.is_integer
    out = out or (dt.INT32 if integer else dt.FLOAT32)
    precision, allow_tf32 = _get(args, kwargs, 3, "input_precision"), _get(args, kwargs, 4, "allow_tf32")
    if not isinstance(precision, str):
        precision = "ieee" if allow_tf32 is False else "tf32"
    precision = k.new_precisions.get(span, precision)
    batch = 1
    for extent in a.shape[:-2]:
        batch *= extent
    m, kk, n = a.shape[-2], a.shape[-1], b.shape[-1]
    accumulates = acc is not None
    dot = Dot(
        k.new_id(),
        m,
        n,
        kk,
        _operand(k, a, -1, _argument(node, 0)),
        _operand(k, b, -2, _argument(node, 1)),
        out,
        precision,
        accumulates,
        span,
        batch,
    )
    k.emit(dot)
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


def _dot_scaled(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    lhs, rhs = _get(args, kwargs, 0, "lhs"), _get(args, kwargs, 3, "rhs")
    acc = _get(args, kwargs, 6, "acc")
    operands = [lhs, rhs]
    return _dot(k, operands, {"acc": acc, "out_dtype": dt.FLOAT32}, node)


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
    return replace(plain, unscaled=replace(operand, factors=scaled.spans))


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


def _unary(k: KernelEvaluator, kind: str, args: Args, node: cst.CSTNode, name: str = "") -> Any:
    value = k.lift(args[0]) if args else None
    if value is None:
        return Unknown("operand")
    dtype = value.dtype
    if kind == "special" and dtype is not None and not dtype.is_float:
        dtype = dt.FLOAT32
    blocks = [b for b in (k.lift(a) for a in args) if b is not None]
    result = value.computed(
        dtype=dtype,
        loads=frozenset().union(*(b.loads for b in blocks)),
        carried=frozenset().union(*(b.carried for b in blocks)),
    )
    for other in blocks[1:]:
        result = replace(result, shape=broadcast(result.shape, other.shape) or result.shape)
    result = k.judged(numerics.of_unary(name, value), result, node)
    if len(blocks) == 1:
        growth = numerics.growth_of_unary(name, value)
        result = replace(
            result,
            pads=masked_lanes.mapped(name, value.pads),
            nonnegative=name in masked_lanes.NONNEGATIVE,
            growth=growth,
        )
    if name in _POWERS and len(args) == 2 and _is_small_power(args[1]):
        # The compiler knows the exponent, and multiplies.
        k.compute("arith", "*", result, node)
    else:
        k.compute(kind, name, result, node)
    return result


#: Powers, and the largest exponent that is made of a multiplication or two.
_POWERS = frozenset({"pow", "fast_powf"})
_SMALL_POWER = 4


def _is_small_power(exponent: Any) -> bool:
    return isinstance(exponent, (int, float)) and exponent == int(exponent) and 1 <= exponent <= _SMALL_POWER


def _extreme(op: str) -> Callable[..., Any]:
    def handler(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        lifted = [k.lift(a) for a in args]
        blocks = [b for b in lifted if b is not None]
        if len(blocks) < len(lifted) or not blocks:
            return Unknown(op)
        shape: tuple[int, ...] = ()
        for b in blocks:
            shape = broadcast(shape, b.shape) or shape
        exprs = [e for b in blocks if (e := align(b, shape).expr) is not None]
        loads = frozenset().union(*(b.loads for b in blocks))
        if len(exprs) == len(blocks):
            pick = ex.minimum if op == "min" else ex.maximum
            return Block(blocks[0].dtype, shape, ex.lift(pick(*exprs)), loads=loads)
        result: Any = blocks[0]
        nonnegative = [b.nonnegative or (b.constant is not None and b.constant >= 0) for b in blocks]
        weak = [not isinstance(a, Block) for a in args]
        for i, b in enumerate(blocks[1:], 1):
            result = k.elementwise(op, result, b, node, (all(weak[:i]), weak[i]))
            if not isinstance(result, Block):
                return result
        form = numerics.of_maximum(blocks) if op == "max" else None
        least = any(nonnegative) if op == "max" else all(nonnegative)
        return result.computed(pads=result.pads, nonnegative=least, form=form)

    return handler


def _where(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    condition, x, y = (k.lift(_get(args, kwargs, i, n)) for i, n in enumerate(("condition", "x", "y")))
    if x is None or y is None:
        return Unknown("where")
    weak = (not isinstance(_get(args, kwargs, 1, "x"), Block), not isinstance(_get(args, kwargs, 2, "y"), Block))
    result = k.elementwise("where", x, y, node, weak)
    if not isinstance(result, Block):
        return result
    if condition is not None:
        k.masks(node, condition, x, y)
        shape = broadcast(condition.shape, result.shape) or result.shape
        result = replace(
            result, shape=shape, loads=result.loads | condition.loads, carried=result.carried | condition.carried
        )
    is_index = x.expr is not None and y.expr is not None and not x.base
    expr = k.chosen_index(x.expr, y.expr) if is_index else None
    if x.base:
        return replace(result, base=x.base, expr=k.unknown_index(), dtype=x.dtype)
    for arm in (x, y):
        if arm.form is not None and arm.form.fault is not None:
            k.faults.pop(arm.form.fault, None)  # it does not get through
    both = all(b.nonnegative or (b.constant is not None and b.constant >= 0) for b in (x, y))
    masked = y.constant is not None and y.constant <= numerics.MASKED_OUT
    return result.computed(
        growth=x.growth if masked and x.growth == "data" else "",
        expr=expr,
        pads=_chosen(condition, x, y, result.shape),
        nonnegative=both,
        form=numerics.of_where(k.perhaps_empty(condition), x, y),
    )


def _chosen(condition: Block | None, x: Block, y: Block, shape: tuple[int, ...]) -> tuple[Pad, ...]:
    if condition is not None:
        condition = align(condition, shape)
    return masked_lanes.chosen(condition, align(x, shape), align(y, shape))


def _cdiv(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    a, b = _size(args[0]), _size(args[1]) if len(args) > 1 else None
    if a is None or b is None:
        return Block(dt.INT32, expr=k.unknown_index())
    value = ex.ceildiv(a, b)
    return value if not any(isinstance(x, Block) for x in args) else Block(dt.INT32, expr=ex.lift(value))


def _next_power_of_2(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    n = _int(args[0])
    return 1 << max(0, n - 1).bit_length() if n is not None else Unknown("next_power_of_2")


def _fma(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    a, b, c = (k.lift(x) for x in args[:3])
    if a is None or b is None or c is None:
        return Unknown("fma")
    product = k.elementwise("*", a, b, node)
    return k.elementwise("+", product, c, node, op="fma") if isinstance(product, Block) else product


def _clamp(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    return _unary(k, "arith", args[:1], node, "clamp")


def _random(name: str) -> Callable[..., Any]:
    def handler(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        seed, offset = k.lift(_get(args, kwargs, 0, "seed")), k.lift(_get(args, kwargs, 1, "offset"))
        if seed is not None and seed.base:
            text = f"the seed is the address of `{seed.base}`, not what is stored there"
            k.fault("seed-address", node, text, name=seed.base)
        elif (
            seed is not None and offset is not None and offset.expr is not None and not offset.loads and not seed.loads
        ):
            several = [axis for axis, extent in enumerate(k.grid) if (ex.concrete(extent) or 0) > 1]
            if several and not any(isinstance(a, (ProgramId, ex.Opaque)) for a in _atoms(seed) | _atoms(offset)):
                k.fault(
                    "shared-random-numbers",
                    node,
                    "neither seed nor offset depends on the program, so all of them draw alike",
                )
        shape = offset.shape if offset is not None else ()
        if offset is not None:
            k.random += widths.widened(offset)
        result = Block(dt.FLOAT32, shape, loads=offset.loads if offset is not None else frozenset())
        k.compute("special", name, result, node)
        if name.startswith("randint"):
            result = replace(result, dtype=dt.INT32)
        return (result,) * 4 if name.endswith("4x") else result

    return handler


def _atoms(value: Block) -> set[ex.Atom]:
    return set(value.expr.atoms()) if value.expr is not None else set()


def _reduce(k: KernelEvaluator, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    value = args[0] if args else kwargs.get("input")
    if isinstance(value, tuple):
        return tuple(_reduce(k, name, [v, *args[1:]], kwargs, node) for v in value)
    kwargs = keywords(name, args, kwargs, 2)
    value = k.lift(value)
    if value is None:
        return Unknown(name)
    axis = _int(_get(args, kwargs, 1, "axis"))
    if axis is not None and value.shape and axis < 0:
        axis += len(value.shape)
    keep = bool(kwargs.get("keep_dims", False))
    if axis is None:
        shape: tuple[int, ...] = (1,) * len(value.shape) if keep else ()
    elif axis >= len(value.shape):
        return Unknown(name)
    else:
        middle = (1,) if keep else ()
        shape = value.shape[:axis] + middle + value.shape[axis + 1 :]
    dtype = value.dtype
    if name.startswith("arg") or (
        name == "sum" and dtype is not None and (dtype == dt.BOOL or (dtype.is_integer and dtype.bits < 32))
    ):
        dtype = dt.INT32
    scalar = not shape or all(e == 1 for e in shape)
    indexed = kwargs.get("return_indices") is True
    k.emit(
        Reduce(
            name,
            value.shape,
            axis,
            scalar,
            value.loads,
            k.span(node),
            value.dtype,
            value.pads,
            value.nonnegative,
            name.startswith("arg") or indexed,
        )
    )
    if "dtype" not in kwargs:
        _check_precision(k, name, value, axis, node)
    left = masked_lanes.reduced(name, value.pads, lambda pad: _runs_along(pad, axis))
    if axis is not None and not keep:
        left = masked_lanes.renamed(left, lambda e: rename_lanes(e, {d: d - 1 for d in range(axis + 1, 8)}))
    result = Block(
        dtype,
        shape,
        loads=value.loads,
        carried=value.carried,
        pads=left,
        form=numerics.of_reduction(name, value),
        nonnegative=value.nonnegative and name in ("sum", "max", "min"),
        growth=value.growth if name == "sum" and value.growth == "grown" else "",
    )
    if indexed:
        return (result, replace(result, dtype=dt.INT32))
    return result


def _check_precision(k: KernelEvaluator, name: str, value: Block, axis: int | None, node: cst.CSTNode) -> None:
    verdict = numerics.of_sum(name, value, axis)
    if verdict.fault:
        k.fault(verdict.fault, node, verdict.text, verdict.certain)


def _runs_along(pad: Pad, axis: int | None) -> bool:
    """Whether the mask of ``pad`` depends on the lane along ``axis`` (any lane: None)."""
    atoms = {atom for pair in pad.bounds for side in pair for atom in side.atoms()}
    return any(isinstance(atom, Lane) and axis in (None, atom.dim) for atom in atoms)


def _histogram(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    block, bins = k.lift(_get(args, kwargs, 0, "input")), _int(_get(args, kwargs, 1, "num_bins")) or 1
    if block is None:
        return Unknown("histogram")
    for step in histogram_steps(block.shape, bins, k.span(node)):
        k.emit(step)
    return block.computed(shape=(bins,), dtype=dt.INT32)


def _custom_reduce(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    given = keywords("reduce", args, kwargs, 0)
    flags = {name: value for name, value in given.items() if name == "keep_dims"}
    return _reduce(k, "reduce", [given["input"], given.get("axis")], flags, node)


def _scan(op: str) -> Callable[..., Any]:
    def handler(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
        value = args[0] if args else kwargs.get("input")
        first = value[0] if isinstance(value, tuple) and value else value
        block = k.lift(first)
        if block is None:
            return Unknown(op)
        axis = _int(_get(args, kwargs, 1, "axis", 0)) or 0
        axis %= max(1, len(block.shape))
        k.emit(Scan(op, block.shape, axis, k.span(node)))
        if "dtype" not in keywords(op, args, kwargs, 2):
            _check_precision(k, op, block, axis, node)
        if isinstance(value, tuple):
            return tuple((k.lift(v) or block).computed() for v in value)
        return block.computed(growth=block.growth if op == "cumsum" and block.growth == "data" else "")

    return handler


def _map_elementwise(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    function = args[0]
    if isinstance(function, Jit):
        function = function.function
    return k.invoke(function, args[1:], {}) if isinstance(function, Function) else Unknown("map_elementwise")


def _inline_asm(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    inputs = _get(args, kwargs, 2, "args", ())
    dtype = _get(args, kwargs, 3, "dtype")
    blocks = [b for b in (k.lift(v) for v in inputs) if b is not None] if isinstance(inputs, (tuple, list)) else []
    loads = frozenset().union(*(b.loads for b in blocks))
    shape = blocks[0].shape if blocks else ()
    if isinstance(dtype, (tuple, list)):
        return tuple(Block(d if isinstance(d, Dtype) else None, shape, loads=loads) for d in dtype)
    return Block(dtype if isinstance(dtype, Dtype) else None, shape, loads=loads)


def _gather(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    source, index = k.lift(args[0]), k.lift(_get(args, kwargs, 1, "index"))
    if source is None or index is None:
        return Unknown("gather")
    return source.computed(shape=index.shape, loads=source.loads | index.loads)


def _constexpr(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    return args[0] if args else None


def _swizzle2d(k: KernelEvaluator, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    """``tl.swizzle2d(i, j, size_i, size_j, size_g)``: column-major order inside groups of ``size_g`` rows."""
    i, j, size_i, size_j, size_g = (_size(a) for a in args[:5])
    if i is None or j is None or size_i is None or size_j is None or size_g is None:
        unknown = Block(dt.INT32, expr=k.unknown_index())
        return (unknown, unknown)
    flat = ex.lift(i) * size_j + j
    per_group = ex.lift(size_g) * size_j
    group = ex.floordiv(flat, per_group)
    first = ex.lift(group) * size_g
    rows = ex.minimum(ex.lift(size_i) - first, size_g)
    inside = ex.mod(flat, per_group)
    new_i = first + ex.mod(inside, rows)
    return (Block(dt.INT32, expr=ex.lift(new_i)), Block(dt.INT32, expr=ex.lift(ex.floordiv(inside, rows))))


_TABLE: dict[str, Callable[..., Any]] = {
    "program_id": _program_id,
    "num_programs": _num_programs,
    "arange": _arange,
    "zeros": _zeros,
    "full": _full,
    "zeros_like": _zeros_like,
    "full_like": lambda k, a, kw, n: _full(k, [a[0].shape, *a[1:]], {"dtype": a[0].dtype, **kw}, n),
    "broadcast_to": _broadcast_to,
    "broadcast": lambda k, a, kw, n: tuple(a),
    "expand_dims": _expand_dims,
    "trans": _trans,
    "permute": _trans,
    "reshape": _reshape,
    "view": _reshape,
    "ravel": _ravel,
    "flatten": _ravel,
    "join": _join,
    "interleave": _interleave,
    "split": _split,
    "cat": _cat,
    "flip": lambda k, a, kw, n: a[0].computed(),
    "multiple_of": _multiple_of,
    "max_contiguous": _max_contiguous,
    "max_constancy": _hint,
    "assume": _assume,
    "static_assert": _nothing,
    "static_print": _nothing,
    "device_print": _nothing,
    "device_assert": _nothing,
    "debug_barrier": _barrier,
    "load": _load,
    "store": _store,
    "make_block_ptr": _make_block_ptr,
    "advance": _advance,
    "make_tensor_descriptor": _make_descriptor,
    "_experimental_make_tensor_descriptor": _make_descriptor,
    "descriptor.load": lambda k, a, kw, n: descriptor_load(k, a[0], a[1:], kw, n),
    **{f"descriptor.{name}": _descriptor_store(name) for name in ("store", "atomic_add", "atomic_max", "atomic_min")},
    "load_tensor_descriptor": lambda k, a, kw, n: descriptor_load(k, a[0], a[1:], kw, n),
    "store_tensor_descriptor": lambda k, a, kw, n: descriptor_store(k, a[0], "store", a[1:], kw, n),
    "cast": _cast,
    "to": _cast,
    "dot": _dot,
    "dot_scaled": _dot_scaled,
    "minimum": _extreme("min"),
    "maximum": _extreme("max"),
    "where": _where,
    "cdiv": _cdiv,
    "next_power_of_2": _next_power_of_2,
    "fma": _fma,
    "clamp": _clamp,
    **{name: _random(name) for name in ("rand", "randn", "randint", "rand4x", "randint4x")},
    "cumsum": _scan("cumsum"),
    "cumprod": _scan("cumprod"),
    "associative_scan": _scan("associative_scan"),
    "sort": _scan("sort"),
    "topk": _scan("sort"),
    "reduce": _custom_reduce,
    "map_elementwise": _map_elementwise,
    "inline_asm_elementwise": _inline_asm,
    "gather": _gather,
    "constexpr": _constexpr,
    "swizzle2d": _swizzle2d,
    "histogram": _histogram,
    "softmax": lambda k, a, kw, n: _unary(k, "special", a[:1], n, "softmax"),
}

_UNARY: dict[str, str] = {
    **dict.fromkeys(
        "exp exp2 log log2 log10 log1p expm1 sqrt rsqrt sqrt_rn sin cos tan tanh sinh cosh asin acos atan atan2 sigmoid erf "
        "erfc erfinv pow div_rn fdiv rcp fast_expf fast_dividef lgamma gamma cbrt acosh asinh atanh fast_logf fast_sinf "
        "fast_cosf fast_powf tgamma rcbrt".split(),
        "special",
    ),
    **dict.fromkeys(
        "abs floor ceil round rint trunc isnan isinf isfinite isfinited finitef llrint nearbyint sign signbit popc clz "
        "umulhi mul_hi fmod ffs fabs mul_rn add_rn sub_rn fmin fmax copysign".split(),
        "arith",
    ),
}

#: The first parameters of functions that are given operands; what follows them is read by name too.
_LEADING: dict[str, tuple[str, ...]] = {
    "broadcast_to": ("input", "shape"),
    "cdiv": ("x", "div"),
    "clamp": ("x", "min", "max"),
    "flip": ("x",),
    "fma": ("x", "y", "z"),
    "gather": ("src", "index"),
    "next_power_of_2": ("n",),
    "ravel": ("x",),
    "softmax": ("x",),
    "split": ("a",),
    **dict.fromkeys(("broadcast", "cat"), ("input", "other")),
    **dict.fromkeys(("interleave", "join"), ("a", "b")),
    **dict.fromkeys(("maximum", "minimum"), ("x", "y")),
    **dict.fromkeys("expand_dims full_like histogram permute reshape trans view zeros_like".split(), ("input",)),
}

_REDUCTIONS = frozenset("sum max min argmax argmin xor_sum reduce_or prod".split())

_BINARY_METHODS = {"__add__": "+", "__mul__": "*", "__sub__": "-"}
