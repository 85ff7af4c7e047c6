"""Plan and edit agree: the workload that a fix promised is the one that is read from the edited source."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest

from kernlint.analysis import read_program
from kernlint.cost.estimate import estimate
from kernlint.errors import AnalysisError
from kernlint.records import dataclass, replace
from kernlint.request import Request
from kernlint.rewrite.text import apply_edits
from kernlint.rules.base import NOT_ABOUT_SPEED, Rule
from kernlint.rules.finding import Context
from kernlint.rules.registry import all_rules, find_rule
from kernlint.verdict.search import price
from kernlint.workload import (
    Access,
    Atomic,
    Dot,
    HostSync,
    Launch,
    Load,
    Loop,
    Reduce,
    Scan,
    Store,
    TorchOp,
    Workload,
    concrete,
)

PAIRS = Path(__file__).parents[2] / "fixtures/pairs"
RULES = [rule for rule in all_rules() if rule.category not in NOT_ABOUT_SPEED and not rule.lexical]

#: One row read three times, in three spellings of its address.


@dataclass(frozen=True)
class Work:
    """What a launch does: its nodes by kind, the bytes by kind of access (None where a trip count is open), its programs."""

    nodes: tuple[tuple[str, int], ...]
    bytes: tuple[tuple[str, int | None], ...]
    programs: int | None
    kernel: str


def work_of(launch: Launch) -> Work:
    nodes: Counter[str] = Counter()
    moved: dict[str, int | None] = {}
    for kind in (Load, Store, Atomic, Dot, Reduce, Scan):
        for node, loops in launch.kernel.walk(kind):
            name = kind.__name__
            nodes[name] += 1
            if isinstance(node, Access):
                times, so_far = executions(launch, loops), moved.get(name, 0)
                moved[name] = None if times is None or so_far is None else so_far + times * node.bytes
    return Work(tuple(sorted(nodes.items())), tuple(sorted(moved.items())), launch.programs, launch.kernel.name)


def executions(launch: Launch, loops: Iterable[Loop]) -> int | None:
    count = launch.programs
    for loop in loops:
        trip = concrete(loop.trip)
        count = None if trip is None or count is None else count * trip
    return count


def others(workload: Workload) -> Counter[str]:
    """The steps that are no launches, by kind; allocations do no work."""
    steps = (step for step, _ in workload.walk())
    kinds = (
        step.kind if isinstance(step, TorchOp) else "sync" for step in steps if isinstance(step, (TorchOp, HostSync))
    )
    return Counter(kind for kind in kinds if kind != "alloc")


def disagreements(before: Workload, plan: Workload, edited: Workload) -> list[str]:
    """In what the plan and the edited source do not do the same. How a kernel that the fix brings along cuts its work into
    programs is its own affair, as long as it moves the same bytes."""
    found = []
    if others(plan) != others(edited):
        found.append(f"steps: {others(plan)} planned, {others(edited)} made")
    promised, made = ([work_of(launch) for launch in w.launches()] for w in (plan, edited))
    if len(promised) != len(made):
        return [*found, f"launches: {promised} planned, {made} made"]
    known = {launch.kernel.name for launch in before.launches()}
    for one, other in zip(promised, made):
        if one.nodes != other.nodes:
            found.append(f"nodes of {other.kernel}: {one.nodes} planned, {other.nodes} made")
        for (kind, size), (_, real) in zip(one.bytes, other.bytes):
            if size is not None and real is not None and size != real:
                found.append(f"{kind} of {other.kernel}: {size} bytes planned, {real} made")
        if other.kernel in known and one.programs != other.programs:
            found.append(f"programs of {other.kernel}: {one.programs} planned, {other.programs} made")
    return found


def check(source: str, rules: Iterable[Rule], device: str, reference: str | None = None) -> int:
    """Hold every fix of ``rules`` in ``source`` against its plan; how many there were."""
    asked = Request(source, reference=reference, device=device)
    reading = read_program(asked)
    count = 0
    for workload in reading.workloads:
        context = Context(reading.program, workload, reading.device, price=lambda w: estimate(w, reading.device))
        for candidate in price(context, rules):
            made, change = candidate.attempt.rewriting, candidate.finding.change
            if made is None or change is None or change.variant is None or candidate.anew:
                continue
            count += 1
            plan = context.after(change.variant)
            after = read_program(replace(asked, source=apply_edits(reading.task.kernel.text, made.edits)))
            edited = next(one for one in after.workloads if one.entry == workload.entry)
            assert plan is not None
            assert not disagreements(workload, plan, edited), candidate.finding.rule.code
    return count


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_example_of_a_rule(rule: Rule) -> None:
    try:
        check(textwrap.dedent(rule.bad), [rule], rule.example_device)
    except AnalysisError:
        pytest.skip("an example of a kernel alone")


@pytest.mark.parametrize("pair", sorted(path.parent.name for path in PAIRS.glob("*/before.py")))
def test_a_pair(pair: str) -> None:
    source, reference = ((PAIRS / pair / name).read_text() for name in ("before.py", "reference.py"))
    check(source, [rule for rule in RULES if rule.default], "h100-sxm", reference)


def test_most_examples_have_a_fix_to_look_at() -> None:
    """So that the tests above have something to compare."""
    checked = sum(
        check(textwrap.dedent(find_rule(code).bad), [find_rule(code)], "h100-sxm")
        for code in ("KL201", "KL203", "KL301", "KL302", "KL503")
    )
    assert checked >= 5
