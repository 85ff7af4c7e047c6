"""What the annotation of a parameter tells of the argument: ``int``, ``float | None``, ``torch.HalfTensor``,
``Float[Tensor, "batch dim"]`` (jaxtyping)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import libcst as cst

from kernlint.interpret.host.sequences import length, open_sequence, part
from kernlint.interpret.host.values import OpenItems
from kernlint.interpret.values import OpenFloat, Presumed, Unknown
from kernlint.records import replace
from kernlint.syntax.guard import check_depth
from kernlint.syntax.names import dotted_name
from kernlint.workload import Dtype, Expr, Size, Symbol
from kernlint.workload import dtype as dt

if TYPE_CHECKING:
    from kernlint.interpret.host.state import HostState

#: Element types that jaxtyping's names allow, the likeliest first.
_FLOATS = (dt.FLOAT16, dt.BFLOAT16, dt.FLOAT32)
_JAXTYPING: dict[str, tuple[Dtype, ...]] = {
    "Float": _FLOATS, "Inexact": _FLOATS, "Real": (), "Num": (), "Shaped": (), "Half": (dt.FLOAT16,),
    "Int": (dt.INT32, dt.INT64, dt.INT8), "Integer": (dt.INT32, dt.INT64, dt.INT8), "UInt": (dt.UINT8,), "Bool": (dt.BOOL,),
    **{name.title(): (found,) for name in ("float16", "float32", "float64", "int8", "int16", "int32", "int64")
       if (found := dt.find(name)) is not None},
    "BFloat16": (dt.BFLOAT16,), "UInt8": (dt.UINT8,),
}  # fmt: skip
#: torch's own names for tensors of one type; "FloatTensor" is said of half precision, too.
_TENSORS: dict[str, Dtype | None] = {
    "FloatTensor": None, "HalfTensor": dt.FLOAT16, "BFloat16Tensor": dt.BFLOAT16, "DoubleTensor": dt.FLOAT64,
    "CharTensor": dt.INT8, "ByteTensor": dt.UINT8, "ShortTensor": dt.INT16, "IntTensor": dt.INT32, "LongTensor": dt.INT64,
    "BoolTensor": dt.BOOL,
}  # fmt: skip
_WRAPPERS = frozenset({"Optional", "Annotated", "Union", "Final", "Required"})
_LISTS = frozenset({"list", "List", "Sequence", "Iterable"})
_TUPLES = frozenset({"tuple", "Tuple"})
_LONGEST = 400


def argument(h: HostState, name: str, annotation: cst.BaseExpression | None, integer: bool) -> Any:
    """What an argument called ``name`` is as its ``annotation`` says; ``integer`` that its uses show a number where that says
    nothing."""
    kind = _plain(annotation) if annotation is not None else None
    last = (dotted_name(kind) or "").split(".")[-1] if kind is not None else ""
    if last == "int" or (integer and (not last or dt.find(last) is not None)):  # `torch.int32` says it of either
        return h.resolved.get(Symbol(name), Expr.atom(Symbol(name)))
    if last == "float":
        return OpenFloat(name)
    if last == "str":
        return Unknown(name)
    if last == "bool":
        return Presumed(False)
    if last in _TENSORS:
        return h.unknown_tensor(name, _TENSORS[last])
    if isinstance(kind, cst.Subscript):
        return _sequence(h, name, kind) or _jaxtyped(h, name, kind) or h.unknown_tensor(name)
    if last in _LISTS:
        return open_sequence(h, name)
    return h.unknown_tensor(name)


def _plain(annotation: cst.BaseExpression) -> cst.BaseExpression | None:
    """``annotation`` without quotes, ``Optional`` and ``| None``; None where that leaves nothing that can be read."""
    for _ in range(8):
        if isinstance(annotation, cst.SimpleString):
            text = annotation.raw_value
            if len(text) > _LONGEST:
                return None
            try:
                check_depth(text, "annotation")
                annotation = cst.parse_expression(text)
            except Exception:  # LibCST's parser raises what it likes for what is no expression
                return None
        elif isinstance(annotation, cst.BinaryOperation) and isinstance(annotation.operator, cst.BitOr):
            sides = [side for side in (annotation.left, annotation.right) if not _is_none(side)]
            if len(sides) != 1:
                return None
            annotation = sides[0]
        elif isinstance(annotation, cst.Subscript) and _last(annotation.value) in _WRAPPERS:
            inner = [e.slice.value for e in annotation.slice if isinstance(e.slice, cst.Index)]
            kept = [one for one in inner if not _is_none(one)]
            if not kept or (_last(annotation.value) == "Union" and len(kept) != 1):
                return None
            annotation = kept[0]
        else:
            return annotation
    return None


def _is_none(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def _last(node: cst.BaseExpression) -> str:
    return (dotted_name(node) or "").split(".")[-1]


def _sequence(h: HostState, name: str, kind: cst.Subscript) -> Any:
    """A list or a tuple as ``kind`` describes it; None where that is something else."""
    inner = [e.slice.value for e in kind.slice if isinstance(e.slice, cst.Index)]
    last = _last(kind.value)
    if last in _LISTS or (last in _TUPLES and len(inner) == 2 and isinstance(inner[1], cst.Ellipsis)):
        item = part(h, name, "", argument(h, f"{name}[]", inner[0], False)) if inner else None
        return OpenItems(item, length(h, name), name) if inner else None
    if last in _TUPLES and len(inner) == len(kind.slice):
        return tuple(part(h, name, i, argument(h, f"{name}[{i}]", one, False)) for i, one in enumerate(inner))
    return None


def _jaxtyped(h: HostState, name: str, kind: cst.Subscript) -> Any:
    """A tensor as jaxtyping describes it; None where ``kind`` is something else."""
    allowed = _JAXTYPING.get(_last(kind.value))
    parts = [e.slice.value for e in kind.slice if isinstance(e.slice, cst.Index)]
    if allowed is None or len(parts) != 2 or _last(parts[0]) not in ("Tensor", "Parameter", "Array"):
        return None
    spec = parts[1].raw_value.split() if isinstance(parts[1], cst.SimpleString) else ["..."]
    tensor = h.unknown_tensor(name, allowed[0] if len(allowed) == 1 else None)
    if len(allowed) > 1:
        h.dtype_choices.setdefault(name, allowed)
        h.annotated.add(name)
    if any(word == "..." or word.startswith("*") for word in spec):
        return tensor
    sizes: list[Size] = []
    for axis, word in enumerate(spec):
        axis_name = word.lstrip("#?_").partition("=")[0]
        number = word.rpartition("=")[2]
        if number.isdecimal():
            sizes.append(int(number))
            continue
        size = h.symbol_for(tensor, f"shape[{axis}]")
        if axis_name.isidentifier():
            h.name_size(axis_name, size)
            size = h.axes.setdefault(axis_name, size)
        sizes.append(size)
    return replace(tensor, shape=tuple(sizes))
