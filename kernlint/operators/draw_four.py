"""Draw four: a run of Philox gives four random words, of which `tl.rand` and `tl.randint` keep one for each lane, `tl.randn` two."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

from kernlint.headroom import kernels
from kernlint.operators.operator import Operator, Place, WhyNot
from kernlint.records import dataclass, replace
from kernlint.rules.finding import Context, Variant
from kernlint.workload import Compute, Kernel, Launch, Node, Span, Workload
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
            for value in launch.kernel.found(_draws):
                if value.span not in seen:
                    seen.add(value.span)
                    yield Draw(f"`tl.{value.op}`", value.span, launch.function, launch.kernel.name, launch, value)

    def check(self, context: Context, site: Draw) -> Draw | WhyNot:
        reason = next(_obstacles(_all_launches(context), site.span), None)
        return site if reason is None else WhyNot(reason)

    def apply(self, context: Context, proofs: Sequence[Draw]) -> Variant:
        launches, draws = _all_launches(context), {proof.span for proof in proofs}
        # A backward pass is a call of its own.
        drawn = {value.span for launch in launches for value in launch.kernel.found(_draws)}
        draws |= {span for span in drawn - draws if next(_obstacles(launches, span), None) is None}
        return context.variant.then(transform=DrawnByFour(frozenset(draws)))


DRAW_FOUR = _DrawFour()


def _draws(kernel: Kernel) -> Iterator[Value]:
    return (value for value in kernel.values or () if value.op in FOUR)


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
