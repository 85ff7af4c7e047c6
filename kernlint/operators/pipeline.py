"""Pipeline: a `while` loop that counts becomes a `for` over `range`, whose loads Triton issues ahead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import libcst as cst

from kernlint.headroom import kernels
from kernlint.operators.operator import Operator, Place, WhyNot
from kernlint.records import dataclass, replace
from kernlint.rewrite.effects import Effects
from kernlint.rewrite.function import FunctionSource, LaunchSource
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.finding import Context, Variant
from kernlint.rules.proofs.launch_change import LaunchChange
from kernlint.syntax.counters import counter
from kernlint.syntax.walk import walk
from kernlint.workload import Dot, Launch, Load, Loop, Node, Span


@dataclass(frozen=True)
class Counting(Place):
    """A ``loop`` of ``launch`` around the ``dot``."""

    launch: Launch
    loop: Loop
    dot: Dot


class _Pipeline(Operator[Counting, Counting]):
    """What a `while` loop is proven by is its trip count, which only a counter with one step and one bound has."""

    name: ClassVar[str] = "pipeline"
    causes: ClassVar[frozenset[str]] = frozenset({kernels.TILE, kernels.LATENCY})

    def sites(self, context: Context) -> Iterator[Counting]:
        seen = set()
        for launch in context.distinct_launches():
            for dot, loops in launch.kernel.walk(Dot):
                loop = loops[-1] if loops else None
                if isinstance(dot, Dot) and loop is not None and loop.kind == "while" and loop.span not in seen:
                    seen.add(loop.span)
                    name = launch.kernel.name
                    subject = f"the while loop at line {loop.span.line}"
                    yield Counting(subject, loop.span, launch.function, name, launch, loop, dot)

    def check(self, context: Context, site: Counting) -> Counting | WhyNot:
        if site.loop.trip is None:
            return WhyNot("it does not count: its end does not follow from a start, a bound and a step")
        if site.launch.num_stages < 2:
            return WhyNot("it is launched with num_stages=1, which asks for no pipelining")
        if not any(isinstance(node, Load) for node in site.loop.body):
            return WhyNot("it loads nothing")
        return site

    def apply(self, context: Context, proofs: Sequence[Counting]) -> Variant:
        variant = context.variant
        for proof in proofs:
            variant = variant.then(transform=Counted(proof.launch.span, proof.loop.span))
        return variant


PIPELINE = _Pipeline()


@dataclass(frozen=True)
class Counted(LaunchChange):
    """The workload with one while loop as a range loop."""

    loop: Span

    def _node(self, node: Node) -> Node:
        return replace(node, kind="range") if isinstance(node, Loop) and node.span == self.loop else node


# -- the same as text -------------------------------------------------------------------------------------------------


@codemod(Counted, Effects())
def count(site: Site, transform: Counted) -> list[TextEdit]:
    """``k = 0``, ``while k < K:`` and ``k += BK`` at its end become ``for k in range(0, K, BK):``."""
    kernel, source = LaunchSource(site, transform.launch).kernel, site.source
    loop = source.at(transform.loop, cst.While)
    if loop not in kernel:
        raise CannotRewrite("the loop stands in a helper function")
    found = counter(loop, _PURE)
    step = loop.body.body[-1]
    if found is None or not found.up or not isinstance(step, cst.SimpleStatementLine) or len(step.body) != 1:
        raise CannotRewrite(
            "it does more than add the same to one variable at its end, as long as that is below a bound"
        )
    name = found.name.value
    start = _start(kernel, loop, name)
    first, last = source.start(start), source.end(loop)
    if any(not first <= source.start(read) < last for read in kernel.reads(name)):
        raise CannotRewrite(f"`{name}` is read outside of the loop too")
    bound = source.code(found.bound)
    if found.inclusive:
        bound = f"{bound} + 1" if isinstance(found.bound, (cst.Name, cst.Integer)) else f"({bound}) + 1"
    head = f"for {name} in range({source.code(start.value)}, {bound}, {source.code(found.step)})"
    edits = [TextEdit(source.start(loop), source.whole(loop.test)[1], head)]
    return [*edits, *source.delete_statements([step.body[0], start])]


#: Functions of integers that a bound or a step may call.
_PURE = frozenset({"cdiv", "minimum", "maximum"})


def _start(kernel: FunctionSource, loop: cst.While, counter: str) -> cst.Assign:
    """The assignment in front of the loop that the counter starts with, and that nothing else reads."""
    block = kernel.parent(loop)
    lines = list(block.body) if isinstance(block, cst.IndentedBlock) else []
    before = lines[: next((i for i, line in enumerate(lines) if line is loop), 0)]
    for position, line in reversed(list(enumerate(before))):
        one = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        if any(isinstance(node, cst.Name) and node.value == counter for node in walk(line)):
            target = one.targets[0].target if isinstance(one, cst.Assign) and len(one.targets) == 1 else None
            if not (isinstance(one, cst.Assign) and isinstance(target, cst.Name) and target.value == counter):
                break
            own = {node.value for node in walk(one.value) if isinstance(node, cst.Name)}
            between = before[position + 1 :]
            if counter in own or any(
                kernel.is_bound(n) for b in between for n in walk(b) if isinstance(n, cst.Name) and n.value in own
            ):
                break
            return one
    raise CannotRewrite(f"`{counter}` does not start with an assignment of its own in front of the loop")
