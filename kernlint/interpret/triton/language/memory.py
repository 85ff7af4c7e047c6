"""Loads, stores and atomics, through pointers, block pointers and descriptors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.python.arguments import Args, Handler, Kwargs, argument, takes
from kernlint.interpret.triton import numerics, widths
from kernlint.interpret.triton.language.arguments import size_of, tile_shape
from kernlint.interpret.triton.tiles import align, broadcast
from kernlint.interpret.triton.values import Block, Descriptor
from kernlint.interpret.values import Unknown
from kernlint.records import replace
from kernlint.workload import Atomic, Expr, Load, Store
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.access import Bounds, Pad
from kernlint.workload.expr import Lane

if TYPE_CHECKING:
    from kernlint.interpret.triton.evaluator import KernelEvaluator


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


def _mask(value: Any) -> Bounds | None:
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
    mask, other = argument(args, kwargs, 1, "mask"), argument(args, kwargs, 2, "other")
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
        _mask(mask),
        k.span(node),
        filled.constant if filled is not None else None,
        eviction if isinstance(eviction, str) else "",
        _mask_known(mask),
        len(args) > 2 or "other" in kwargs,
        checked=bool(argument(args, kwargs, 3, "boundary_check")),
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
    value, mask = k.lift(argument(args, kwargs, 1, "value")), argument(args, kwargs, 2, "mask")
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
            _mask(mask),
            k.span(node),
            depends=value.loads if value is not None else frozenset(),
            kept=numerics.kept_loads(value) if value is not None else frozenset(),
            casts=value.casts if value is not None else (),
            mask_known=_mask_known(mask),
            checked=bool(argument(args, kwargs, 3, "boundary_check")),
            **_address(k, pointer, mask, stretched),
        )
    )
    return None


def _is_number(value: Block) -> bool:
    """Whether a value is one number in all lanes, which the source tells."""
    return value.constant is not None or (value.expr is not None and ex.concrete(ex.simplify(value.expr)) is not None)


def atomic(k: KernelEvaluator, op: str, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    pointer = _pointer(k, args[0] if args else kwargs.get("pointer"))
    value = k.lift(argument(args, kwargs, 2 if op == "cas" else 1, "val"))
    mask = argument(args, kwargs, 2, "mask") if op != "cas" else None
    if pointer is None:
        k.give_up("atomic through an unknown pointer")
        return Unknown("atomic")
    stretched = _is_stretched(pointer, mask)
    pointer, mask = _aligned(pointer, mask, value)
    made = Atomic(
        k.new_id(),
        pointer.base,
        pointer.dtype or dt.FLOAT32,
        pointer.shape,
        pointer.expr,
        _mask(mask),
        k.span(node),
        op,
        value.loads if value is not None else frozenset(),
        _mask_known(mask),
        alike=value is not None and _is_number(value),
        sem=sem if isinstance(sem := argument(args, kwargs, 3, "sem"), str) else "acq_rel",
        **_address(k, pointer, mask, stretched),
    )
    k.emit(made)
    return Block(made.dtype, pointer.shape, loads=frozenset({made.id}))


@takes("base", "shape", "strides", "offsets", "block_shape")
def _make_block_ptr(
    k: KernelEvaluator, node: cst.CSTNode, base: Any, shape: Any, strides: Any, offsets: Any, extents: Any
) -> Any:
    pointer, block = _pointer(k, base), tile_shape(k, extents)
    if (
        pointer is None
        or block is None
        or not isinstance(strides, (tuple, list))
        or not isinstance(offsets, (tuple, list))
    ):
        k.give_up("block pointer")
        return Unknown("block pointer")
    return _tile_pointer(pointer, strides, offsets, block)


def _tile_pointer(base: Block, strides: Any, offsets: Any, block: tuple[int, ...]) -> Block:
    expr = base.expr
    steps = tuple(size_of(s) for s in strides)
    for dim, (offset, stride) in enumerate(zip(offsets, steps)):
        place = size_of(offset)
        if expr is None or stride is None or place is None:
            expr = None
            break
        expr = expr + (ex.lift(place) + (Expr.atom(Lane(dim)) if block[dim] > 1 else 0)) * stride
    return replace(base, shape=block, expr=expr, strides=steps)


@takes("base", "offsets")
def _advance(k: KernelEvaluator, node: cst.CSTNode, pointer: Any, offsets: Any) -> Any:
    if not isinstance(pointer, Block) or not isinstance(offsets, (tuple, list)) or not pointer.strides:
        return Unknown("advance")
    expr = pointer.expr
    for offset, stride in zip(offsets, pointer.strides):
        place = size_of(offset)
        expr = expr + ex.lift(place) * stride if expr is not None and place is not None and stride is not None else None
    return replace(pointer, expr=expr)


@takes("base", "shape", "strides", "block_shape")
def _make_descriptor(k: KernelEvaluator, node: cst.CSTNode, base: Any, shape: Any, strides: Any, extents: Any) -> Any:
    pointer, block = _pointer(k, base), tile_shape(k, extents)
    if pointer is None or block is None or not isinstance(strides, (tuple, list)):
        k.give_up("tensor descriptor")
        return Unknown("descriptor")
    return Descriptor(pointer, tuple(shape or ()), tuple(strides), block)


def _of_descriptor(descriptor: Descriptor, offsets: Any) -> Block:
    """Where ``descriptor`` at ``offsets`` points to."""
    places = offsets if isinstance(offsets, (tuple, list)) else []
    return _tile_pointer(descriptor.base, descriptor.strides, places, descriptor.block)


@takes("desc", "offsets")
def _descriptor_load(k: KernelEvaluator, node: cst.CSTNode, descriptor: Any, offsets: Any) -> Any:
    """``desc.load([i, j])``."""
    return _load(k, [_of_descriptor(descriptor, offsets)], {"boundary_check": True}, node)


def _descriptor_store(name: str) -> Handler:
    """``desc.store([i, j], value)`` and its atomic forms."""

    @takes("desc", "offsets", "value")
    def handler(k: KernelEvaluator, node: cst.CSTNode, descriptor: Any, offsets: Any, value: Any) -> Any:
        pointer = _of_descriptor(descriptor, offsets)
        if name == "store":
            return _store(k, [pointer, value], {"boundary_check": True}, node)
        return atomic(k, name.removeprefix("atomic_"), [pointer, value], {}, node)

    return handler


TABLE: dict[str, Handler] = {
    "load": _load,
    "store": _store,
    "make_block_ptr": _make_block_ptr,
    "advance": _advance,
    **dict.fromkeys(("make_tensor_descriptor", "_experimental_make_tensor_descriptor"), _make_descriptor),
    **dict.fromkeys(("descriptor.load", "load_tensor_descriptor"), _descriptor_load),
    "store_tensor_descriptor": _descriptor_store("store"),
    **{f"descriptor.{name}": _descriptor_store(name) for name in ("store", "atomic_add", "atomic_max", "atomic_min")},
}
