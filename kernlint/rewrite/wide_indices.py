"""32-bit indices computed in 64 bits: the program id, loaded index or tile that a product is made of is widened."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kernlint.rewrite.bindings import variable
from kernlint.rewrite.conversions import assigned_value, cast, converted
from kernlint.rewrite.effects import Effects
from kernlint.rewrite.index_widths import check_types, may_be_wide, triton_name
from kernlint.rewrite.rereading import reread
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.correctness.overflow import WideIndices, reported
from kernlint.syntax.walk import walk
from kernlint.workload import Span

#: Products that come to light one after another as those around them are widened.
_MAX_ROUNDS = 8


@codemod(WideIndices, Effects())
def wide_indices(site: Site, transform: WideIndices) -> list[TextEdit]:
    """Every product that the rule reports in the kernel, in 64 bits."""
    places = reported(site.workload, transform)
    edits: list[TextEdit] = []
    products: list[cst.BinaryOperation] = []
    for _ in range(_MAX_ROUNDS):
        if not places:
            check_types(site.source, products, edits)
            return edits
        found = [_product(site.source, place) for place in places]
        products += found
        added = [edit for product in found for edit in _widened(site.source, product)]
        # Several products may be made of one program id.
        new = [edit for edit in dict.fromkeys(added) if edit not in edits]
        if not new:
            break
        edits += new
        places = _left(site, transform, edits)
    raise CannotRewrite("the index would still be computed in 32 bits at some place")


def _left(site: Site, transform: WideIndices, edits: list[TextEdit]) -> list[Span]:
    """What the rule would report after ``edits``, by its places in the source as it is."""
    later = reread(site, edits, checked=False)
    found = []
    for span in reported(later.workload, transform):
        place = site.source.span(*(_before(edits, offset) for offset in later.source.offsets(span)))
        if site.module.at(place, cst.BinaryOperation) is None:
            raise CannotRewrite(f"the index at line {span.line} is no product")
        found.append(place)
    return found


def _before(edits: list[TextEdit], offset: int) -> int:
    """Where what stands at ``offset`` behind the insertions ``edits`` stood before them."""
    shift = 0
    for edit in sorted(edits):
        if offset >= edit.start + shift + len(edit.text):
            shift += len(edit.text)
        elif offset > edit.start + shift:
            return edit.start
    return offset - shift


def _product(source: Source, place: Span) -> cst.BinaryOperation:
    node = source.at(place, cst.BinaryOperation)
    if not isinstance(node.operator, cst.Multiply):
        raise CannotRewrite(f"the index at line {place.line} is no product")
    return node


def _widened(source: Source, product: cst.BinaryOperation) -> list[TextEdit]:
    """Edits that put the index in ``product``, and so the product, in 64 bits."""
    node: cst.BaseExpression = product
    while isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Multiply, cst.Add, cst.Subtract)):
        if isinstance(node.operator, cst.Multiply):
            # `program * heads * size` is wide where its first factor is.
            node = node.right if not _varies(source, node.left) and _varies(source, node.right) else node.left
            continue
        # `(batch * heads + head) * size` is wide where `batch` is.
        terms = [one for one in (node.left, node.right) if _has_product(source, one)]
        if not terms:
            break
        node = terms[0]
    if isinstance(node, cst.Name):
        made = _making_call(source, node)
        if made is not None and may_be_wide(source, node.value, source.function(node)):
            return converted(source, made, "int64")
        surely = made is not None or _is_tensor_variable(source, node)
    elif isinstance(node, cst.Call):
        surely = triton_name(source, node) in ("program_id", "load", "arange")
    else:
        surely = isinstance(node, cst.Subscript) or _varies(source, node)
    # A plain number, such as a parameter that is 1, has no method to cast it with.
    return converted(source, node, "int64") if surely else cast(source, node, "int64")


def _has_product(source: Source, node: cst.BaseExpression) -> bool:
    """Whether ``node`` is a product of what varies, or a sum with such a term."""
    if not isinstance(node, cst.BinaryOperation):
        return False
    if isinstance(node.operator, cst.Multiply):
        return _varies(source, node)
    return isinstance(node.operator, (cst.Add, cst.Subtract)) and any(
        _has_product(source, one) for one in (node.left, node.right)
    )


def _making_call(source: Source, name: cst.Name) -> cst.Call | None:
    """The ``tl.program_id`` or ``tl.load`` that the variable is assigned, and nothing else."""
    function = source.function(name)
    bindings = variable(source, name.value, function).bindings if function is not None else ()
    value = assigned_value(bindings[0]) if len(bindings) == 1 else None
    return value if isinstance(value, cst.Call) and triton_name(source, value) in ("program_id", "load") else None


def _varies(source: Source, node: cst.BaseExpression) -> bool:
    """Whether ``node`` is made of a program id, a loaded value, a tile or a loop variable, rather than of parameters."""
    asked: set[str] = set()
    open_ends = [node]
    while open_ends:
        value = open_ends.pop()
        for inner in _names_and_calls(value):
            if triton_name(source, inner) in ("program_id", "load", "arange"):
                return True
            # Each variable once: they are made of each other in many ways.
            if not isinstance(inner, cst.Name) or inner.value in asked:
                continue
            asked.add(inner.value)
            function = source.function(inner)
            if function is None:
                continue
            bindings = variable(source, inner.value, function).bindings
            if any(isinstance(binding, cst.For) for binding in bindings):
                return True
            open_ends += [made for binding in bindings if (made := assigned_value(binding)) is not None]
    return False


def _names_and_calls(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    for inner in walk(node):
        if type(inner) is cst.Name or type(inner) is cst.Call:
            yield inner


def _is_tensor_variable(source: Source, name: cst.Name) -> bool:
    """Whether the variable is surely a tensor: assigned, and made of what varies. Parameters, and in the interpreter loop
    variables, may be plain numbers."""
    function = source.function(name)
    bindings = variable(source, name.value, function).bindings if function is not None else ()
    values = [assigned_value(binding) for binding in bindings]
    return bool(values) and all(value is not None and _varies(source, value) for value in values)
