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

_ARITHMETIC = (cst.BinaryOperation, cst.UnaryOperation, cst.Subscript)


def triton_name(source: Source, node: cst.CSTNode) -> str:
    """The name of the Triton function that ``node`` calls, else empty."""
    origin = (source.origin(node.func) or "") if isinstance(node, cst.Call) else ""
    return origin.removeprefix("triton.language.") if origin.startswith("triton.language.") else ""


def may_be_wide(source: Source, name: str, function: cst.FunctionDef | None) -> bool:
    """Whether ``name`` and what is computed from it may have 64 bits wherever it is read: in addresses, masks and variables that are
    assigned once, so that no type changes where two paths meet, and no number that is meant to wrap. A product that is compared, or picks
    a random number, may be a hash, unless it is an address too, or part of one."""
    compared, addressed = set[str](), set[str]()
    work: list[tuple[str, tuple[str, ...]]] = [(name, ())]
    seen = set(work)
    while work and function is not None:
        name, products = work.pop()
        found = variable(source, name, function)
        if len(found.bindings) != 1:
            return False
        for read in found.reads:
            use = _use(source, read)
            chain = _products(source, read, use[0], products)
            if chain is None:
                return False
            target = _bound(use)
            if _is_address(source, use) or (target is not None and is_pointer(source, target, function)):
                addressed.update(chain)
            elif target is not None:
                work += {(target, chain)} - seen
                seen.add((target, chain))
            elif _is_harmless(source, use):
                compared.update(chain[-1:])
            else:
                return False
    return compared <= addressed


def _products(source: Source, read: cst.CSTNode, value: cst.CSTNode, within: tuple[str, ...]) -> tuple[str, ...] | None:
    """The products that ``value``, which ends in a use, makes of ``read``, itself part of those ``within``: innermost first. None where the
    bits of one are mixed, as in ``(row * 1103515245) >> 16``: those of the upper half would come to count."""
    node = read
    while node is not value:
        above = source.parent(node)
        if isinstance(above, cst.BinaryOperation):
            if isinstance(above.operator, (cst.Multiply, cst.LeftShift)):
                within += (source.code(above),)
            elif within and not isinstance(above.operator, (cst.Add, cst.Subtract)):
                return None
        if above is None:
            return None
        node = above
    return within


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


def _is_address(source: Source, use: tuple[cst.CSTNode, cst.CSTNode | None]) -> bool:
    call = _taking(source, use)
    if call is None or triton_name(source, call) not in ("load", "store"):
        return False
    return argument(call, "pointer", 0) is use[0]


def _is_harmless(source: Source, use: tuple[cst.CSTNode, cst.CSTNode | None]) -> bool:
    """Whether the index ends in a comparison, or in a function that takes it in any width, but not as the value of elements."""
    value, above = use
    if isinstance(above, (cst.Comparison, cst.ComparisonTarget, cst.If, cst.While)):
        return True
    call = _taking(source, use)
    if call is None:
        return False
    name = triton_name(source, call)
    elements = argument(call, "value" if name == "store" else "other", 1 if name == "store" else 2)
    return name in _TAKES and not (name in ("store", "load") and elements is value)


def _taking(source: Source, use: tuple[cst.CSTNode, cst.CSTNode | None]) -> cst.Call | None:
    """The call that takes the index as an argument."""
    call = source.parent(use[1]) if isinstance(use[1], cst.Arg) else None
    return call if isinstance(call, cst.Call) else None
