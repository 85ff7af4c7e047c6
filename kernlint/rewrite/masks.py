"""Masks: written where an access has none, and narrowed where one lets wrong lanes through."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kernlint.interpret.triton.values import Block
from kernlint.rewrite.bindings import keeps_value, suite
from kernlint.rewrite.callers import used_elsewhere
from kernlint.rewrite.conversions import origin_expression
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.function import MASK_POSITION, argument
from kernlint.rewrite.masked_values import with_fitting_other
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.correctness.tails import Masked
from kernlint.rules.proofs.iteration_domain import last_element, sites
from kernlint.rules.proofs.overshoots import overshoots
from kernlint.syntax.names import variables
from kernlint.syntax.walk import parameters, walk
from kernlint.workload import Launch, Load, Span, Store, Tensor
from kernlint.workload.access import Access
from kernlint.workload.expr import Expr, Lane, lift


@codemod(Masked)
def masked(site: Site, transform: Masked) -> Rewriting:
    """The access gets the mask of another one at the same offsets, or ``index < size`` where the launcher tells the size that
    it counts tiles for."""
    launch = site.launch(transform.launch)
    access = _access(launch, transform.place)
    source = site.source
    call = source.at(transform.place, cst.Call)
    twin = _of_a_twin(source, launch, access, call)
    mask = twin or _of_the_launcher(site, launch, access, call)
    function = source.function(call)
    assert function is not None  # else there was no mask
    effects = used_elsewhere(site, function) | (Effects() if twin else _of_all_launches(site, launch, call, mask))
    return Rewriting(tuple(_with_mask(site, launch, access, mask)), effects)


def _access(launch: Launch, place: Span) -> Load | Store:
    access = next((s.access for s in sites(launch.kernel) if s.access.span == place), None)
    if not isinstance(access, (Load, Store)):
        raise CannotRewrite("the access was not followed")
    return access


def _of_all_launches(site: Site, launch: Launch, call: cst.Call, mask: str) -> Effects:
    """Unsafe where another launch of the kernel may pass something else than the size that ``mask`` holds the index against."""
    for other in site.workload.launches():
        if other.kernel.name == launch.kernel.name and other.span != launch.span:
            try:
                same = _of_the_launcher(site, other, _access(other, site.module.span(call)), call) == mask
            except CannotRewrite:
                same = False
            if not same:
                note = f"the launch at line {other.span.line} may pass something else than the size"
                return Effects("unsafe", notes=(note,))
    return Effects()


def _with_mask(site: Site, launch: Launch, access: Load | Store, mask: str) -> list[TextEdit]:
    source = site.source
    call = source.at(access.span, cst.Call)
    if argument(call, "mask", MASK_POSITION[type(access)]) is not None or argument(call, "other", None) is not None:
        raise CannotRewrite("the access is given a mask or an `other` that masks nothing")
    if isinstance(access, Store):
        return source.add_keyword(call, "mask", mask)

    def with_other(other: str) -> list[TextEdit]:
        return source.add_keyword(call, "mask", f"{mask}, other={other}" if other else mask)

    return with_fitting_other(site, launch.kernel.name, access.span, with_other)


def _of_a_twin(source: Source, launch: Launch, access: Access, call: cst.Call) -> str:
    """The text of the mask of another access at the same offsets, where it holds the same value at ``call``; else empty."""
    for one in sites(launch.kernel):
        twin = one.access
        if twin.offset is None or not twin.mask or (twin.offset, twin.shape) != (access.offset, access.shape):
            continue
        other = source.module.at(twin.span, cst.Call)
        mask = argument(other, "mask", MASK_POSITION[type(twin)]) if other is not None else None
        if other is not None and mask is not None and _means_the_same(source, mask, other, call):
            return source.full_code(mask)
    return ""


def _means_the_same(source: Source, mask: cst.BaseExpression, there: cst.Call, here: cst.Call) -> bool:
    """Whether ``mask``, written at ``there``, has the same value at ``here``: on every way to it, with no variable changed
    between the two."""
    if source.function(there) is not source.function(here):
        return False
    first, last = sorted((there, here), key=source.start)
    blocks = {id(block) for block in source.above(last)}
    if id(suite(source, first)) not in blocks:
        return False
    reads = list(variables(last))
    return all(keeps_value(source, name.value, first, reads) for name in variables(mask))


def _of_the_launcher(site: Site, launch: Launch, access: Access, call: cst.Call) -> str:
    """``index < size`` for the index that the grid or a loop counts tiles of."""
    source, function = site.source, site.source.function(call)
    if function is None or function.name.value != launch.kernel.name:
        raise CannotRewrite("the access stands in a helper, which does not know the size")
    index, count = _counted(site, launch, access)
    given = {p.name.value for p in parameters(function)}
    named = [n for n, value in launch.arguments.items() if n in given and _equals(value, count)]
    if len(named) != 1:
        raise CannotRewrite(f"{'several parameters hold' if named else 'no parameter holds'} the size {count}")
    values = site.program.trace(site.workload.entry).kernels.get(launch.span, {})
    pointer = argument(call, "pointer", 0)
    for node in _parts(source, pointer):
        block = values.get(node)
        if not isinstance(block, Block) or block.base or block.expr != index or len(block.shape) != len(access.shape):
            continue
        if _unchanged(source, node, call, function):
            return f"{source.full_code(node)} < {named[0]}"
    raise CannotRewrite("the index that counts the tiles has no text of its own in the address")


def _counted(site: Site, launch: Launch, access: Access) -> tuple[Expr, Expr]:
    """(index, size) of the tiles that the access is one of."""
    for shot in overshoots(site.workload, type(access)):
        if shot.site.access.span == access.span and shot.launch.kernel.name == launch.kernel.name:
            dims = [d for d, extent in enumerate(access.shape) if extent == shot.tile]
            if len(dims) == 1:
                return Expr.atom(shot.index) * shot.tile + Expr.atom(Lane(dims[0])), shot.count
    tensor = launch.tensor(access.base)
    last = last_element(tensor) if isinstance(tensor, Tensor) else None
    if last is None or len(access.shape) != 1 or access.offset is None:
        raise CannotRewrite("the size that the tiles are counted for is not known")
    lane, tile = Lane(0), access.shape[0]
    steps = {atom: access.offset.coefficient(atom) for atom in access.offset.atoms()}
    if steps.pop(lane, None) != 1 or any(step != tile for step in steps.values()) or () in access.offset.terms:
        raise CannotRewrite("the offset is not the index of an element")
    return access.offset, lift(last) + 1


def _equals(value: object, count: Expr) -> bool:
    return isinstance(value, (int, Expr)) and not isinstance(value, bool) and lift(value) == count


def _parts(source: Source, pointer: cst.BaseExpression | None) -> Iterator[cst.BaseExpression]:
    """The expressions that an address is made of, outermost first, those behind variables too."""
    stack = [pointer] if pointer is not None else []
    seen: set[int] = set()
    while stack:
        node = stack.pop(0)
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        origin = origin_expression(source, node)
        stack += [origin] if origin is not node else []
        if isinstance(node, cst.BinaryOperation):
            stack += [node.left, node.right]


def _unchanged(source: Source, node: cst.BaseExpression, call: cst.Call, function: cst.FunctionDef) -> bool:
    """Whether ``node`` means at ``call`` what it means where it stands."""
    pure = ("triton.language.program_id", "triton.language.arange")
    if any(isinstance(inner, cst.Call) and source.origin(inner.func) not in pure for inner in walk(node)):
        return False
    if source.function(node) is not function:
        return False
    statement, reads = source.statement(node), list(variables(call))
    same = statement is source.statement(call)
    return same or all(keeps_value(source, name.value, statement, reads) for name in variables(node))
