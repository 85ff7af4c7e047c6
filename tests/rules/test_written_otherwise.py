"""Rules follow values (continued): what a program does moved into helpers and out of them, its numbers named, its
conversions, loops, grids and configurations written in other ways.

Each mutator says for itself where it changes nothing; those tests are skipped, and pytest counts them at the end of a run.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest
from mutators.casts import cast_function, multiplied_casts
from mutators.configurations import configurations_from_function, configurations_from_table
from mutators.grids import divided_by_hand, grids_as_functions
from mutators.inlined_helpers import inlined_host_helpers, inlined_jit_helpers
from mutators.language_calls import keyword_calls, method_calls
from mutators.lifted_expressions import lifted_expressions, wrapped_bodies
from mutators.loops import counted_loops, written_out_sums
from mutators.moved_launches import moved_launches
from mutators.named_literals import named_kernel_literals, named_launch_literals
from mutators.named_values import inlined_variables, named_addresses
from mutators.reordered import kernels_last, swapped_operands

from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question, host_facts, target_for
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context
from kernlint.rules.registry import all_rules
from kernlint.syntax.tree import parse_module


def helpers_written_out(source: str) -> str | None:
    """Each value of a kernel from a jit function of its own, that written out again where it is called."""
    lifted = lifted_expressions(source)
    return None if lifted is None else inlined_jit_helpers(lifted)


def launchers_written_out(source: str) -> str | None:
    """Each launch in a function of its own, that written out again where it is called."""
    moved = moved_launches(source)
    return None if moved is None else inlined_host_helpers(moved)


MUTATORS: tuple[Callable[[str], str | None], ...] = (
    inlined_host_helpers,
    lifted_expressions,
    helpers_written_out,
    wrapped_bodies,
    moved_launches,
    launchers_written_out,
    named_launch_literals,
    named_kernel_literals,
    cast_function,
    multiplied_casts,
    configurations_from_table,
    configurations_from_function,
    keyword_calls,
    method_calls,
    swapped_operands,
    kernels_last,
    named_addresses,
    inlined_variables,
    counted_loops,
    written_out_sums,
    grids_as_functions,
    divided_by_hand,
)


#: What a way of writing takes away from a rule's condition, and why that is right.
OTHER_PROGRAMS = {
    ("KL721", "cast_function"): "`tl.cast` is the remedy",
}
#: Ways of writing that are other work: a multiplication beside the conversion.
OTHER_WORK = frozenset({multiplied_casts})


@dataclass(frozen=True)
class Read:
    """What the analysis makes of a program: whether the rule finds anything, whether all kernels were followed to their
    ends, and the device time of each entry, microseconds."""

    found: bool
    complete: bool
    times_us: tuple[float | None, ...]


@cache
def read(rule: Rule, source: str) -> Read:
    gpu = find_device(rule.example_device)
    target = target_for(None, gpu) if rule.category in ("correctness", "portability") else None
    program = Program(parse_module(source, "example.py"), None, Question(host=host_facts(gpu), target=target))
    found, complete = False, True
    times: list[float | None] = []
    workloads = [*program.workloads(), *(program.bare_kernels() if rule.bare else ())]
    for workload in [program.source_alone] if rule.lexical else workloads:
        context = Context(program, rule.concerns(workload), gpu, price=lambda w: estimate(w, gpu))
        found = found or bool(list(context.ask(rule)))
        complete = complete and all(launch.kernel.complete for launch in workload.launches())
        if workload.launches():
            times.append(estimate(workload, gpu).total_us("gpu"))
    return Read(found, complete, tuple(times))


def check_same_work(rule: Rule, before: str, after: str) -> None:
    """The program is followed as far as it was, and takes as long."""
    was, now = read(rule, before), read(rule, after)
    assert now.complete or not was.complete, "a kernel is no longer followed"
    if len(was.times_us) == len(now.times_us):
        for one, other in zip(was.times_us, now.times_us):
            assert (one is None) == (other is None), "the time of a program is no longer known"
            assert one is None or other is None or other == pytest.approx(one, rel=0.02)


@pytest.mark.parametrize("mutator", MUTATORS, ids=lambda mutator: mutator.__name__)
@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_the_same_finding(rule: Rule, mutator: Callable[[str], str | None]) -> None:
    examples = [textwrap.dedent(text).lstrip("\n") for text in (rule.bad, rule.good)]
    bad, good = map(mutator, examples)
    if bad is None and good is None:
        pytest.skip(f"{mutator.__name__} changes nothing in the examples")
    if (rule.code, mutator.__name__) in OTHER_PROGRAMS:
        pytest.skip(OTHER_PROGRAMS[rule.code, mutator.__name__])
    for before, after, is_bad in ((examples[0], bad, True), (examples[1], good, False)):
        if after is not None:
            compile(after, "example.py", "exec")
            assert read(rule, after).found == is_bad, "not found" if is_bad else "found in the good example"
            if mutator not in OTHER_WORK:
                check_same_work(rule, before, after)


@pytest.mark.parametrize("mutator", MUTATORS, ids=lambda mutator: mutator.__name__)
def test_it_applies(mutator: Callable[[str], str | None]) -> None:
    """A mutator that finds nothing to change would prove nothing."""
    assert any(mutator(textwrap.dedent(rule.bad)) is not None for rule in all_rules())
