"""Plan and edit agree: the workload that a fix promised is the one that is read from the edited source."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from support.lint import check as findings_of

from kernlint.analysis import read_program
from kernlint.cost.estimate import estimate
from kernlint.interpret.edits import NO_EDITS
from kernlint.records import dataclass, replace
from kernlint.request import Request
from kernlint.rewrite.text import apply_edits
from kernlint.rules.base import Rule, calls_for
from kernlint.rules.finding import Context
from kernlint.rules.registry import all_rules, find_rule
from kernlint.verdict.search import price
from kernlint.verdict.written import written
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
#: Those that see values; what is changed for what the source alone says promises no workload.
RULES = [rule for rule in all_rules() if not rule.lexical]


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


def less_done(plan: Workload, edited: Workload) -> list[str]:
    """What the edited source does less than the plan of a mend, which promises no time: it may add what was missing, such as a fill,
    the load of a seed or the rest of a grid."""
    missing = others(plan) - others(edited)
    found = [f"steps: {missing} planned, not made"] if missing else []
    promised, made = ([work_of(launch) for launch in w.launches()] for w in (plan, edited))
    if len(promised) != len(made):
        return [*found, f"launches: {promised} planned, {made} made"]
    for one, other in zip(promised, made):
        if Counter(dict(one.nodes)) - Counter(dict(other.nodes)):
            found.append(f"nodes of {other.kernel}: {one.nodes} planned, {other.nodes} made")
        if one.programs is not None and other.programs is not None and one.programs > other.programs:
            found.append(f"programs of {other.kernel}: {one.programs} planned, {other.programs} made")
    return found


def check(source: str, rules: Iterable[Rule], device: str, reference: str | None = None) -> Counter[str]:
    """Hold every fix of ``rules`` in ``source`` against its plan; how many there were of each rule. Kernels written anew have no plan but
    their own source: theirs is what they are priced as."""
    asked = Request(source, reference=reference, device=device)
    reading = read_program(asked, True)
    program, count = reading.program, Counter[str]()
    calls = [call for workload in reading.workloads for call in calls_for(workload, rules)]
    calls += [(kernel, [rule for rule in rules if rule.bare]) for kernel in program.bare_kernels()]
    for workload, concerned in calls:
        context = Context(program, workload, reading.device, price=lambda w: estimate(w, reading.device))
        for candidate in price(context, concerned):
            made, change = candidate.attempt.rewriting, candidate.finding.change
            if made is None or change is None or not candidate.attempt.automatic:
                continue
            code = candidate.finding.rule.code
            count[code] += 1
            after = read_program(replace(asked, source=apply_edits(reading.task.kernel.text, made.edits)), True)
            edited = after.program.workload(workload.entry, NO_EDITS, workload.bare)
            assert edited is not None, code
            edited = candidate.finding.rule.concerns(edited)
            if candidate.anew:
                priced = written(candidate, context.price)
                assert priced is None or priced.gpu_us == pytest.approx(context.price(edited).gpu_us), code
                continue
            assert change.variant is not None, code
            plan = context.after(change.variant)
            assert plan is not None, code
            assert not (disagreements(workload, plan, edited) if change.priced else less_done(plan, edited)), code
    return count


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_the_example_of_a_rule(rule: Rule) -> None:
    made = check(textwrap.dedent(rule.bad), [rule], rule.example_device)
    assert not (made and rule.fix_safety.strip().startswith("No automatic fix"))


@pytest.mark.parametrize("pair", sorted(path.parent.name for path in PAIRS.glob("*/before.py")))
def test_a_pair(pair: str) -> None:
    source, reference = ((PAIRS / pair / name).read_text() for name in ("before.py", "reference.py"))
    check(source, [rule for rule in RULES if rule.default], "h100-sxm", reference)


@pytest.mark.parametrize("code", ["KL201", "KL302", "KL503", "KL505", "KL609", "KL730", "KL747", "KL753"])
def test_examples_have_a_fix_to_look_at(code: str) -> None:
    """So that the tests above have something to compare: of a tile, of a fill, of other kernels, of a kernel alone, of what is wrong."""
    assert check(textwrap.dedent(find_rule(code).bad), [find_rule(code)], "h100-sxm")[code]


@pytest.mark.parametrize(("code", "offered"), [("KL304", True), ("KL505", True), ("KL508", False), ("KL511", False)])
def test_a_check_offers_kernels_written_anew_where_they_gain(code: str, offered: bool) -> None:
    """What is promised is the time of the best version, which the kernels that can be written may be far from."""
    found = findings_of(textwrap.dedent(find_rule(code).bad), codes=frozenset({code}), fixes=True)
    assert [one.fix is not None for one in found] == [offered]
