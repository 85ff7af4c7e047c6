"""Rules follow values (continued): what a program does moved into helpers and out of them, its numbers named, its
conversions, loops, grids and configurations written in other ways.

Ways that do not get in one another's way are taken together; where a rule does not find what is written in all of them, each is tried
for itself. Each says where it changes nothing; tests of which none changes anything are skipped.

Each rule has one such group by default, by turns, and each way a program that it changes; all rules in all groups are `slow`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from itertools import chain

import libcst as cst
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
from mutators.trees import parsed
from support.products import in_turn

from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question, host_facts, target_for
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context
from kernlint.rules.registry import all_rules
from kernlint.syntax.tree import parse_module


def helpers_written_out(module: cst.Module) -> cst.Module | None:
    """Each value of a kernel from a jit function of its own, that written out again where it is called."""
    lifted = lifted_expressions(module)
    return None if lifted is None else inlined_jit_helpers(lifted)


def launchers_written_out(module: cst.Module) -> cst.Module | None:
    """Each launch in a function of its own, that written out again where it is called."""
    moved = moved_launches(module)
    return None if moved is None else inlined_host_helpers(moved)


Mutator = Callable[[cst.Module], "cst.Module | None"]

#: What undoes or hides what another one does is in another group.
MUTATORS: tuple[tuple[Mutator, ...], ...] = (
    (helpers_written_out, inlined_host_helpers, launchers_written_out, named_kernel_literals, grids_as_functions, named_addresses,
     keyword_calls, cast_function, kernels_last),
    (lifted_expressions, configurations_from_table, divided_by_hand, counted_loops, swapped_operands),
    (wrapped_bodies, configurations_from_function, named_launch_literals, moved_launches, method_calls, inlined_variables,
     written_out_sums),
    (multiplied_casts,),
)  # fmt: skip


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


def written(source: str, mutators: Iterable[Mutator]) -> str | None:
    """``source`` in all ways of ``mutators`` that change it; None where none does."""
    module = parsed(source)
    for mutator in mutators:
        module = mutator(module) or module
    after = module.code
    return None if after == source else after


def check(rule: Rule, before: str, after: str, is_bad: bool, same_work: bool) -> None:
    compile(after, "example.py", "exec")
    assert read(rule, after).found == is_bad, "not found" if is_bad else "found in the good example"
    if same_work:
        check_same_work(rule, before, after)


def same_finding(rule: Rule, mutators: tuple[Mutator, ...]) -> bool:
    """Whether ``mutators`` change an example of ``rule``; fails where they change what is found."""
    mutators = tuple(one for one in mutators if (rule.code, one.__name__) not in OTHER_PROGRAMS)
    examples = [(textwrap.dedent(text).lstrip("\n"), text is rule.bad) for text in (rule.bad, rule.good)]
    changed = [(text, after, is_bad) for text, is_bad in examples if (after := written(text, mutators)) is not None]
    for before, after, is_bad in changed:
        try:
            check(rule, before, after, is_bad, OTHER_WORK.isdisjoint(mutators))
        except AssertionError:
            for mutator in mutators:
                alone = written(before, [mutator])
                if alone is not None:
                    check(rule, before, alone, is_bad, mutator not in OTHER_WORK)
    return bool(changed)


@pytest.mark.product
@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_the_same_finding(rule: Rule) -> None:
    """In the first of its groups that changes anything."""
    assert any(same_finding(rule, mutators) for mutators in in_turn(rule.code, MUTATORS))


@pytest.mark.slow
@pytest.mark.product
@pytest.mark.parametrize("mutators", MUTATORS, ids=lambda mutators: "+".join(one.__name__ for one in mutators))
@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_the_same_finding_in_all_ways(rule: Rule, mutators: tuple[Mutator, ...]) -> None:
    if not same_finding(rule, mutators):
        pytest.skip("nothing changes in the examples")


@pytest.mark.parametrize("mutator", list(chain.from_iterable(MUTATORS)), ids=lambda mutator: mutator.__name__)
def test_it_applies(mutator: Mutator) -> None:
    """A mutator that finds nothing to change would prove nothing; the first rule, by turns, that it changes is found all the same."""
    assert any(same_finding(rule, (mutator,)) for rule in in_turn(mutator.__name__, all_rules()))
