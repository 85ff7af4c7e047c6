"""Masks that let wrong lanes through: narrowed by the sign of the index, or turned to the axis that is meant."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kernlint.rewrite.callers import used_elsewhere
from kernlint.rewrite.conversions import followed_by, is_cast_of, origin_expression
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.function import MASK_POSITION, argument
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.correctness.kl741_access_before_start import MaskedBelow
from kernlint.rules.correctness.kl742_unguarded_sentinel_index import SentinelMasked
from kernlint.rules.correctness.kl743_mask_on_wrong_axis import MaskOfRows
from kernlint.rules.proofs.iteration_domain import sites
from kernlint.syntax.names import variables
from kernlint.syntax.walk import walk
from kernlint.workload import Atomic, Load, Span
from kernlint.workload.access import Access


@codemod(MaskedBelow)
def masked_below(site: Site, transform: MaskedBelow) -> Rewriting:
    """``tl.load(p + i - 1, mask=m)`` becomes ``tl.load(p + i - 1, mask=(m) & (i - 1 >= 0))``."""
    source = site.source
    access = _access(site, transform.place)
    call = source.at(transform.place, cst.Call)
    if len(access.shape) > 1:
        raise CannotRewrite("the offset is made of several indices, of which one is too small")
    pointer = argument(call, "pointer", 0)
    offset = _without_base(source, pointer, access.base) if pointer is not None else ""
    if not offset:
        raise CannotRewrite(f"the address is not written as `{access.base}` and an index")
    edits = _narrowed(source, call, access, f"({offset} >= 0)")
    return Rewriting(tuple(edits), _effects(site, call, access))


@codemod(SentinelMasked)
def sentinel_masked(site: Site, transform: SentinelMasked) -> Rewriting:
    """``tl.load(src + idx, mask=m)`` becomes ``tl.load(src + idx, mask=m & (idx >= 0))``."""
    source = site.source
    access = _access(site, transform.place)
    call = source.at(transform.place, cst.Call)
    table = source.at(transform.table, cst.Call)
    pointer = argument(call, "pointer", 0)
    index = next((one for one in _leaves(source, pointer) if is_cast_of(source, _indexed(one), table)), None)
    if index is None:
        raise CannotRewrite("the loaded index has no name of its own in the address")
    edits = _narrowed(source, call, access, f"({source.code(index)} >= 0)")
    return Rewriting(tuple(edits), _effects(site, call, access))


@codemod(MaskOfRows)
def mask_of_rows(site: Site, transform: MaskOfRows) -> Rewriting:
    """``mask=rows`` becomes ``mask=rows[:, None]`` where what ``rows`` tests is a row of the tile."""
    source = site.source
    access = _access(site, transform.place)
    call = source.at(transform.place, cst.Call)
    mask, pointer = _mask(call, access), argument(call, "pointer", 0)
    if mask is None or pointer is None:
        raise CannotRewrite("the mask is not written in the call")
    tested = {name.value for name in variables(origin_expression(source, mask))}
    rows, columns = _axes(source, pointer)
    if not tested & rows or tested & columns:
        raise CannotRewrite("the mask does not test the index of the rows alone")
    note = "the mask is taken for one of rows, as the address takes its index"
    return Rewriting(tuple(followed_by(source, mask, "[:, None]")), Effects("unsafe", notes=(note,)))


def _access(site: Site, place: Span) -> Access:
    for launch in site.workload.launches():
        for one in sites(launch.kernel):
            if one.access.span == place:
                return one.access
    raise CannotRewrite("the access was not followed")


def _mask(call: cst.Call, access: Access) -> cst.BaseExpression | None:
    """The mask that ``access`` is given; None where it has none or, in words, ``None``."""
    mask = argument(call, "mask", MASK_POSITION[type(access)])
    return None if isinstance(mask, cst.Name) and mask.value == "None" else mask


def _narrowed(source: Source, call: cst.Call, access: Access, condition: str) -> list[TextEdit]:
    """Edits that make ``call`` mask what fails ``condition``, too. Raises :class:`CannotRewrite`."""
    if isinstance(access, Atomic) and access.op == "cas":
        raise CannotRewrite("tl.atomic_cas takes no mask")
    mask = _mask(call, access)
    if mask is None:
        return source.set_argument(call, "mask", condition, MASK_POSITION[type(access)])
    start, end = source.whole(mask)
    if isinstance(mask, (cst.Name, cst.Call, cst.Subscript)) or mask.lpar or _joined(mask):
        return [TextEdit(end, end, f" & {condition}")]
    return [TextEdit(start, start, "("), TextEdit(end, end, f") & {condition}")]


def _joined(mask: cst.BaseExpression) -> bool:
    return isinstance(mask, cst.BinaryOperation) and isinstance(mask.operator, cst.BitAnd)


def _effects(site: Site, call: cst.Call, access: Access) -> Effects:
    """A load without ``other`` leaves the new masked lanes undefined, unless a ``tl.where`` around it chooses; another launch may
    pass an address in the middle of a tensor, and mean what lies before it."""
    source, function = site.source, site.source.function(call)
    above = source.parent(source.parent(call) or call)
    chosen = isinstance(above, cst.Call) and source.origin(above.func) == "triton.language.where"
    effects = Effects() if function is None else used_elsewhere(site, function)
    places = {
        launch.span for launch in site.workload.launches() if function and launch.kernel.name == function.name.value
    }
    if len(places) > 1:
        effects |= Effects("unsafe", notes=("another launch may pass an address in the middle of a tensor",))
    if isinstance(access, Load) and not access.filled and not chosen:
        effects |= Effects("unsafe", notes=("the load has no `other` for the lanes that are left out",))
    return effects


def _without_base(source: Source, pointer: cst.BaseExpression, base: str) -> str:
    """The text of the offset in ``base + i - 1``; empty where the address is written otherwise."""
    terms = list(_terms(pointer, "+"))
    if [isinstance(node, cst.Name) and node.value == base and sign == "+" for node, sign in terms].count(True) != 1:
        return ""
    rest = [(node, sign) for node, sign in terms if not (isinstance(node, cst.Name) and node.value == base)]
    if not rest or rest[0][1] != "+":
        return ""
    text = source.full_code(rest[0][0])
    return text + "".join(f" {sign} {source.full_code(node)}" for node, sign in rest[1:])


def _terms(node: cst.BaseExpression, sign: str) -> Iterator[tuple[cst.BaseExpression, str]]:
    """The terms of a sum with their signs; what is taken away stays whole."""
    if (
        sign == "-"
        or not isinstance(node, cst.BinaryOperation)
        or not isinstance(node.operator, (cst.Add, cst.Subtract))
    ):
        yield node, sign
        return
    yield from _terms(node.left, "+")
    yield from _terms(node.right, "+" if isinstance(node.operator, cst.Add) else "-")


def _leaves(source: Source, pointer: cst.BaseExpression | None) -> Iterator[cst.BaseExpression]:
    """The names in an address, with the axes that an index adds to them, behind variables too."""
    for node in walk(pointer) if pointer is not None else ():
        if isinstance(node, cst.Name):
            above = source.parent(node)
            yield above if isinstance(above, cst.Subscript) and above.value is node else node


def _indexed(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.value if isinstance(node, cst.Subscript) else node


def _axes(source: Source, pointer: cst.BaseExpression) -> tuple[set[str], set[str]]:
    """The variables that an address uses as ``x[:, None]`` and as ``x[None, :]``."""
    rows: set[str] = set()
    columns: set[str] = set()
    stack: list[cst.BaseExpression] = [pointer]
    seen: set[int] = set()
    while stack:
        for node in walk(stack.pop()):
            if isinstance(node, cst.Subscript) and isinstance(node.value, cst.Name) and len(node.slice) == 2:
                first, second = (isinstance(one.slice, cst.Slice) for one in node.slice)
                if first != second:
                    (rows if first else columns).add(node.value.value)
            elif isinstance(node, cst.Name) and id(node) not in seen:
                seen.add(id(node))
                origin = origin_expression(source, node)
                stack += [origin] if origin is not node else []
    return rows, columns
