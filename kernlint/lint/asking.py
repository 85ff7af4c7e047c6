"""Asks the rules about a file, as long as there is time and work left."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from kernlint import work
from kernlint.errors import KernlintError
from kernlint.lint.diagnostics import ANALYSIS_FAILED
from kernlint.lint.file_findings import FileFindings, internal_error
from kernlint.lint.model import SEVERITIES, Finding, Place
from kernlint.rules.base import NOT_ABOUT_SPEED, calls_for

if TYPE_CHECKING:
    from kernlint.cost.device import Device
    from kernlint.interpret.evidence import Clue
    from kernlint.interpret.program import Program
    from kernlint.rules.base import Rule
    from kernlint.rules.finding import Context
    from kernlint.rules.finding import Finding as RuleFinding
    from kernlint.syntax.tree import Module
    from kernlint.verdict.candidate import Candidate
    from kernlint.verdict.scenarios import Plan
    from kernlint.verdict.search import Allowance
    from kernlint.workload import Span, Workload


#: Categories that rest on the tensor cores, warps and shared memory of the device asked about: of no use where another
#: vendor's fork of Triton compiles the module.
_OF_THE_DEVICE = frozenset({"precision", "tiling"})


#: What-ifs for the findings of one file, and for their fixes: some twenty seconds each on a slow machine. Rules that ask for
#: more keep what they have found.
MOST_WORK = 4_000_000


class Asking(FileFindings):
    """What the rules find in one file."""

    def _kernel_findings(
        self, module: Module, reference: Module | None
    ) -> Iterator[tuple[Finding, Span, Candidate | None]]:
        """What the rules find, each code once at a place, with what it was made of; and one diagnostic where something crashed.
        The analysed program is there until all is taken, so that fixes can be tried, and for what has no price yet. In
        :attr:`haste` only what the rules that need no price have found, as it will be found once all is known."""
        from kernlint.syntax.dialect import dialect, has_kernel

        failure = ""
        best = self.best
        with nullcontext() if self.haste is not None else self.open_programs:
            try:
                if has_kernel(module) and dialect(module) is None:
                    for candidate in self._candidates(module, reference):
                        span = _span_in(module, candidate.finding)
                        if span is not None:
                            key = (candidate.finding.rule.code, span)
                            found = self._from_rule(candidate, span), candidate
                            best[key] = min(best.get(key, found), found, key=lambda one: _weight(one[0]))
            except KernlintError as error:
                failure = str(error).removeprefix(f"{self.file}: ")
            except RecursionError:
                failure = "too deeply nested to analyse"
            except Exception as error:
                failure = internal_error(error)
            told = set()
            for (_, span), (finding, found_as) in best.items():
                same = finding.code, span.line, finding.message
                waits = self.haste is not None and finding.code in self.haste.short
                if not waits and (same not in told or found_as.finding.change is not None):
                    told.add(same)
                    yield finding, span, found_as
        if self.haste is not None:
            return
        if self.crashed and not failure:
            failure = "; ".join(sorted(self.crashed))
        if failure:
            self.repeatable = False
            yield ANALYSIS_FAILED.at(self.file, failure), head_of(module), None
        elif short := self.unasked or self.short:  # as they would be again
            yield self.cut_short(f"{listed(short)} may find more"), head_of(module), None

    def cut_short(self, what: str, place: Place | None = None) -> Finding:
        """What was not looked into, and what can be done about it."""
        why = f"took nearly {self.job.settings.timeout_s:g} s" if self.late else "too much work"
        message = f"{why}: {what}; split the file, or ask for fewer rules with `--select`"
        return ANALYSIS_FAILED.at(self.file, message, place)

    def _candidates(self, module: Module, reference: Module | None) -> Iterator[Candidate]:
        """What each rule finds in the program."""
        from kernlint.cost.device import find_device
        from kernlint.rules.registry import all_rules

        device = find_device(self.job.settings.device)
        rules = [rule for rule in all_rules() if rule.code in self.codes]
        self.silent = {rule.code for rule in rules if rule.silent_if_open} - self.job.settings.asked
        if self.program is None:
            self.program = self._opened(module, reference, device)
        program = self.program
        yield from self._of_workload(program, program.source_alone, device, [rule for rule in rules if rule.lexical])
        rules = [rule for rule in rules if not rule.lexical]
        for workload in program.workloads() if rules else ():
            for call, concerned in calls_for(workload, rules):
                yield from self._of_workload(program, call, device, concerned)
            yield from self._of_stated(program, workload, device, rules)
        rules = [rule for rule in rules if rule.bare]
        for workload in program.bare_kernels() if rules and not self.late else ():
            yield from self._of_workload(program, workload, device, rules)

    def _opened(self, module: Module, reference: Module | None, device: Device) -> Program:
        """The program, which is closed with :attr:`open_programs`."""
        from kernlint.interpret.assume import parse_facts
        from kernlint.interpret.program import Program
        from kernlint.interpret.question import Question, host_facts, target_for
        from kernlint.interpret.triton_release import pinned, requirement_files
        from kernlint.verdict.search import Allowance

        target = target_for(self.job.settings.target_triton, device)
        if self.job.settings.target_triton is None:
            target = pinned(module.path, module.text, target)
            self.helpers |= set(map(str, requirement_files(module.path)))
        settings = self.job.settings
        facts = parse_facts(settings.assumptions)
        question = Question(
            overrides=dict(settings.constants), facts=facts, host=host_facts(device), target=target, strict=False
        )
        self.allowance = Allowance(MOST_WORK)
        self.short = self.allowance.short
        program = self.open_programs.enter_context(closing(Program(module, reference, question, self.earlier)))
        # What was looked into, also while rules were asked and fixes tried.
        self.open_programs.callback(lambda: self._note_other_files(program))
        return program

    def _note_other_files(self, program: Program) -> None:
        """Note which other files the findings rest on, by name where they are known."""
        from kernlint.interpret.project import answers

        self.helpers.update(map(os.path.abspath, program.imported))
        self.repeatable = self.repeatable and not program.kernel.once(answers)

    def _of_stated(
        self, program: Program, workload: Workload, device: Device, rules: list[Rule]
    ) -> Iterator[Candidate]:
        """What rules about speed find where open arguments are what calls of the function give, else where they have the types
        that checks, annotations and prose state."""
        from kernlint.interpret.edits import NO_EDITS
        from kernlint.interpret.evidence import stated, untyped

        concerned = [rule for rule in rules if rule.category not in NOT_ABOUT_SPEED and not rule.silent_if_open]
        if self.late or not concerned or not untyped(workload):
            return
        if self.haste is not None:
            self.haste.short.update(dict.fromkeys(rule.code for rule in concerned))
            return
        project = self.job.settings.project
        plan = self._guarded("calls", lambda: next(self._called(program, workload, device, project), None), None)
        if plan is not None:
            assumed = _assumed((fact.name, fact.value, fact.evidence) for fact in plan.facts)
            for candidate in self._of_workload(plan.program, plan.workload, device, concerned):
                yield replace(candidate, assumed=assumed)
            return
        nothing: dict[str, Clue] = {}
        clues = self._guarded("evidence", lambda: stated(program, workload), nothing)
        if not clues:
            return
        typed = program.at(dtypes={name: clue.dtypes[0] for name, clue in clues.items()})
        call = typed.workload(workload.entry, NO_EDITS)
        assumed = _assumed((name, clue.dtypes[0], clue.because) for name, clue in clues.items())
        for candidate in self._of_workload(typed, call, device, concerned) if call is not None else ():
            yield replace(candidate, assumed=assumed)

    def _called(
        self, program: Program, workload: Workload, device: Device, project: bool, made: bool = False
    ) -> Iterator[Plan]:
        """The calls of the entry of ``workload`` that the file makes itself, or its ``project``, the largest first; with ``made`` without
        those that stand where no run gets to."""
        from kernlint.interpret.callers import of_entry, sites_in
        from kernlint.interpret.question import target_for
        from kernlint.verdict.scenarios import Planner

        if project not in self.sites:
            self.sites[project] = sites_in(program, program.workloads(), project)
            self.repeatable = self.repeatable and not project  # other files may change
        sites = [one for one in of_entry(self.sites[project], workload.entry, program) if one.made or not made]
        return Planner(program, workload, target_for(None, device), sites).called() if sites else iter(())

    def _calls(self, context: Context) -> list[Context]:
        """``context`` of each call that the project, or a file alone, makes of its entry."""
        work.check_haste()
        asked = "calls in the project"
        if asked not in context.answers:
            plans = self._called(context.program, context.workload, context.device, not context.alone, made=True)
            context.answers[asked] = [self._context(p.program, p.workload.first_call(), context.device) for p in plans]
        calls: list[Context] = context.answers[asked]
        return calls

    def _context(self, program: Program, workload: Workload, device: Device) -> Context:
        from kernlint.cost.estimate import Estimator
        from kernlint.rules.finding import Context

        settings = self.job.settings
        price = Estimator(device).estimate
        return Context(
            program, workload, device, price=price, options=settings.options, device_named=settings.device_named
        )

    def _of_workload(
        self, program: Program, workload: Workload, device: Device, rules: list[Rule]
    ) -> Iterator[Candidate]:
        if self.late:
            self.unasked.update(dict.fromkeys(rule.code for rule in rules))
            return
        context = self._context_of(program, workload, device)
        if self.haste is not None:
            yield from self._in_haste(context, rules, self.haste)
            return
        known = self._guarded(
            "the cost model",
            lambda: any(us is not None for us in map(context.estimate(workload).total_us, ("gpu", "call"))),
            False,
        )
        about_speed = not workload.bare and any(rule.category not in NOT_ABOUT_SPEED for rule in rules)
        if about_speed and workload.first_call().launches():
            self.timed[workload.entry] = known or self.timed.get(workload.entry, False)
        unheard = set[str]() if known else self.silent - self.named
        nothing = self._nothing_in_copies(program, workload)
        for rule in rules:
            if rule.code in unheard or rule.code in nothing:
                continue
            self.late = self.late or time.process_time() > self.last_s
            if self.late:
                self.unasked[rule.code] = None
                continue
            found: list[Candidate] = []
            ended = self._guarded(rule.code, partial(self._ask, rule, context, known, found), False)
            if ended and not found and rule.code not in self.short:
                nothing.add(rule.code)
            if not (found and rule.category in _OF_THE_DEVICE and program.other_vendor):
                yield from found

    def _in_haste(self, context: Context, rules: list[Rule], haste: Allowance) -> Iterator[Candidate]:
        """What ``rules`` find without a price. One that asks for a price is put off; what is wrong is wrong whatever its change gains."""
        from kernlint.verdict.search import has_price

        nothing = self._nothing_in_copies(context.program, context.workload)
        for rule in rules:
            if rule.code in nothing or rule.code in haste.short:
                continue
            found: list[Candidate] = []
            with work.uncounted():
                before = work.spent()
                ended = self._guarded(rule.code, partial(_ask, rule, context, False, haste, found), False)
                units = work.spent() - before
            priced = any(has_price(one.finding) for one in found)
            if rule.code in self.silent - self.named or (priced and rule.category not in NOT_ABOUT_SPEED):
                haste.short[rule.code] = None
            settled = ended and rule.code not in haste.short
            self.settled[id(context), rule.code] = (found if settled and not priced else None), units
            if settled and not found:
                nothing.add(rule.code)
            if settled and not (found and rule.category in _OF_THE_DEVICE and context.program.other_vendor):
                yield from found

    def _ask(self, rule: Rule, context: Context, known: bool, found: list[Candidate]) -> bool:
        """:func:`_ask`, unless the answer is there; the work counts as if it was done now."""
        from kernlint.verdict.search import in_order

        settled, units = self.settled.get((id(context), rule.code), (None, 0))
        work.spend(units)
        if settled is None:
            return _ask(rule, context, known, self.allowance, found)
        found += in_order(settled) if known else settled
        return True

    def _context_of(self, program: Program, workload: Workload, device: Device) -> Context:
        """What rules are asked about ``workload`` in: one for both times that they are."""
        if id(workload) in self.contexts:
            return self.contexts[id(workload)]
        from kernlint.interpret.project import is_alone

        context = self._context(program, workload, device)
        context.alone = is_alone(program.kernel)
        context.calls = lambda: self._guarded("calls", lambda: self._calls(context), [])
        if self.haste is not None:
            self.contexts[id(workload)] = context
        return context

    def _nothing_in_copies(self, program: Program, workload: Workload) -> set[str]:
        """The rules that have found nothing in a call of a copy of the function that ``workload`` is a call of, so that they find
        nothing in this one. To be added to."""
        from kernlint.interpret.call_forms import call_form, is_apart

        form = call_form(program.kernel, workload)
        if form is None or not is_apart(program.kernel, workload):
            return set()
        return self.nothing.setdefault((program, form), set())


def _assumed(facts: Iterable[tuple[str, object, str]]) -> tuple[str, ...]:
    """What a finding rests on that is no proof, by what speaks for it."""
    by_evidence: dict[str, list[str]] = {}
    for name, value, evidence in facts:
        by_evidence.setdefault(evidence, []).append(f"`{name}` is {value}")
    return tuple(f"assumed: {', '.join(said)} ({evidence})" for evidence, said in by_evidence.items())


def _ask(rule: Rule, context: Context, known: bool, allowance: Allowance, found: list[Candidate]) -> bool:
    """Add to ``found`` what ``rule`` finds by the time that its ``allowance`` is spent, with the price of each change. Without the
    sizes (``known`` is false) a change has no price, and following the changed program would be in vain. True, unlike where it crashes."""
    from kernlint.verdict.search import price, unpriced

    if known:
        found += price(context, [rule], allowance)
        return True
    with allowance.share(rule.code):
        for finding in context.ask(rule):
            found.append(unpriced(context, finding))
    return True


#: Rules that a message names.
_MOST_NAMED = 4


def listed(codes: Iterable[str]) -> str:
    """Rules in words, with their codes."""
    from kernlint.rules.registry import find_rule
    from kernlint.rules.wording import listed as in_words

    first, *others = named = [f"{find_rule(code).name} ({code})" for code in sorted(codes)]
    if len(named) > _MOST_NAMED:
        others = [*named[1:_MOST_NAMED], f"{len(named) - _MOST_NAMED} other rules"]
    return in_words([first, *others])


def _span_in(module: Module, finding: RuleFinding) -> Span | None:
    """Where in ``module`` to report ``finding``: one inside a helper of another file at the head of the kernel that
    calls it. None for a finding that is about another file altogether, such as the reference."""
    import libcst as cst

    from kernlint.syntax.walk import walk

    if finding.span.file == module.path:
        return finding.span
    for node in walk(module.tree):
        if isinstance(node, cst.FunctionDef) and node.name.value == finding.kernel:
            return module.span(node.name)
    return None


def head_of(module: Module) -> Span:
    from kernlint.workload import Span

    return Span(module.path, module.first_line, 1, module.first_line, 1)


def _weight(finding: Finding) -> tuple[int, float]:
    """Of findings alike, found in several workloads, the one that matters most comes first."""
    return SEVERITIES.index(finding.severity), -(finding.gain.best if finding.gain is not None else 0.0)
