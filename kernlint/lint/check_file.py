"""The findings of one file: from its bytes and settings to plain data. Runs in a worker process."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeVar

from kernlint.errors import KernlintError, SourceError
from kernlint.lint.diagnostics import (
    ANALYSIS_FAILED,
    MALFORMED_SUPPRESSION,
    SYNTAX_ERROR,
    UNREADABLE,
    UNUSED_SUPPRESSION,
    Diagnostic,
)
from kernlint.lint.discovery import shown_name
from kernlint.lint.fingerprint import fingerprinted, source_of
from kernlint.lint.known_files import digest_of
from kernlint.lint.model import SEVERITIES, Edit, Finding, Fix, Gain, Place
from kernlint.lint.notebook import Notebook, read_notebook
from kernlint.lint.reading import concerns_us
from kernlint.lint.settings import FileSettings
from kernlint.records import dataclass
from kernlint.rules.base import MIN_GAIN, NOT_ABOUT_SPEED, calls_for
from kernlint.sandbox import summary_of
from kernlint.work import OutOfWork

if TYPE_CHECKING:
    from kernlint.cost.device import Device
    from kernlint.interpret.program import Program
    from kernlint.lint.fences import Fences
    from kernlint.lint.suppress import Suppression, Suppressions
    from kernlint.rewrite.text import TextEdit
    from kernlint.rules.base import Rule
    from kernlint.rules.finding import Context
    from kernlint.rules.finding import Finding as RuleFinding
    from kernlint.syntax.tree import Module
    from kernlint.verdict.candidate import Candidate
    from kernlint.verdict.judge import Allowance
    from kernlint.workload import Span, Workload

#: Source lines kept of a finding; a whole kernel would bury the message.
EXCERPT_LINES = 4

#: Files whose text is not their code.
MARKDOWN = frozenset({".md", ".markdown", ".mdown", ".mkd"})

#: Categories that rest on the tensor cores, warps and shared memory of the device asked about: of no use where another
#: vendor's fork of Triton compiles the module.
_OF_THE_DEVICE = frozenset({"precision", "tiling"})

_LOCATED = re.compile(r":(?P<line>\d+)(?::(?P<column>\d+))?: (?P<message>.*)", re.DOTALL)

#: What-ifs for the findings of one file, and for their fixes: some twenty seconds each on a slow machine. Rules that ask for
#: more keep what they have found.
MOST_WORK = 4_000_000
_MOST_FIXING = 3_000_000

#: The share of its time limit after which no further rule is asked about a file, on a machine so slow that the limit is no sign of
#: a hang: then there is time left to say what was left out.
_ASKED = 0.75

_T = TypeVar("_T")


@dataclass(frozen=True)
class Job:
    """One file to check: the name ``shown`` for it, its bytes, its settings, and the name and bytes of its reference.
    ``fixes`` asks for the automatic fixes of what is found, which takes about as long again."""

    shown: str
    data: bytes
    settings: FileSettings
    reference: tuple[str, bytes] | None = None
    fixes: bool = False


@dataclass(frozen=True)
class Result:
    """The findings of a file; ``repeatable`` where another run would surely find the same, as long as the modules that
    it takes helpers from (``helpers``: path and :func:`~kernlint.lint.known_files.digest_of`) stay as they are."""

    findings: tuple[Finding, ...]
    repeatable: bool = True
    helpers: tuple[tuple[str, str], ...] = ()


def check_file(job: Job, begun: Callable[[Callable[[], Result]], None] | None = None) -> Result:
    """Everything that the selected rules find in the file, after suppression comments, in source order.

    What goes wrong is a finding too; nothing but a bug raises, and no bug of a rule does. ``begun`` is given, before anything is
    done, what tells other threads what was found so far, without fixes.
    """
    check = _Check(job)
    if begun is not None:
        begun(check.so_far)
    return check.result()


class _Check:
    def __init__(self, job: Job) -> None:
        self.job = job
        #: The findings by code and place, and how they are told, once there may be any.
        self.best: dict[tuple[str, Span], tuple[Finding, Candidate]] = {}
        self.told: Callable[[Finding, Span], Iterator[tuple[Finding, str]]] | None = None
        self.file = job.shown
        self.codes = job.settings.codes
        self.repeatable = True
        #: What holds the code, where the file is not all code.
        self.notebook: Notebook | None = None
        self.fences: Fences | None = None
        #: The first part of such a file that is not Python, and why.
        self.broken: tuple[Place, str] | None = None
        #: The text of the module that is checked.
        self.code = ""
        self.crashed: set[str] = set()
        #: Rules whose findings are worth a line only with a price, as nobody asked for them.
        self.silent: set[str] = set()
        #: Rules that suppression comments name, to which it matters whether these find something.
        self.named: set[str] = set()
        #: The processor time of this process at which no further rule is asked, and those that were not asked then.
        self.last_s = time.process_time() + _ASKED * job.settings.timeout_s
        self.late = False
        self.unasked: dict[str, None] = {}
        #: The rules that had too little work left to look at everything.
        self.short: dict[str, None] = {}
        #: The work that trying fixes may take, and the rules whose fixes were not all tried.
        self.fixing: Allowance | None = None
        self.unfixed: dict[str, None] = {}
        self.helpers: set[str] = set()

    def result(self) -> Result:
        return self._result_of(self._findings())

    def so_far(self) -> Result:
        """The findings that there are already."""
        told = self.told
        best = list(self.best.items())
        found = (pair for (_, span), (finding, _) in best for pair in told(finding, span)) if told is not None else ()
        return self._result_of(found)

    def _result_of(self, found: Iterable[tuple[Finding, str]]) -> Result:
        findings = fingerprinted(sorted(found, key=lambda pair: pair[0].key))
        helpers = tuple((path, digest_of(path)) for path in sorted(self.helpers))
        return Result(tuple(f for f in findings if f.code in self.codes), self.repeatable, helpers)

    def _findings(self) -> Iterator[tuple[Finding, str]]:
        """Each finding with the source that it stands on."""
        from kernlint.lint.suppress import read_suppressions
        from kernlint.syntax.source import decode_source

        if not self.job.data.strip(b" \t\r\n\f\xef\xbb\xbf"):
            return
        try:
            text = decode_source(self.job.data, self.file).text
            if self.file.endswith(".ipynb"):
                self.notebook = read_notebook(text)
                text, self.broken = self.notebook.text, self.notebook.broken
        except SourceError as error:
            yield self._failure(UNREADABLE, str(error)), ""
            return
        # A page of documentation may show code with gaps in it.
        severity = "info" if PurePath(self.file).suffix.lower() in MARKDOWN else None
        try:
            module, reference = self._parse(text)
        except SourceError as error:
            message = str(error)
            known = SYNTAX_ERROR if "syntax error: " in message else ANALYSIS_FAILED
            yield self._failure(known, message.replace("syntax error: ", "", 1), severity), ""
            return
        if self.broken is not None:
            yield self._of_broken(*self.broken, severity), ""
        if module is None or not concerns_us(self.job.data):
            return
        self.code = module.text
        suppressions = read_suppressions(module)
        self.named = {code for comment in suppressions.comments for _, code in comment.rules}

        def told(finding: Finding, span: Span, candidate: Candidate | None = None) -> Iterator[tuple[Finding, str]]:
            suppressed = finding.category != "diagnostic" and suppressions.suppress(
                finding.code, span.line, finding.kernel
            )
            if not suppressed and (finding.gain is not None or finding.code not in self.silent):
                if candidate is not None and self.job.fixes:
                    finding = replace(finding, fix=self._fix(candidate, finding.gain))
                yield self._finished(finding, span, module)

        self.told = told
        for found in self._kernel_findings(module, reference):
            yield from told(*found)
        if self.unfixed:
            why = f"took nearly {self.job.settings.timeout_s:g} s" if self.late else "too much work"
            message = f"{why}: not all fixes of {_listed(self.unfixed)} were worked out"
            yield self._finished(ANALYSIS_FAILED.at(self.file, message, _place(_head(module))), _head(module), module)
        for finding, span in self._about(suppressions, module):
            yield self._finished(finding, span, module)

    def _of_broken(self, place: Place, reason: str, severity: str | None) -> Finding:
        if self.notebook is None:
            return self._failure(SYNTAX_ERROR, f":{place.line}:{place.column}: {reason}", severity)
        return SYNTAX_ERROR.at(self.file, reason, place, self.job.settings.severity.get(SYNTAX_ERROR.code))

    def _parse(self, text: str) -> tuple[Module | None, Module | None]:
        """The module and its reference; no module where Markdown or a notebook holds no code."""
        from kernlint.lint.fences import read_fences, read_page
        from kernlint.syntax.source import SourceText, decode_source
        from kernlint.syntax.task import is_markdown, read_task
        from kernlint.syntax.tree import parse_module

        reference = None
        if self.job.reference is not None:
            name, data = self.job.reference
            reference = read_task(SourceText(decode_source(data, name).text, name)).kernel
        # Comments are of interest where some are ours.
        layout = "kernlint" in text.lower()
        if self.notebook is not None:
            return (parse_module(text, self.file, layout=layout) if text.strip() else None), reference
        source = SourceText(text, self.file)
        try:
            task, readable, self.broken = read_page(source, layout)
        except SourceError as error:
            if "Markdown without Python code" in str(error):
                return None, None
            raise
        if is_markdown(source):
            self.fences = read_fences(readable)
        return task.kernel, reference or task.reference

    # -- rules ------------------------------------------------------------------------------------------------------

    def _kernel_findings(
        self, module: Module, reference: Module | None
    ) -> Iterator[tuple[Finding, Span, Candidate | None]]:
        """What the rules find, each code once at a place, with what it was made of; and one diagnostic where something crashed.
        The analysed program is there until all is taken, so that fixes can be tried."""
        from kernlint.syntax.dialect import dialect, has_kernel

        failure = ""
        best = self.best
        with ExitStack() as open_programs:
            try:
                if has_kernel(module) and dialect(module) is None:
                    for candidate in self._candidates(module, reference, open_programs):
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
                failure = _internal(error)
            told = set()
            for (_, span), (finding, found_as) in best.items():
                same = finding.code, span.line, finding.message
                if same not in told or found_as.finding.change is not None:
                    told.add(same)
                    yield finding, span, found_as
        if self.crashed and not failure:
            failure = "; ".join(sorted(self.crashed))
        if failure:
            self.repeatable = False
        elif self.unasked:  # as they would be again
            failure = f"took nearly {self.job.settings.timeout_s:g} s: {_listed(self.unasked)} may find more, which was not looked for"
        elif self.short:
            failure = f"too much work: {_listed(self.short)} may find more, which was not looked for"
        if failure:
            yield ANALYSIS_FAILED.at(self.file, failure), _head(module), None

    def _candidates(self, module: Module, reference: Module | None, open_programs: ExitStack) -> Iterator[Candidate]:
        """What each rule finds in the program, which ``open_programs`` closes."""
        from kernlint.analysis import host_facts, target_for
        from kernlint.cost.device import find_device
        from kernlint.interpret.assume import parse_fact
        from kernlint.interpret.pins import pinned, requirement_files
        from kernlint.interpret.program import Program
        from kernlint.interpret.question import Question
        from kernlint.rules.registry import all_rules
        from kernlint.verdict.judge import Allowance

        device = find_device(self.job.settings.device)
        target = target_for(self.job.settings.target_triton, device)
        if self.job.settings.target_triton is None:
            target = pinned(module.path, target)
            self.helpers |= set(map(str, requirement_files(module.path)))
        rules = [rule for rule in all_rules() if rule.code in self.codes]
        self.silent = {rule.code for rule in rules if rule.silent_if_open} - self.job.settings.asked
        asked = target if any(rule.category in NOT_ABOUT_SPEED for rule in rules) else None
        settings = self.job.settings
        facts = tuple(map(parse_fact, settings.assumptions))
        question = Question(
            overrides=dict(settings.constants), facts=facts, host=host_facts(device), target=asked, strict=False
        )
        self.allowance = Allowance(MOST_WORK)
        self.short = self.allowance.short
        program = open_programs.enter_context(closing(Program(module, reference, question)))
        # What was looked into, also while rules were asked and fixes tried.
        open_programs.callback(lambda: self.helpers.update(map(os.path.abspath, program.imported)))
        yield from self._of_workload(program, program.source_alone, device, [rule for rule in rules if rule.lexical])
        rules = [rule for rule in rules if not rule.lexical]
        for workload in program.workloads():
            for call, concerned in calls_for(workload, rules):
                yield from self._of_workload(program, call, device, concerned)
            yield from self._of_stated(program, workload, device, rules)
        rules = [rule for rule in rules if rule.bare]
        for workload in program.bare_kernels() if rules and not self.late else ():
            yield from self._of_workload(program, workload, device, rules)

    def _of_stated(
        self, program: Program, workload: Workload, device: Device, rules: list[Rule]
    ) -> Iterator[Candidate]:
        """What rules about speed find where open arguments have the types that checks, annotations and prose state."""
        from kernlint.interpret.edits import NO_EDITS
        from kernlint.interpret.evidence import stated

        clues = {} if self.late else self._guarded("evidence", lambda: stated(program, workload), {})
        concerned = [rule for rule in rules if rule.category not in NOT_ABOUT_SPEED and not rule.silent_if_open]
        if not clues or not concerned:
            return
        typed = program.at(dtypes={name: clue.dtypes[0] for name, clue in clues.items()})
        call = typed.workload(workload.entry, NO_EDITS)
        assumed = tuple(f"assumed: `{name}` is {clue.dtypes[0]} ({clue.because})" for name, clue in clues.items())
        for candidate in self._of_workload(typed, call, device, concerned) if call is not None else ():
            yield replace(candidate, assumed=assumed)

    def _of_workload(
        self, program: Program, workload: Workload, device: Device, rules: list[Rule]
    ) -> Iterator[Candidate]:
        from kernlint.cost.estimate import Estimator
        from kernlint.rules.finding import Context

        if self.late:
            self.unasked.update(dict.fromkeys(rule.code for rule in rules))
            return
        context = Context(
            program,
            workload,
            device,
            price=Estimator(device).estimate,
            options=self.job.settings.options,
            device_named=self.job.settings.device_named,
        )
        known = self._guarded("the cost model", lambda: _has_time(context.estimate(workload).total_us), False)
        unheard = set[str]() if known else self.silent - self.named
        for rule in rules:
            if rule.code in unheard:
                continue
            self.late = self.late or time.process_time() > self.last_s
            if self.late:
                self.unasked[rule.code] = None
                continue
            found: list[Candidate] = []
            self._guarded(rule.code, partial(_ask, rule, context, known, self.allowance, found), None)
            if not (found and rule.category in _OF_THE_DEVICE and program.other_vendor):
                yield from found

    def _guarded(self, what: str, action: Callable[[], _T], default: _T) -> _T:
        """``action()``, or ``default`` where it crashes: one bad rule must not cost what the others find."""
        try:
            return action()
        except OutOfWork:
            raise
        except Exception as error:
            self.crashed.add(f"{what}: {_internal(error)}")
            return default

    def _from_rule(self, candidate: Candidate, span: Span) -> Finding:
        found: RuleFinding = candidate.finding
        rule = found.rule
        scopes = {
            scope: {
                "before_us": round(priced.before_us, 2),
                "after_us": round(priced.after_us, 2),
                "speedup": round(priced.middle, 3),
                "low": round(priced.low, 3),
                "high": round(priced.high, 3),
            }
            for scope, priced in candidate.gains.items()
        }
        gain = Gain(self.job.settings.device, scopes) if scopes else None
        return Finding(
            code=rule.code,
            name=rule.name,
            severity=self._severity(candidate, gain),
            category=rule.category,
            message=self._said(found.message, span),
            file=self.file,
            place=_place(span),
            kernel=found.kernel,
            evidence=(*(self._fact(e.text, e.span) for e in found.evidence), *candidate.assumed),
            advice=self._said(found.change.method, span) if found.change is not None else "",
            gain=gain,
        )

    def _severity(self, candidate: Candidate, gain: Gain | None) -> str:
        """What rests on an assumption is a remark, and so is what is only slow, unless the change is sure to gain at sizes that
        the code tells."""
        rule, proven = candidate.finding.rule, candidate.finding.severity
        if candidate.assumed or not self._pays(rule, gain):
            return "info"
        if proven == "warning" and rule.category not in NOT_ABOUT_SPEED and (gain is None or not gain.sure):
            proven = "info"
        return self.job.settings.severity.get(rule.code, proven)

    def _pays(self, rule: Rule, gain: Gain | None) -> bool:
        """Whether the change of a finding is worth making: whatever it gains where that is not the point. A choice that somebody
        may have measured must be sure to gain."""
        if gain is None or rule.category in NOT_ABOUT_SPEED:
            return True
        least = self.job.settings.options.get((rule.code, MIN_GAIN.name), MIN_GAIN.default)
        return gain.best >= least and (gain.sure or not rule.tuning)

    def _fix(self, candidate: Candidate, gain: Gain | None) -> Fix | None:
        """The change as edits of the file, where it pays, a rewrite can make it and there is work left for it."""
        from kernlint.verdict.judge import Allowance

        code = candidate.finding.rule.code
        self.late = self.late or time.process_time() > self.last_s
        if self.late:
            self.unfixed[code] = None
            return None
        if self.fixing is None:
            self.fixing = Allowance(_MOST_FIXING)
            self.unfixed = self.fixing.short
        return self.fixing.ask(
            code, lambda: self._guarded(f"the fix of {code}", lambda: self._made(candidate, gain), None)
        )

    def _made(self, candidate: Candidate, gain: Gain | None) -> Fix | None:
        pays = self._pays(candidate.finding.rule, gain)
        change = candidate.finding.change
        program = candidate.program
        unsure = bool(candidate.assumed) or not pays
        if unsure or change is None or program is None or program.kernel.text != self.code:
            return None
        made = candidate.attempt.rewriting
        if made is None or not candidate.attempt.automatic:
            return None
        edits = self._edits(program.kernel.text, made.edits)
        return None if edits is None else Fix(change.method, edits, made.effects.applicability)

    def _edits(self, text: str, edits: Iterable[TextEdit]) -> tuple[Edit, ...] | None:
        """``edits`` of the module's ``text`` as edits of the file; None where they do not fit into its cells or fences."""
        from kernlint.rewrite.text import located, tidy

        tidied = tidy(text, edits)
        holder = self.notebook or self.fences
        if holder is not None:
            return holder.edits(tidied)
        return tuple(Edit(Place(*place), new) for place, new in located(text, tidied))

    def _in_file(self, place: Place) -> Place:
        """A place in the module as one in the file."""
        holder = self.notebook or self.fences
        return place if holder is None else holder.place(place)

    def _fact(self, text: str, span: Span | None) -> str:
        if span is None or span.file != self.file:
            return text if span is None else f"{text} ({shown_name(span.file)}:{span.line})"
        if self.notebook is None:
            return text if f"line {span.line}" in text else f"{text} (line {span.line})"
        place = self.notebook.place(_place(span))
        where = f"cell {place.cell}, line {place.line}"
        said = self.notebook.worded(text)
        return said if where in said else f"{said} ({where})"

    def _said(self, text: str, span: Span) -> str:
        """``text`` of what is at ``span``, with the lines that it names as the file has them."""
        return text if self.notebook is None else self.notebook.worded(text, self.notebook.cell_of(span.line)[0])

    # -- comments ---------------------------------------------------------------------------------------------------

    def _about(self, suppressions: Suppressions, module: Module) -> Iterator[tuple[Finding, Span]]:
        """What is to be said of the suppression comments themselves."""
        for span, message in suppressions.malformed:
            yield MALFORMED_SUPPRESSION.at(self.file, message, _place(span)), span
        if self.crashed or self.late or not self.repeatable:
            return
        for comment in suppressions.comments:
            # A rule that did not run could not use its suppression.
            unused = [text for text, code in comment.rules if code in self.codes and code not in comment.used]
            if unused:
                message = f"nothing to suppress for {', '.join(unused)}"
                fix = self._removal(comment, set(unused), module)
                yield UNUSED_SUPPRESSION.at(self.file, message, _place(comment.comment), fix=fix), comment.comment

    def _removal(self, comment: Suppression, unused: set[str], module: Module) -> Fix | None:
        from kernlint.rewrite.text import TextEdit, line_starts

        span = comment.comment
        rest = comment.without(unused)
        starts = [*line_starts(module.text), len(module.text)]
        number = span.line - module.first_line
        start, end = (starts[number] + column - 1 for column in (span.column, span.end_column))
        if not rest:
            line = module.lines[number]
            before, behind = line[: span.column - 1], line[span.end_column - 1 :]
            if before.strip():  # code, or another tool's comment
                start -= len(before) - len(before.rstrip())
                end += 0 if behind.strip() else len(behind)
            elif behind.strip():
                end += len(behind) - len(behind.lstrip())
            else:
                start, end = starts[number], starts[number + 1]
        edits = self._edits(module.text, [TextEdit(start, end, rest, describes=True)])
        return None if edits is None else Fix("remove the unused suppression", edits)

    # -- findings ---------------------------------------------------------------------------------------------------

    def _finished(self, finding: Finding, span: Span, module: Module) -> tuple[Finding, str]:
        """``finding`` with its excerpt, its place in the cell of a notebook and its overridden level."""
        place = self._in_file(finding.place)
        shown = module.excerpt(span) if self.fences is None else self.fences.excerpt(place)
        lines = tuple(shown[:EXCERPT_LINES])
        offset = module.first_line - 1
        source = source_of(module.lines, span.line - offset, span.column, span.end_line - offset, span.end_column)
        level = finding.severity
        if finding.category == "diagnostic":
            level = self.job.settings.severity.get(finding.code, level)
        return replace(finding, lines=lines, place=place, severity=level), source

    def _failure(self, diagnostic: Diagnostic, message: str, severity: str | None = None) -> Finding:
        """``diagnostic`` with the place that ``message`` begins with."""
        message = message.removeprefix(self.file)
        located = _LOCATED.match(message)
        line = column = 1
        if located:
            line, column, message = int(located["line"]), int(located["column"] or 1), located["message"]
        place = Place(line, column, line, column)
        if self.notebook is not None and located:
            place = self.notebook.place(place)
        level = self.job.settings.severity.get(diagnostic.code, severity or diagnostic.severity)
        text = self.job.data.decode("utf-8", "replace") if self.notebook is None and located else ""
        lines = tuple(text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[line - 1 : line])
        return diagnostic.at(self.file, message.removeprefix(": "), place, level, lines=lines)


def _ask(rule: Rule, context: Context, known: bool, allowance: Allowance, found: list[Candidate]) -> None:
    """Add to ``found`` what ``rule`` finds by the time that its ``allowance`` is spent, with the price of each change. Without the
    sizes (``known`` is false) a change has no price, and following the changed program would be in vain."""
    from kernlint.verdict.judge import price, unpriced

    if known:
        found += price(context, [rule], allowance)
        return
    with allowance.share(rule.code):
        for finding in rule.check(context):
            found.append(unpriced(context, finding))


def _listed(codes: Iterable[str]) -> str:
    return ", ".join(sorted(codes))


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


def _place(span: Span) -> Place:
    return Place(span.line, span.column, span.end_line, span.end_column)


def _head(module: Module) -> Span:
    from kernlint.workload import Span

    return Span(module.path, module.first_line, 1, module.first_line, 1)


def _has_time(total_us: Callable[[str], float | None]) -> bool:
    return any(total_us(scope) is not None for scope in ("gpu", "call"))


def _weight(finding: Finding) -> tuple[int, float]:
    """Of findings alike, found in several workloads, the one that matters most comes first."""
    return SEVERITIES.index(finding.severity), -(finding.gain.best if finding.gain is not None else 0.0)


def _internal(error: Exception) -> str:
    return f"internal error, please report it: {summary_of(error)}"
