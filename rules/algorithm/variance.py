"""A mean and then a variance of the same row, each from a sweep of its own over memory."""

from __future__ import annotations

from collections.abc import Iterator

from kernlint.records import dataclass
from kernlint.rules.algorithm.row_sweeps import Sweep, reductions, sweeps
from kernlint.rules.proofs.iteration import iteration
from kernlint.workload import Atomic, Compute, Dot, Kernel, Launch, Load, Loop, Reduce, Store


@dataclass(frozen=True)
class MeanThenVariance:
    """A sweep for the mean, ``mean`` its sum, and one for the squared deviations, ``variance`` their sum."""

    sweep: Sweep
    mean: Reduce
    variance: Reduce


def two_pass_variances(launch: Launch) -> Iterator[MeanThenVariance]:
    """The pairs of sweeps in a kernel that a one-pass variance could replace."""
    if not launch.kernel.complete:
        return
    for sweep in sweeps(launch.kernel):
        mean = _sum_of_first(sweep)
        variance = _sum_of_second(sweep)
        if (
            mean is not None
            and variance is not None
            and _only_reduces(sweep)
            and _squares_differences(launch.kernel, sweep.second)
        ):
            yield MeanThenVariance(sweep, mean, variance)


def _ids(sweep: Sweep) -> tuple[frozenset[int], frozenset[int]]:
    return frozenset(a.id for a, _ in sweep.pairs), frozenset(b.id for _, b in sweep.pairs)


def _sum_of_first(sweep: Sweep) -> Reduce | None:
    first, second = _ids(sweep)
    found = [r for r in reductions((*sweep.first.body, *sweep.between)) if r.op == "sum"]
    return next((r for r in found if r.depends & first and not r.depends & second), None)


def _sum_of_second(sweep: Sweep) -> Reduce | None:
    """A sum over the second sweep's tiles that depends on the first sweep too: on the mean."""
    first, second = _ids(sweep)
    found = [r for r in reductions((*sweep.second.body, *sweep.after)) if r.op == "sum"]
    return next((r for r in found if r.depends & first and r.depends & second), None)


def _only_reduces(sweep: Sweep) -> bool:
    """The second loop does nothing but read what the first read, and arithmetic on it."""
    repeated = {id(b) for _, b in sweep.pairs}
    for node in sweep.second.body:
        if isinstance(node, (Store, Atomic, Dot, Loop)) or (isinstance(node, Load) and id(node) not in repeated):
            return False
        if isinstance(node, Compute) and node.kind == "special" and node.elements > 1:
            return False
    return not any(isinstance(node, (Store, Atomic)) for node in sweep.first.body)


def _squares_differences(kernel: Kernel, loop: Loop) -> bool:
    """Whether an iteration subtracts, and multiplies something by itself (or raises it to a power)."""
    steps = iteration(kernel, loop)
    if steps is None:
        return False
    inside = [value for value in steps.values if steps.holds(value)]
    squares = (v.op == "**" or (v.op == "*" and steps.values.equal(*steps.values.operands(v))) for v in inside)
    return any(value.op == "-" for value in inside) and any(squares)
