"""Pipeline: a `while` loop that counts becomes a `for` over `range`, whose loads Triton issues ahead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import libcst as cst

from kernlint.headroom import kernels
from kernlint.operators.operator import Operator, Place, WhyNot
from kernlint.records import dataclass, replace
from kernlint.rewrite.effects import Effects
from kernlint.rewrite.function import FunctionSource, LaunchSource, callee
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.finding import Context, Variant
from kernlint.syntax.walk import walk
from kernlint.workload import Dot, Launch, Load, Loop, Node, Span, Workload
from kernlint.workload.steps import map_configurations


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
class Counted:
    """The workload with one while loop as a range loop."""

    launch: Span
    loop: Span

    def __call__(self, workload: Workload) -> Workload:
        return map_configurations(workload, self.launch, lambda launch: launch.rewritten(self._node))

    def _node(self, node: Node) -> Node:
        return replace(node, kind="range") if isinstance(node, Loop) and node.span == self.loop else node


# -- the same as text -------------------------------------------------------------------------------------------------


@codemod(Counted, Effects())
def count(site: Site, transform: Counted) -> list[TextEdit]:
    """``k = 0``, ``while k < K:`` and ``k += BK`` at its end become ``for k in range(0, K, BK):``."""
    kernel, source = LaunchSource(site, transform.launch).kernel, site.source
    loop = source.at(transform.loop, cst.While)
    if loop not in kernel.parents:
        raise CannotRewrite("the loop stands in a helper function")
    counter, bound = _test(loop)
    step = _step(kernel, loop, counter)
    start = _start(kernel, loop, counter)
    parts = [node for one in (bound, step.value) for node in walk(one)]
    if any(isinstance(node, cst.Call) and callee(node) not in _PURE for node in parts):
        raise CannotRewrite("the bound or the step is computed by a call in each round")
    own = {node.value for node in parts if isinstance(node, cst.Name)}
    inside = {id(node) for node in walk(loop.body)}
    if any(id(bound_there) in inside for name in own for bound_there in kernel.bindings(name)):
        raise CannotRewrite("the bound or the step changes in the loop")
    if (
        any(isinstance(node, (cst.Return, cst.Break, cst.Continue)) for node in walk(loop.body))
        or loop.orelse is not None
    ):
        raise CannotRewrite("the loop is left, or goes on, in more than one place")
    first, last = source.start(start), source.end(loop)
    if any(not first <= source.start(read) < last for read in kernel.reads(counter)):
        raise CannotRewrite(f"`{counter}` is read outside of the loop too")
    head = f"for {counter} in range({source.code(start.value)}, {source.code(bound)}, {source.code(step.value)})"
    edits = [TextEdit(source.start(loop), source.end(loop.test), head)]
    return [*edits, *source.delete_statements([step, start])]


#: Functions of integers that a bound or a step may call.
_PURE = frozenset({"cdiv", "min", "max", "minimum", "maximum"})


def _test(loop: cst.While) -> tuple[str, cst.BaseExpression]:
    """The counter and the bound that it stays below."""
    test = loop.test
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1 and not test.lpar:
        left, (compared,) = test.left, test.comparisons
        if isinstance(compared.operator, cst.LessThan) and isinstance(left, cst.Name):
            return left.value, compared.comparator
        if isinstance(compared.operator, cst.GreaterThan) and isinstance(compared.comparator, cst.Name):
            return compared.comparator.value, left
    raise CannotRewrite("its test is not that one variable is below a bound")


def _step(kernel: FunctionSource, loop: cst.While, counter: str) -> cst.AugAssign:
    """The statement at the end of the loop that moves the counter on: the only one in it that binds it."""
    inside = {id(node) for node in walk(loop.body)}
    bound = [one for one in kernel.bindings(counter) if id(one) in inside]
    last = loop.body.body[-1] if isinstance(loop.body, cst.IndentedBlock) else None
    moves = isinstance(last, cst.SimpleStatementLine) and len(last.body) == 1 and bound == [last.body[0]]
    if moves and isinstance(bound[0], cst.AugAssign) and isinstance(bound[0].operator, cst.AddAssign):
        return bound[0]
    raise CannotRewrite(f"the loop does not end in `{counter} += ...`")


def _start(kernel: FunctionSource, loop: cst.While, counter: str) -> cst.Assign:
    """The assignment in front of the loop that the counter starts with, and that nothing else reads."""
    block = kernel.parents[loop]
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
