"""Attributes, methods and items of tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.frontend.language.functions import type_of_call
from kernlint.interpret.frontend.signatures import check_call
from kernlint.interpret.frontend.values import Constexpr, Typed
from kernlint.interpret.values import Builtin, Unknown
from kernlint.workload import Dtype, Expr

if TYPE_CHECKING:
    from kernlint.interpret.frontend.evaluator import FrontEnd


#: Attributes that every run-time value has.
_ATTRIBUTES = frozenset({"dtype", "shape", "type", "T", "numel", "handle"})


#: Methods of a tensor descriptor, which an argument may be.
_DESCRIPTOR = frozenset(
    "load store gather scatter atomic_add atomic_max atomic_min block_shape block_type strides".split()
)


def tensor_attribute(f: FrontEnd, value: Typed, name: str, node: cst.CSTNode) -> Any:
    if name in ("dtype", "type"):
        if value.pointer is not False:
            return Unknown("pointer type")
        return value.dtype if value.dtype is not None and name == "dtype" else Unknown(name)
    if name == "shape":
        return tuple(Constexpr(True) if extent is None else extent for extent in value.shape)
    if name == "numel":
        return Unknown(name)
    if name == "T":
        return type_of_call(f, "trans", [value], {}, node)
    if name == "to" and value.argument and value.pointer is not True:
        return Builtin(name, lambda a, k, n: _cast_argument(f, value, a, k, n))
    if value.argument and name in _DESCRIPTOR:
        return Unknown("descriptor")
    if lacks(f, value, name):
        text = f"a tensor has no `{name}`"
        if f.target.ever(f"triton.language.tensor.{name}"):
            text += f" in Triton {f.target.release}"
        return f.fault("missing-attribute", node, text, name)
    return Builtin(name, lambda a, k, n: _call_method(f, name, [value, *a], k, n))


def lacks(f: FrontEnd, value: Typed, name: Any) -> bool:
    """Whether a tensor, which ``value`` is, surely has no attribute ``name``."""
    if not isinstance(name, str) or name in _ATTRIBUTES or name.startswith("__"):
        return False
    if value.argument and (name == "to" or name in _DESCRIPTOR):
        return False  # the argument may be a number or a descriptor
    return f.target.has(f"triton.language.tensor.{name}") is not True


def _call_method(f: FrontEnd, name: str, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
    """``x.sum(axis=0)``, which is ``tl.sum(x, axis=0)`` and takes what that does."""
    if isinstance(node, cst.Call) and not check_call(f, f"triton.language.{name}", args, kwargs, node):
        return Unknown(name)
    return type_of_call(f, name, args, kwargs, node)


def _cast_argument(f: FrontEnd, value: Typed, args: list[Any], kwargs: dict[str, Any], node: cst.CSTNode) -> Any:
    """``argument.to(...)``: an integer argument of value 1 is a compile-time constant, which has no method."""
    given, dtype, name = (
        f.arguments.get(value.argument),
        args[0] if args else kwargs.get("dtype"),
        value.argument,
    )
    number = given.value if isinstance(given, Expr) else given
    # Of an argument whose value no source shows, a cast to an integer type says that it is one.
    integer = isinstance(number, int) or (isinstance(dtype, Dtype) and dtype.is_integer)
    integer = integer and value.argument not in f.unspecialised
    if integer and not isinstance(given, bool) and (number == 1 or not isinstance(number, (int, float))):
        text = f"`{name}` is a compile-time constant when it is 1, which has no `.to`; use tl.cast({name}, ...)"
        f.fault("specialised-scalar", node, text, name, certain=number == 1)
    return type_of_call(f, "to", [value, *args], kwargs, node)


#: Until this release a number, which has no axis, could be given one by ``x[:, None]``.
_SCALARS = (3, 9)


def view(f: FrontEnd, value: Typed, index: tuple[Any, ...], node: cst.CSTNode) -> Any:
    """``x[:, None]``: the only index that a tensor takes."""
    shape = list(value.shape)
    for dim, part in enumerate(index):
        if part is None:
            if dim > len(shape) and (shape or f.target.version >= _SCALARS):
                text = f"a new axis {dim} does not fit a block of {len(value.shape)} dimensions"
                return f.fault("tensor-rank", node, text, since="" if shape else "{}.{}".format(*_SCALARS))
            shape.insert(dim, 1)
        elif isinstance(part, Unknown):
            return Unknown("index")
        elif not (isinstance(part, slice) and part == slice(None, None, None)):
            text = f"a tensor is indexed only by None and `:`; {_shown_index(part)} selects elements"
            return f.fault("tensor-index", node, text)
    return Typed(value.dtype, tuple(shape), value.pointer)


def _shown_index(part: Any) -> str:
    if isinstance(part, slice):
        return "a slice with bounds"
    return f"`{part}`" if isinstance(part, int) else "an index"
