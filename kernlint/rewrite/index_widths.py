"""Where the type of an index matters: what a variable may become int64 without a change of type that the compiler refuses."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from kernlint.rewrite.bindings import variable
from kernlint.rewrite.function import argument
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.syntax.names import bound_by

#: Functions of Triton whose result is an index like their arguments, and those that take an index of any width.
_PASSES_ON = frozenset({"where", "minimum", "maximum", "max_contiguous", "multiple_of", "cdiv"})
_TAKES = frozenset({"load", "store", "rand", "randn", "randint", "randint4x", "rand4x", "assume", "device_assert"})

#: Factors from this one on are there to scramble an index.
_HASHES = 1 << 16

_ARITHMETIC = (cst.BinaryOperation, cst.UnaryOperation, cst.Subscript)


def triton_name(source: Source, node: cst.CSTNode) -> str:
    """The name of the Triton function that ``node`` calls, else empty."""
    origin = (source.origin(node.func) or "") if isinstance(node, cst.Call) else ""
    return origin.removeprefix("triton.language.") if origin.startswith("triton.language.") else ""


def may_be_wide(
    source: Source,
    name: str,
    function: cst.FunctionDef | None,
    multiplied: bool = False,
    seen: frozenset[tuple[str, bool]] = frozenset(),
) -> bool:
    """Whether ``name``, ``multiplied`` or not, and what is computed from it may have 64 bits wherever it is read: in addresses, masks and
    variables that are assigned once, so that no type changes where two paths meet, and no number that is meant to wrap."""
    if function is None or (name, multiplied) in seen:
        return True
    found = variable(source, name, function)
    if len(found.bindings) != 1:
        return False
    for read in found.reads:
        use = _use(source, read)
        target = _bound(use)
        product = _product_without_scramble(source, read, use[0], multiplied)
        if product is None:
            return False
        if target is None:
            if not _is_harmless(source, use):
                return False
        elif not is_pointer(source, target, function) and not may_be_wide(
            source, target, function, product, seen | {(name, multiplied)}
        ):
            return False
    return True


def _product_without_scramble(source: Source, read: cst.CSTNode, value: cst.CSTNode, multiplied: bool) -> bool | None:
    """Whether ``value``, which ends in a use, is a product of ``read``; None where the bits of a product are mixed, as in
    ``(row * 1103515245) >> 16``: those of the upper half would come to count."""
    node = read
    while node is not value:
        above = source.parent(node)
        if isinstance(above, cst.BinaryOperation):
            other = above.right if above.left is node else above.left
            if isinstance(above.operator, (cst.Multiply, cst.LeftShift)):
                multiplied = True
                if isinstance(other, cst.Integer) and other.evaluated_value >= _HASHES:
                    return None
            elif multiplied and not isinstance(above.operator, (cst.Add, cst.Subtract)):
                return None
        if above is None:
            return None
        node = above
    return multiplied


def check_types(source: Source, products: Sequence[cst.BinaryOperation], edits: Sequence[TextEdit]) -> None:
    """Raise :class:`CannotRewrite` where a variable that gets a wide index after ``edits`` may hold a narrow one too: the
    compiler refuses a variable whose type differs between two paths, or from one iteration to the next."""
    work: list[cst.CSTNode] = list(products)
    seen: set[str] = set()
    while work:
        node = work.pop()
        function = source.function(node)
        target = _bound(_use(source, node))
        if target is None or function is None or target in seen or is_pointer(source, target, function):
            continue
        seen.add(target)
        found = variable(source, target, function)
        plain = [one for one in found.bindings if not isinstance(one, cst.AugAssign)]
        if len(found.bindings) > 1 and not all(_is_wide(source, one, edits) for one in plain):
            raise CannotRewrite(f"`{target}` would have 64 bits on one path and 32 on another")
        work += found.reads


def _is_wide(source: Source, binding: cst.CSTNode, edits: Sequence[TextEdit]) -> bool:
    """Whether what the statement assigns is widened by ``edits``, or was before."""
    value = getattr(binding, "value", None)
    if not isinstance(binding, (cst.Assign, cst.AnnAssign)) or value is None:
        return False
    start, end = source.whole(value)
    return "int64" in source.text[start:end] or any(start <= edit.start <= end for edit in edits)


def is_pointer(source: Source, name: str, function: cst.FunctionDef) -> bool:
    """Whether the variable is what a load or store goes through, alone or with an offset added to it: of an address the type
    does not depend on that of its offsets."""
    for call in source.module.within(function, cst.Call):
        if triton_name(source, call) in ("load", "store") and call.args:
            pointer = argument(call, "pointer", 0)
            while isinstance(pointer, cst.BinaryOperation) and isinstance(pointer.operator, cst.Add):
                pointer = pointer.left
            if isinstance(pointer, cst.Name) and pointer.value == name:
                return True
    return False


def _use(source: Source, node: cst.CSTNode) -> tuple[cst.CSTNode, cst.CSTNode | None]:
    """(value, what takes it) for the index that arithmetic makes of ``node``."""
    for above in source.above(node):
        passes = isinstance(above, cst.Call) and triton_name(source, above) in _PASSES_ON
        if not isinstance(above, _ARITHMETIC) and not passes and not _leads_to_passing_call(source, above):
            return node, above
        node = above
    return node, None


def _leads_to_passing_call(source: Source, node: cst.CSTNode) -> bool:
    call = source.parent(node) if isinstance(node, cst.Arg) else None
    return call is not None and triton_name(source, call) in _PASSES_ON


def _bound(use: tuple[cst.CSTNode, cst.CSTNode | None]) -> str | None:
    """The variable that the index is assigned or added to."""
    value, above = use
    if isinstance(above, (cst.Assign, cst.AugAssign, cst.AnnAssign)) and above.value is value:
        names = [one.value for one in bound_by(above)]
        return names[0] if len(names) == 1 else None
    return None


def _is_harmless(source: Source, use: tuple[cst.CSTNode, cst.CSTNode | None]) -> bool:
    """Whether the index ends in a comparison, or in a function that takes it in any width, but not as the value of elements."""
    value, above = use
    if isinstance(above, (cst.Comparison, cst.ComparisonTarget, cst.If, cst.While)):
        return True
    call = source.parent(above) if isinstance(above, cst.Arg) else None
    if not isinstance(call, cst.Call):
        return False
    name = triton_name(source, call)
    elements = argument(call, "value" if name == "store" else "other", 1 if name == "store" else 2)
    return name in _TAKES and not (name in ("store", "load") and elements is value)
