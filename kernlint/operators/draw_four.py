"""Draw four: a run of Philox gives four random words, of which `tl.rand` and `tl.randint` keep one for each lane, `tl.randn` two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

import libcst as cst

from kernlint.headroom import kernels
from kernlint.operators.operator import Operator, Place, WhyNot
from kernlint.records import dataclass, replace
from kernlint.rewrite.effects import Effects
from kernlint.rewrite.function import FunctionSource, callee, enclosing_function, module_alias
from kernlint.rewrite.names import fresh_name, names_in_use
from kernlint.rewrite.reflection import reflects
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.finding import Context, Variant
from kernlint.syntax.walk import joined_by, walk
from kernlint.workload import Compute, Launch, Node, Span, Workload
from kernlint.workload.steps import map_configurations
from kernlint.workload.values import Value, Values

#: The functions that make one number of a run, and those that make four (Triton, ``language/random.py``).
FOUR = {"rand": "rand4x", "randint": "randint4x", "randn": "randn4x"}


@dataclass(frozen=True)
class Draw(Place):
    """The call of ``launch``'s kernel that draws ``value``."""

    launch: Launch
    value: Value


class _DrawFour(Operator[Draw, Draw]):
    """Element ``e`` gets word ``e % 4`` of counter ``e // 4``, whatever tile it lies in: kernels that draw the same numbers again, as the
    backward pass of a dropout does, go on agreeing as long as all of them are changed."""

    name: ClassVar[str] = "draw four"
    causes: ClassVar[frozenset[str]] = frozenset({kernels.WORK})

    def sites(self, context: Context) -> Iterator[Draw]:
        seen = set()
        for launch in context.distinct_launches():
            for value in launch.kernel.values or ():
                if value.op in FOUR and value.span not in seen:
                    seen.add(value.span)
                    yield Draw(f"`tl.{value.op}`", value.span, launch.function, launch.kernel.name, launch, value)

    def check(self, context: Context, site: Draw) -> Draw | WhyNot:
        reason = next(_obstacles(_all_launches(context), site.span), None)
        return site if reason is None else WhyNot(reason)

    def apply(self, context: Context, proofs: Sequence[Draw]) -> Variant:
        launches, draws = _all_launches(context), {proof.span for proof in proofs}
        # A backward pass is a call of its own.
        drawn = {value.span for launch in launches for value in launch.kernel.values or () if value.op in FOUR}
        draws |= {span for span in drawn - draws if next(_obstacles(launches, span), None) is None}
        return context.variant.then(transform=DrawnByFour(frozenset(draws)))


DRAW_FOUR = _DrawFour()


def _all_launches(context: Context) -> list[Launch]:
    """Those of all calls of the program."""
    workloads = (context.workload, *context.program.workloads())
    return [launch for workload in workloads for launch in workload.launches()]


def _obstacles(launches: Iterable[Launch], span: Span) -> Iterator[str]:
    """Why the draw at ``span`` is not made by a quarter of the runs in some of ``launches``."""
    for launch in launches:
        for one in launch.configurations:
            values = one.kernel.values
            for value in values or ():
                if value.span == span and value.op in FOUR and values is not None:
                    if not launch.all_followed or launch.open_constexprs:
                        yield "its tile is not known in all launches"
                    yield from _obstacle(values, value)


def _obstacle(values: Values, value: Value) -> Iterator[str]:
    seed = values.argument(value, "seed")
    if len(value.shape) != 1 or value.shape[0] < 4:
        yield "it draws no row of numbers"
    if seed is None or seed.shape:
        yield "its lanes have seeds of their own"
    if not _steps_by_one(values, values.argument(value, "offset")):
        yield "its offsets are not known to be neighbours that begin at a multiple of four"


def _steps_by_one(values: Values, offset: Value | None) -> bool:
    """Whether ``offset`` is a row of neighbours, ``base + tl.arange(0, n)``, with a base that four divides at all sizes."""
    if offset is None:
        return False
    if offset.op == "arange":
        return values.setting(offset, "start") == 0
    if offset.op != "+":
        return offset.op == "cast" and _steps_by_one(values, values.operands(offset)[0])
    one, other = values.operands(offset)
    return (_steps_by_one(values, one) and _by_four(values, other)) or (
        _steps_by_one(values, other) and _by_four(values, one)
    )


def _by_four(values: Values, value: Value) -> bool:
    """Whether ``value`` is one number for the whole tile, which four divides at all sizes."""
    if value.shape:
        return False
    operands = values.operands(value)
    if value.op == "constant":
        return isinstance(value.detail, int) and value.detail % 4 == 0
    if value.op == "*":
        return any(_by_four(values, one) for one in operands)
    if value.op in ("+", "-"):
        return all(_by_four(values, one) for one in operands)
    if value.op == "index":
        start, _, step = operands
        return _by_four(values, start) and _by_four(values, step)
    return value.op == "cast" and _by_four(values, operands[0])


@dataclass(frozen=True)
class DrawnByFour:
    """The workload with the numbers at ``draws`` made by a quarter of the runs."""

    draws: frozenset[Span]

    def __call__(self, workload: Workload) -> Workload:
        for span in {launch.span for launch in workload.launches()}:
            workload = map_configurations(workload, span, lambda launch: launch.rewritten(self._node))
        return workload

    def _node(self, node: Node) -> Node:
        if isinstance(node, Compute) and node.span in self.draws and node.op in FOUR:
            # Four normal numbers of a run take a logarithm, a root, a sine and a cosine twice.
            return replace(node, elements=node.elements // (2 if node.op == "randn" else 4))
        return node


# -- the same as text -------------------------------------------------------------------------------------------------


@codemod(DrawnByFour, Effects("unsafe", "changed", notes=("other random numbers of the same distribution are drawn",)))
def draw_four(site: Site, transform: DrawnByFour) -> list[TextEdit]:
    """Every draw of the module: kernels that draw the same numbers again have to change together."""
    source = site.source
    if any(span.file != site.module.path for span in transform.draws):
        raise CannotRewrite("the numbers are drawn in another module")
    calls = [call for call in site.module.of(cst.Call) if source.origin(call.func) in _ORIGINS]
    proven = {source.at(span, cst.Call) for span in transform.draws}
    if not proven <= set(calls):
        raise CannotRewrite("a draw is not written as a call of triton.language")
    known = {call.func for call in calls} | {alias.name for alias in site.module.of(cst.ImportAlias)}
    named = (*site.module.of(cst.Attribute), *site.module.of(cst.Name))
    if any(source.origin(node) in _RUNS and node not in known for node in named) or site.module.once(reflects):
        raise CannotRewrite(
            "the module may ask for runs of Philox by itself, or under another name, which may be the same"
        )
    draws = [_Written(source, call) for call in calls]
    # Another function may use the same names again.
    taken = {draw.function.node: names_in_use(site.module) for draw in draws}
    edits = [edit for draw in draws for edit in draw.edits(taken[draw.function.node])]
    if not set(calls) <= proven:
        raise CannotRewrite("another draw of the module is not known to be of rows that can be drawn so")
    return edits


_ORIGINS = {f"triton.language.{name}" for name in FOUR}
#: Functions that make runs of Philox.
_RUNS = {f"triton.language.{name}" for name in (*FOUR, *FOUR.values(), "philox", "philox_impl")}


class _Written:
    """One draw in the source: its ``call`` and the function around it."""

    def __init__(self, source: Source, call: cst.Call) -> None:
        self.source, self.call = source, call
        self.function = FunctionSource(source, enclosing_function(source, call), {})

    def edits(self, taken: set[str]) -> list[TextEdit]:
        """The four tiles of words in front of the statement, and the row that they make in the place of the call."""
        line = self.function.line(self.call)
        given, rest = self.call.args[:2], self.call.args[2:]
        plain = len(given) == 2 and all(arg.keyword is None and not arg.star for arg in given)
        if not plain or not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            raise CannotRewrite("the draw is not a call with a seed and offsets in a statement of its own")
        seed, offsets = given
        base, length = self._row(offsets.value, line)
        tl = module_alias(self.source.module, "triton.language")
        quarter = str(int(length) // 4) if length.isdigit() else f"{length} // 4"
        counters, *words = (fresh_name(name, taken) for name in ("counters", "r0", "r1", "r2", "r3"))
        first, second, third, fourth = words
        drawn = ", ".join([self.source.code(seed.value), counters, *(self.source.code(arg) for arg in rest)])
        name = FOUR[callee(self.call)]
        row = f"{tl}.join({tl}.join({first}, {third}), {tl}.join({second}, {fourth}))"
        return [
            self.source.insert_before(
                line,
                f"{counters} = {base}{tl}.arange(0, {quarter})",
                f"{', '.join(words)} = {tl}.{name}({drawn})",
            ),
            self.source.replace(self.call, f"{tl}.reshape({row}, ({length},))"),
        ]

    def _row(self, offsets: cst.BaseExpression, line: cst.CSTNode) -> tuple[str, str]:
        """(a quarter of the base with a plus behind it, the length) of offsets that are written ``base + tl.arange(0, length)``."""
        written = self.function.resolved(offsets)
        if written is not offsets:
            self._defined_before(written, line)
        terms = list(joined_by(written, cst.Add))
        rows = [term for term in terms if isinstance(term, cst.Call) and callee(term) == "arange"]
        if len(rows) != 1 or len(rows[0].args) != 2 or self.source.code(rows[0].args[0]) != "0":
            raise CannotRewrite("the offsets are not written as a base and `tl.arange(0, length)`")
        length = self.source.code(rows[0].args[1])
        if not length.isidentifier() and not (length.isdigit() and int(length) % 4 == 0):
            raise CannotRewrite("the length of the row is not a name or a number that four divides")
        return "".join(f"{self._quarter(term, length)} + " for term in terms if term is not rows[0]), length

    def _defined_before(self, written: cst.BaseExpression, line: cst.CSTNode) -> None:
        """Raise unless what ``written`` computes still is what its names stand for at ``line``."""
        definition = self.function.line(written)
        block = self.function.parent(definition)
        if block not in (self.function.node, *self.function.around(line)):
            raise CannotRewrite("the offsets are computed in another branch")
        for node in walk(written):
            if isinstance(node, cst.Name) and self.function.is_variable(node):
                bound = self.function.bindings(node.value)
                if len(bound) > 1 or any(self.source.start(one) > self.source.start(definition) for one in bound):
                    raise CannotRewrite(f"`{node.value}` changes between the offsets and the draw")

    def _quarter(self, term: cst.BaseExpression, length: str) -> str:
        """A quarter of ``term``, which four divides as it is written: a product with the length, a tile's length of at least four."""
        factors = list(joined_by(self.function.resolved(term), cst.Multiply))
        if not any(self.source.code(one) == length or _is_fourfold(one) for one in factors):
            raise CannotRewrite(f"`{self.source.code(term)}` is not written as a multiple of four")
        return f"{self.source.full_code(term)} // 4"


def _is_fourfold(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.Integer) and int(node.value, 0) % 4 == 0
