"""A product that each step of a K loop multiplies by the same factor before it is added up."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.records import dataclass, replace
from kernlint.rules.proofs.iteration import iteration
from kernlint.rules.proofs.launch_change import LaunchChange
from kernlint.rules.proofs.sums_of_products import ZEROS, Sum, sums
from kernlint.workload import Compute, Dot, Kernel, Launch, Loop, Node, Span
from kernlint.workload.synthesis import arith
from kernlint.workload.values import Value, Values


@dataclass(frozen=True)
class ScaledProduct:
    """``total``, to whose variable ``accumulator`` each round adds ``dot`` times ``factors``; ``multiplied`` are the products on the
    way, all of them first."""

    total: Sum
    accumulator: str
    dot: Value
    factors: tuple[Value, ...]
    multiplied: tuple[Value, ...]


def scaled_products(kernel: Kernel) -> Iterator[ScaledProduct]:
    """The sums of ``kernel``, from zeros on, to which each round adds a dot times factors that no round changes."""
    for total in sums(kernel):
        steps = iteration(kernel, total.nest[-1]) if total.nest else None
        if steps is None or len(total.terms) != 1 or total.start.op not in ZEROS:
            continue
        values = steps.values
        multiplied: list[Value] = []
        factors = list(_factors(values, total.terms[0], multiplied))
        dots = [one for one in factors if one.op == "dot" and values.optional(one, "acc") is None]
        others = [one for one in factors if one.op != "dot"]
        if len(dots) != 1 or len(others) != len(factors) - 1:
            continue
        users = [one for one in values.users(dots[0]) if one.op != "exit" or values.users(one)]
        if len(users) == 1 and others and all(map(steps.is_steady, others)):
            name = next(one.name for one in values.operands(total.total) if one.op == "phi")
            yield ScaledProduct(total, name, dots[0], tuple(others), tuple(multiplied))


def _factors(values: Values, value: Value, multiplied: list[Value]) -> Iterator[Value]:
    """What ``value`` is the product of, in order; the products on the way are noted."""
    if value.op != "*":
        yield value
        return
    multiplied.append(value)
    for one in values.operands(value):
        yield from _factors(values, one, multiplied)


@dataclass(frozen=True)
class ScaleBehindLoop(LaunchChange):
    """The workload with the factors of one product applied once, behind the loop, and the sum left to the dot."""

    dot: Span
    #: Where the arithmetic stands that goes.
    gone: frozenset[Span]

    def _changed(self, launch: Launch) -> Launch:
        dot = next((node for node in launch.kernel.dots() if node.span == self.dot), None)
        if dot is None:
            return launch

        def change(node: Node) -> Node | None:
            if isinstance(node, Compute) and node.kind == "arith" and node.span in self.gone:
                return None
            return replace(node, accumulates=True) if node is dot else node

        changed = launch.rewritten(change)
        body: list[Node] = []
        for node in changed.kernel.body:
            body.append(node)
            if isinstance(node, Loop) and any(isinstance(inner, Dot) and inner.span == self.dot for inner in node.body):
                body.append(arith(dot.m * dot.n * dot.batch, self.dot))
        return replace(changed, kernel=replace(changed.kernel, body=tuple(body)))
