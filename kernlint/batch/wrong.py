"""What is surely wrong with a program: what the linter reports as errors, comments that suppress findings left aside.

The verdict looks at its own call alone; here also at kernels that nothing launches, and at what comments suppress: a reward must not
be had for a program that is wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.analysis import Reading, read_program
from kernlint.cost.estimate import Estimator
from kernlint.errors import KernlintError
from kernlint.request import Request
from kernlint.rules.base import NOT_ABOUT_SPEED, Rule, calls_for
from kernlint.rules.finding import Context
from kernlint.rules.registry import all_rules
from kernlint.verdict.search import MOST_WORK, Allowance
from kernlint.workload import Workload

#: Rules about speed whose errors are launches that fail.
_REFUSED = frozenset({"KL207"})


def surely_wrong(request: Request) -> tuple[str, ...]:
    """The code of the rule of each error in the source; none where it cannot be read."""
    try:
        reading = read_program(request, for_rules=True)
    except KernlintError:
        return ()
    rules = [rule for rule in all_rules() if rule.default]
    rules = [rule for rule in rules if rule.category in NOT_ABOUT_SPEED or rule.code in _REFUSED]
    allowance = Allowance(MOST_WORK)
    places = set()
    for workload, asked in _questions(reading, rules):
        context = Context(
            reading.program,
            workload,
            reading.device,
            price=Estimator(reading.device).estimate,
            device_named=reading.device_named,
        )
        for rule in asked:
            found = allowance.ask(rule.code, lambda rule=rule, context=context: list(context.ask(rule)))  # type: ignore[misc]
            places |= {(f.span, rule.code) for f in found or () if f.severity == "error"}
    return tuple(code for _, code in sorted(places))


def _questions(reading: Reading, rules: list[Rule]) -> Iterator[tuple[Workload, Iterable[Rule]]]:
    """Each workload with the rules to ask about it."""
    program = reading.program
    yield program.source_alone, [rule for rule in rules if rule.lexical]
    followed = [rule for rule in rules if not rule.lexical]
    for workload in reading.workloads:
        yield from calls_for(workload, followed)
    bare = [rule for rule in followed if rule.bare]
    yield from ((workload, bare) for workload in program.bare_kernels())
