"""The types of loads, stores and atomics, and what they refuse of pointers and masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.frontend.language.arguments import Shape, shape_of
from kernlint.interpret.frontend.language.shaping import spreads
from kernlint.interpret.frontend.values import BlockPointer, Constexpr, Typed, is_constant, shape_text, tensor
from kernlint.interpret.python.arguments import Args, Handler, Kwargs, argument, takes
from kernlint.interpret.values import Builtin, Unknown

if TYPE_CHECKING:
    from kernlint.interpret.frontend.evaluator import FrontEnd


#: The cache modifiers of loads and stores with the first release (of 3.2 and later) that takes them.
_CACHE_MODIFIERS: dict[str, dict[str, tuple[int, int]]] = {
    "tl.load": {".ca": (3, 2), ".cg": (3, 2), ".cs": (3, 8), ".cv": (3, 2)},
    "tl.store": {".wb": (3, 2), ".cg": (3, 2), ".cs": (3, 2), ".wt": (3, 2)},
}


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


@takes("pointer", "mask", "other", "boundary_check", "padding_option", "cache_modifier")
def _load(f: FrontEnd, node: cst.CSTNode, *given: Any) -> Any:
    pointer, mask, other, _, _, modifier = given
    _check_cache_modifier(f, "tl.load", modifier, node)
    if isinstance(pointer, BlockPointer):
        if mask is not None or other is not None:
            f.fault("block-pointer-mask", node, "a block pointer takes no `mask` and no `other`, but `boundary_check`")
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
    if pointer.pointer is False and not pointer.is_open_argument:
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
        if not spreads(value.shape, shape):
            text = (
                f"the {what} of `{function}` has shape {shape_text(value.shape)}, its pointers have {shape_text(shape)}"
            )
            f.fault("shape-mismatch", node, text)
            return None
        return shape
    return f.common_shape(Typed(None, shape), value, node)


@takes("pointer", "value", "mask", "boundary_check", "cache_modifier")
def _store(f: FrontEnd, node: cst.CSTNode, *given: Any) -> Any:
    pointer, value, mask, _, modifier = given
    _check_cache_modifier(f, "tl.store", modifier, node)
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


def atomic(f: FrontEnd, name: str, args: Args, kwargs: Kwargs, node: cst.CSTNode) -> Any:
    where = _target(f, argument(args, kwargs, 0, "pointer"), f"tl.{name}", node)
    if where is None:
        return Unknown(name)
    if name != "atomic_cas":
        for value, what in ((argument(args, kwargs, 1, "val"), "value"), (argument(args, kwargs, 2, "mask"), "mask")):
            if _fitted(f, where.shape, value, what, f"tl.{name}", node) is None:
                break
    return Typed(where.dtype, where.shape)


@takes("base", "shape", "strides", "offsets", "block_shape")
def _make_block_ptr(f: FrontEnd, node: cst.CSTNode, base: Any, *sizes: Any) -> Any:
    shape = shape_of(f, sizes[-1], "a block pointer", node)
    return BlockPointer(base.dtype if isinstance(base, Typed) else None, shape)


@takes("base")
def _advance(f: FrontEnd, node: cst.CSTNode, pointer: Any) -> Any:
    return pointer if isinstance(pointer, BlockPointer) else Unknown("advance")


@takes("base", "shape", "strides", "block_shape")
def _make_descriptor(f: FrontEnd, node: cst.CSTNode, base: Any, sizes: Any, strides: Any, block: Any) -> Any:
    shape = shape_of(f, block, "a tensor descriptor", node)
    last = strides[-1] if isinstance(strides, (tuple, list)) and strides else None
    if isinstance(last, int) and last != 1:
        f.fault("descriptor", node, f"the last stride of a tensor descriptor must be 1, not {int(last)}")
    dtype = base.dtype if isinstance(base, Typed) else None
    if shape and dtype is not None and shape[-1] is not None and shape[-1] * dtype.bytes < 16:
        text = f"a row of a descriptor's block has {shape[-1] * dtype.bytes} bytes; 16 is the least"
        f.fault("descriptor", node, text)
    return BlockPointer(dtype, shape)


def block_pointer_attribute(value: BlockPointer, name: str) -> Any:
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


TABLE: dict[str, Handler] = {
    "load": _load,
    "store": _store,
    "make_block_ptr": _make_block_ptr,
    "advance": _advance,
    **dict.fromkeys(("make_tensor_descriptor", "_experimental_make_tensor_descriptor"), _make_descriptor),
}
