"""What masked lanes hold: the ``other`` of a load that leaves every reduction over it as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import libcst as cst

from kernlint.rewrite.bindings import keeps_value
from kernlint.rewrite.conversions import assigned_value, is_cast_of
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.function import argument
from kernlint.rewrite.rereading import reread
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.correctness.masked_lanes import FittingOther, is_wrong, reductions
from kernlint.syntax.names import variables
from kernlint.syntax.walk import walk
from kernlint.workload import Dot, Load, Loop, Reduce, Scan, Span, Workload

#: The value that changes nothing, by reduction.
_IDENTITIES = {
    "sum": "0.0",
    "max": 'float("-inf")',
    "argmax": 'float("-inf")',
    "min": 'float("inf")',
    "argmin": 'float("inf")',
    "prod": "1.0",
}

#: The position of ``other`` among the arguments of ``tl.load``.
_OTHER = 2


@codemod(FittingOther)
def fitting_other(site: Site, transform: FittingOther) -> Rewriting:
    """The load gets the identity of a reduction behind it; the program is read again to see that all agree. What masked lanes held
    that the source told may be used elsewhere too."""
    told = argument(site.source.at(transform.place, cst.Call), "other", _OTHER) is not None
    effects = Effects("unsafe", "changed", notes=("what masked lanes hold changes wherever else it is used",))
    return Rewriting(tuple(_fitting(site, transform)), effects if told else Effects(numerics="changed"))


def _fitting(site: Site, transform: FittingOther) -> list[TextEdit]:
    """Where a mean is taken away from what was loaded, the difference is masked again."""
    source = site.source
    call = source.at(transform.place, cst.Call)

    def with_other(other: str) -> list[TextEdit]:
        return source.set_argument(call, "other", other, _OTHER) if other else []

    try:
        return with_fitting_other(site, transform.kernel, transform.place, with_other)
    except CannotRewrite:
        masked = _masked_differences(source, call)
        if not masked:
            raise
    zero = "0.0" if argument(call, "other", _OTHER) is None else ""
    edits = [*masked, *with_other(zero)]
    later = reread(site, edits)
    if _disturbed(later.workload, transform.kernel, transform.place) or _new_faults(site.workload, later.workload):
        raise CannotRewrite("no one value of the masked lanes suits all that is computed from them")
    return edits


def _masked_differences(source: Source, load: cst.Call) -> list[TextEdit]:
    """Edits that make ``d = v - mean`` a ``d = tl.where(mask, v - mean, 0.0)``, for each variable that is given a difference of
    what ``load`` reads under the mask."""
    mask, function = argument(load, "mask", 1), source.function(load)
    if mask is None or function is None:
        return []
    where, condition = source.spelled("triton.language.where"), source.full_code(mask)
    edits = []
    for statement in walk(function):
        value = assigned_value(statement)
        if not isinstance(value, cst.BinaryOperation) or not isinstance(value.operator, cst.Subtract):
            continue
        reads = list(variables(value))
        if not is_cast_of(source, value.left, load):
            continue
        if all(keeps_value(source, name.value, source.statement(load), reads) for name in variables(mask)):
            start, end = source.whole(value)
            edits += [TextEdit(start, start, f"{where}({condition}, "), TextEdit(end, end, ", 0.0)")]
    return edits


def with_fitting_other(
    site: Site, kernel: str, place: Span, edits_for: Callable[[str], list[TextEdit]]
) -> list[TextEdit]:
    """``edits_for(other)`` of the first ``other`` for the load at ``place`` of ``kernel`` that suits all its consumers. Empty is
    tried where no reduction reads the load. Raises :class:`CannotRewrite` where none does."""
    for other in _candidates(site.workload, kernel, place):
        edits = edits_for(other)
        if not edits or not _may_be_carried(site, kernel, place, other):
            continue
        later = reread(site, edits)
        if not _disturbed(later.workload, kernel, place) and not _new_faults(site.workload, later.workload):
            return edits
    raise CannotRewrite("no one value of the masked lanes suits all that is computed from them")


def _candidates(workload: Workload, kernel: str, place: Span) -> list[str]:
    loads = list(_loads(workload, kernel, place))
    if not loads:
        raise CannotRewrite("the load was not followed")
    identities: dict[str, None] = {}
    for load, body in loads:
        reduced = [r for r in body if isinstance(r, Reduce) and load.id in r.depends]
        if not reduced:
            identities[""] = None
        for reduce in reduced:
            if reduce.op not in _IDENTITIES:
                raise CannotRewrite(f"the identity of `{reduce.op}` is not known")
            identities[_IDENTITIES[reduce.op]] = None
    if any(isinstance(node, Scan) for _, body in loads for node in body):
        raise CannotRewrite("the kernel scans; what its masked lanes may hold is not known")
    if any(load.dtype.is_integer for load, _ in loads):
        # An integer has no infinity.
        return [text.removesuffix(".0") for text in identities if text in ("", "0.0", "1.0")]
    return list(identities)


def _may_be_carried(site: Site, kernel: str, place: Span, other: str) -> bool:
    """Whether lanes that are masked in one iteration only keep what other iterations left in them: where a loop carries the
    loaded values to a reduction behind it, it must combine them as the reduction does."""
    source = site.source
    loop = source.around(source.at(place, cst.Call), (cst.For, cst.While))
    if loop is None or not any(_carries(loops, reduces) for loops, reduces in _nesting(site.workload, kernel, place)):
        return True
    called = {(source.origin(node.func) or "").rpartition(".")[2] for node in walk(loop) if isinstance(node, cst.Call)}
    combined = called & {"maximum", "minimum", "where"}
    return combined == {'float("-inf")': {"maximum"}, 'float("inf")': {"minimum"}, "0.0": set()}.get(other, {"?"})


def _nesting(workload: Workload, kernel: str, place: Span) -> Iterator[tuple[tuple[Loop, ...], list[tuple[Loop, ...]]]]:
    """The loops around the load, and those around each reduction that depends on it."""
    for launch in workload.launches():
        nodes = list(launch.kernel.walk((Load, Reduce))) if launch.kernel.name == kernel else []
        for node, loops in nodes:
            if isinstance(node, Load) and _starts(node.span) == _starts(place):
                yield loops, [around for r, around in nodes if isinstance(r, Reduce) and node.id in r.depends]


def _carries(loops: tuple[Loop, ...], reduces: list[tuple[Loop, ...]]) -> bool:
    return any(len(around) < len(loops) for around in reduces)


def _loads(workload: Workload, kernel: str, place: Span) -> Iterator[tuple[Load, list[object]]]:
    """The load at ``place`` in each launch of ``kernel``, with all nodes of that launch's kernel."""
    for launch in workload.launches():
        if launch.kernel.name != kernel:
            continue
        body: list[object] = [node for node, _ in launch.kernel.walk()]
        for node in body:
            if isinstance(node, Load) and _starts(node.span) == _starts(place):
                yield node, body


def _starts(span: Span) -> tuple[str, int, int]:
    return span.file, span.line, span.column


def _disturbed(workload: Workload, kernel: str, place: Span) -> bool:
    """Whether what the load leaves in masked lanes changes a reduction, or is infinite in a product of matrices."""
    for padded in reductions(workload):
        load = padded.launch.kernel.load(padded.pad.load) if padded.launch.kernel.name == kernel else None
        if load is not None and _starts(load.span) == _starts(place) and is_wrong(padded):
            return True
    for load, body in _loads(workload, kernel, place):
        dots = [node for node in body if isinstance(node, Dot)]
        if load.other not in (None, 0.0) and any(load.id in d.a.loads | d.b.loads for d in dots):
            return True
    return False


def _new_faults(before: Workload, after: Workload) -> bool:
    counts = [sum(len(launch.kernel.faults) for launch in w.launches()) for w in (before, after)]
    return counts[1] > counts[0]
