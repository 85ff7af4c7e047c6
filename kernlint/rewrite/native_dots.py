"""Dots fed with the types that lie in memory: the casts before them go, and integers accumulate in int32."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import libcst as cst

from kernlint.interpret.edits import NO_EDITS
from kernlint.records import dataclass
from kernlint.rewrite.accumulators import accumulate_in_int32
from kernlint.rewrite.bindings import keeps_value, reached, variable
from kernlint.rewrite.bounded_sums import bounded_sums
from kernlint.rewrite.callers import given_elsewhere
from kernlint.rewrite.comments import stale_comments, stale_docstring
from kernlint.rewrite.conversions import followed_by
from kernlint.rewrite.effects import Effects, Rewriting
from kernlint.rewrite.function import argument
from kernlint.rewrite.hoisted_factors import hoist_factors, line_edits
from kernlint.rewrite.other_elements import other_elements
from kernlint.rewrite.precisions import PRECISION_KEYWORDS
from kernlint.rewrite.rereading import parsed
from kernlint.rewrite.site import Site
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit, apply_edits
from kernlint.workload import Cast, Dot, Dtype, Loop, Operand, Span

#: What a comment says of a cast that is to go.
_SPEAKS_OF_CASTS = re.compile(
    r"\b(?:up-?)?cast(?:s|ed|ing)?\b|\bpromot|\bwiden|\bconver[ts]|\bfull[- ]precision\b|\bfloating[- ]point operands\b"
    r"|\b(?:to|in|as) (?:fp|float|tf)(?:16|32)\b",
    re.IGNORECASE,
)

_OPERANDS = ("input", "other")
#: Functions that only move a tile's elements, so that a cast before one is a cast after it.
_MOVES = frozenset({"trans", "reshape", "view", "permute", "broadcast_to", "expand_dims", "ravel"})


def feed_natively(site: Site, spans: Iterable[Span], rounded: Dtype | None = None) -> Rewriting:
    """The dots at ``spans`` without the casts of their operands; what these are multiplied by goes behind the loop first. Operands
    that the kernel computes are ``rounded`` to the type of the others, where that is said."""
    scaled = [span for span in sorted(spans) if rounded is None and any(map(_is_scaled, _found(site, span)))]
    if scaled:
        return _without_factors(site, spans, scaled)
    source = site.source
    dots = {source.at(span, cst.Call): _found(site, span, rounded) for span in sorted(spans)}
    casts = _casts(source, [dot for found in dots.values() for dot, _ in found])
    uncast = _Uncast(site, set(dots), casts)
    edits = uncast.edits()
    effects, sums = Effects(), Rewriting()
    fed: dict[Span, _Fed] = {}
    for call, found in dots.items():
        precision = _without_precision(source, call)
        edits += precision
        narrow = rounded or found[0][0].a.memory_dtype
        fed[found[0][0].span] = _Fed(narrow, precise=bool(precision))
        if rounded is not None:
            edits += uncast.rounded(call, found[0][0])
        if narrow.is_integer:
            edits += accumulate_in_int32(source, call, set(dots))
            sums |= bounded_sums(site, found[0][0].span)
        effects |= _effects(narrow)
    effects |= _of_other_elements(site, fed)
    changed = [source.function(call) for call in (*dots, *casts)]
    effects |= given_elsewhere(site, [one for one in changed if one is not None])
    return Rewriting((*edits, *dict.fromkeys(sums.edits)), effects | sums.effects)


@dataclass(frozen=True)
class _Fed:
    """What a dot is to be fed with as it lies in memory; ``precise`` where it loses a keyword that says how to multiply fp32."""

    narrow: Dtype
    precise: bool

    def serves(self, other: Dtype) -> bool:
        """Whether the dot is as right without its casts where the operands are ``other``: to floats of 32 bits they do nothing, and
        integers of more than 8 bits in the place of floats are refused by the compiler, not multiplied wrongly."""
        if self.narrow.is_integer:
            return other == self.narrow
        return other.is_integer or not self.precise or other.bits <= self.narrow.bits


def _of_other_elements(site: Site, fed: Mapping[Span, _Fed]) -> Effects:
    """Unsafe where the program takes operands of other types that need the casts."""
    for other in other_elements(site.program, site.workload.entry, site.workload.bare):
        dots = [dot for launch in other.workload.launches() for dot in launch.kernel.nodes(Dot) if dot.span in fed]
        if not all(len(types := _stored(dot)) == 1 and all(map(fed[dot.span].serves, types)) for dot in dots):
            return Effects("unsafe", notes=(f"{other.names} operands, which it takes as well, need the cast",))
    return Effects()


def _is_scaled(found: tuple[Dot, tuple[Loop, ...]]) -> bool:
    return any(operand.unscaled is not None for operand in (found[0].a, found[0].b))


def _without_factors(site: Site, spans: Iterable[Span], scaled: Iterable[Span]) -> Rewriting:
    """The program without the factors is read as one of its own, whose dots are then fed natively."""
    source, entry = site.source, site.workload.entry
    edits = [e for span in scaled for e in hoist_factors(source, source.at(span, cst.Call), _found(site, span)[0][0])]
    text = apply_edits(site.module.text, edits)
    program = site.program.variant(parsed(text, site.module), site.program.question)
    workload = program.workload(entry, NO_EDITS, site.workload.bare)
    if workload is None:
        raise CannotRewrite("the program without the factors cannot be followed")
    plain = Site(program, workload)
    before, now = _dots_of(source), _dots_of(plain.source)
    made = feed_natively(plain, [plain.module.span(now[before.index(source.at(span, cst.Call))]) for span in spans])
    effects = made.effects | Effects(numerics="reordered")
    if source.lost_comments(edits) or plain.source.lost_comments(made.edits):
        effects |= Effects("unsafe", notes=("a comment that is not about the factors would be lost",))
    return Rewriting(tuple(line_edits(site.module.text, apply_edits(text, made.edits))), effects)


def _dots_of(source: Source) -> list[cst.Call]:
    return [call for call in source.module.of(cst.Call) if source.origin(call.func) == "triton.language.dot"]


def _found(site: Site, span: Span, rounded: Dtype | None = None) -> list[tuple[Dot, tuple[Loop, ...]]]:
    """The dot at ``span`` in each launch, with the loops around it; some of its operands may be computed where they are ``rounded``."""
    found = [
        (dot, loops)
        for launch in site.workload.launches()
        for dot, loops in launch.kernel.walk(Dot)
        if dot.span == span
    ]
    if not found:
        raise CannotRewrite(f"the dot at line {span.line} was not followed")
    others = (w for w in site.program.workloads() if w.entry != site.workload.entry)
    elsewhere = [dot for w in others for launch in w.launches() for dot in launch.kernel.nodes(Dot) if dot.span == span]
    fed = {stored for dot, _ in found for stored in _stored(dot)}
    if len(fed) > 1 or (rounded and fed != {rounded}) or any(len(_stored(dot)) > 1 for dot in elsewhere):
        raise CannotRewrite(f"the dot at line {span.line} is launched with operands of different types")
    loaded = {(_plain(dot.a).direct, _plain(dot.b).direct) for dot in (*(dot for dot, _ in found), *elsewhere)}
    if len(loaded) > 1 or (rounded is None and loaded != {(True, True)}):
        raise CannotRewrite(f"an operand of the dot at line {span.line} is computed")
    return found


def _plain(operand: Operand) -> Operand:
    """``operand`` without the factors that can wait."""
    return operand.unscaled or operand


def _stored(dot: Dot) -> set[Dtype]:
    """The types in memory of the operands of ``dot`` that come from there."""
    return {operand.memory_dtype for operand in map(_plain, (dot.a, dot.b)) if operand.direct}


def _effects(narrow: Dtype) -> Effects:
    if narrow.is_fp8:
        return Effects("unsafe", "changed", notes=("the fp8 tensor cores add up with fewer bits than fp32",))
    return Effects() if narrow.is_integer else Effects(numerics="reordered")


def _casts(source: Source, dots: Iterable[Dot]) -> dict[cst.Call, Cast]:
    """The calls that widen an operand of ``dots``."""
    operands = (operand for dot in dots for operand in (dot.a, dot.b) if operand.direct)
    found = {cast.span: cast for operand in operands for cast in operand.casts}
    return {source.at(span, cst.Call): cast for span, cast in sorted(found.items())}


def _without_precision(source: Source, call: cst.Call) -> list[TextEdit]:
    """What only an fp32 dot needs goes."""
    given = [arg for arg in call.args if arg.keyword is not None and arg.keyword.value in PRECISION_KEYWORDS]
    return source.drop_arguments(call, given)


class _Uncast:
    """Takes ``casts`` out, and puts them back where something other than ``dots`` uses the value."""

    def __init__(self, site: Site, dots: set[cst.Call], casts: dict[cst.Call, Cast]) -> None:
        self.source = site.source
        self.dots = dots
        self.casts = casts
        self.made: list[TextEdit] = []
        self.deleted: list[cst.CSTNode] = []
        self.renamed: dict[cst.CSTNode, str] = {}

    def edits(self) -> list[TextEdit]:
        source = self.source
        for call in sorted(self.casts, key=source.start):
            self._remove(call)
        gone = source.delete_statements(self.deleted)
        made = [*self.made, *(source.replace(name, new) for name, new in self.renamed.items())]
        made = [edit for edit in made if not any(one.start <= edit.start and edit.end <= one.end for one in gone)]
        made += stale_comments(source, self.casts, _SPEAKS_OF_CASTS)
        described: set[int] = set()
        for call in self.casts:
            function = source.function(call)
            if function is not None and id(function) not in described:
                described.add(id(function))
                made += stale_docstring(source, function, _SPEAKS_OF_CASTS)
        return [*gone, *made]

    def rounded(self, call: cst.Call, dot: Dot) -> list[TextEdit]:
        """What casts the computed operand of ``call``, a ``dot``, to the type of the other one, whichever that has."""
        operands = [argument(call, name, position) for position, name in enumerate(_OPERANDS)]
        if None in operands:
            raise CannotRewrite(f"the operands of the dot at line {dot.span.line} are unpacked from a list")
        edits = []
        for own, node, other in zip((dot.a, dot.b), operands, reversed(operands)):
            if node is not None and other is not None and not own.direct:
                edits += followed_by(self.source, node, f".to({self._type_of(other)})")
        return edits

    def _type_of(self, node: cst.BaseExpression) -> str:
        """The element type of ``node``, the operand of a dot, once its casts are gone."""
        source = self.source
        while isinstance(node, cst.Call) and (node in self.casts or _moves(source, node)):
            node = _inner(source, node)
        if not isinstance(node, cst.Name):
            raise CannotRewrite(f"the operand at line {source.module.span(node).line} has no name")
        return f"{self.renamed.get(node, node.value)}.dtype"

    def _remove(self, call: cst.Call) -> None:
        source = self.source
        inner = _inner(source, call)
        statement = source.statement(call)
        alias = self._alias(call, inner)
        if alias is not None:
            reads, target = alias
            feeding = [read for read in reads if all(self._feeds_dot(use) for use in self._uses(read, ()))]
            self.renamed.update(dict.fromkeys(feeding, target))
            if len(feeding) == len(reads):
                self.deleted.append(statement)
            return
        self.made += source.keep_only(call, inner)
        if (
            isinstance(statement, cst.Assign)
            and _is_name(statement.targets[0].target, inner)
            and call is statement.value
        ):
            self.deleted.append(statement)
        wide = source.spelled(f"triton.language.{self.casts[call].target.name}")
        for use in self._uses(call, ()):
            if self._feeds_dot(use):
                continue
            end = source.whole(use)[1]
            self.made.append(TextEdit(end, end, f".to({wide})"))

    def _alias(self, call: cst.Call, inner: cst.BaseExpression) -> tuple[list[cst.Name], str] | None:
        """(reads of y, x) where the statement is ``y = cast(x)`` and x keeps its value for as long as y is read."""
        source = self.source
        statement, function = source.statement(call), source.function(call)
        simple = isinstance(statement, cst.Assign) and len(statement.targets) == 1 and statement.value is call
        if not simple or not isinstance(inner, cst.Name) or function is None:
            return None
        assert isinstance(statement, cst.Assign)
        target = statement.targets[0].target
        if not isinstance(target, cst.Name) or target.value == inner.value:
            return None
        reads = reached(source, statement, variable(source, target.value, function))
        kept = keeps_value(source, inner.value, statement, reads)
        return (reads, self.renamed.get(inner, inner.value)) if kept else None

    def _feeds_dot(self, use: cst.BaseExpression) -> bool:
        arg = self.source.parent(use)
        call = self.source.parent(arg) if isinstance(arg, cst.Arg) else None
        if not isinstance(call, cst.Call) or call not in self.dots or not isinstance(arg, cst.Arg):
            return False
        if arg.keyword is not None:
            return arg.keyword.value in _OPERANDS
        return any(arg is one for one in call.args[:2])

    def _uses(self, node: cst.BaseExpression, path: tuple[cst.CSTNode, ...]) -> list[cst.BaseExpression]:
        """Where the value of ``node`` ends up, through names, moves of its elements, casts that go and helpers."""
        source = self.source
        if len(path) > 32 or any(node is one for one in path):
            raise CannotRewrite(f"the value cast at line {source.module.span(node).line} was not followed to its uses")
        path = (*path, node)
        above = source.parent(node)
        if isinstance(above, cst.Arg):
            call = source.parent(above)
            passes = isinstance(call, cst.Call) and call not in self.dots and above is call.args[0]
            if isinstance(call, cst.Call) and passes and (call in self.casts or _moves(source, call)):
                return self._uses(call, path)
        elif isinstance(above, cst.Attribute) and above.value is node:
            method = source.parent(above)
            if above.attr.value == "T":
                return self._uses(above, path)
            if above.attr.value == "shape":
                return []
            moves = method in self.casts or above.attr.value in _MOVES
            if isinstance(method, cst.Call) and method.func is above and moves:
                return self._uses(method, path)
        elif isinstance(above, (cst.Assign, cst.AnnAssign)) and above.value is node:
            target = above.targets[0].target if isinstance(above, cst.Assign) else above.target
            if isinstance(above, cst.AnnAssign) or len(above.targets) == 1:
                return self._reads(above, target, path)
        elif isinstance(above, cst.Element):
            pair = self._unpacked(above)
            if pair is not None:
                return self._reads(*pair, path)
        elif isinstance(above, cst.Return):
            function = source.function(above)
            calls = source.calls(function.name.value) if function is not None else []
            if calls:
                return [use for call in calls for use in self._uses(call, path)]
        return [node]

    def _reads(
        self, statement: cst.CSTNode, target: cst.BaseExpression, path: tuple[cst.CSTNode, ...]
    ) -> list[cst.BaseExpression]:
        function = self.source.function(statement)
        if not isinstance(target, cst.Name) or function is None:
            raise CannotRewrite(
                f"the value cast at line {self.source.module.span(path[0]).line} is not kept in a variable"
            )
        reads = reached(self.source, statement, variable(self.source, target.value, function))
        return [use for read in reads for use in self._uses(read, path)]

    def _unpacked(self, element: cst.Element) -> tuple[cst.CSTNode, cst.BaseExpression] | None:
        """The statement and the target of ``element`` in ``a, b = x, y``."""
        values = self.source.parent(element)
        statement = self.source.parent(values) if isinstance(values, cst.Tuple) else None
        if not isinstance(statement, cst.Assign) or not isinstance(values, cst.Tuple) or len(statement.targets) != 1:
            return None
        targets = statement.targets[0].target
        if not isinstance(targets, cst.Tuple) or len(targets.elements) != len(values.elements):
            return None
        index = next(i for i, one in enumerate(values.elements) if one is element)
        return statement, targets.elements[index].value


def _inner(source: Source, call: cst.Call) -> cst.BaseExpression:
    """What ``call`` casts."""
    origin = source.origin(call.func) or ""
    if origin.startswith("triton.language") and call.args and not call.args[0].star:
        return call.args[0].value
    if isinstance(call.func, cst.Attribute) and call.func.attr.value == "to":
        return call.func.value
    raise CannotRewrite(f"the cast at line {source.module.span(call).line} is not of a form that can be taken out")


def _moves(source: Source, call: cst.Call) -> bool:
    origin = source.origin(call.func) or ""
    return origin.startswith("triton.language.") and origin.rpartition(".")[2] in _MOVES


def _is_name(target: cst.BaseExpression, inner: cst.BaseExpression) -> bool:
    return isinstance(target, cst.Name) and isinstance(inner, cst.Name) and target.value == inner.value
