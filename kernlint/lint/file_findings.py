"""From what a rule finds to what is told of it: its place, severity, gain, fix."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from kernlint.lint.diagnostics import Diagnostic
from kernlint.lint.discovery import shown_name
from kernlint.lint.fingerprint import source_of
from kernlint.lint.job import Job
from kernlint.lint.model import Edit, Finding, Fix, Gain, Place
from kernlint.lint.notebook import Notebook
from kernlint.rules.base import MIN_GAIN, NOT_ABOUT_SPEED
from kernlint.sandbox import summary_of
from kernlint.work import OutOfWork

if TYPE_CHECKING:
    from kernlint.interpret.callers import CallSite
    from kernlint.interpret.earlier import Earlier
    from kernlint.interpret.program import Program
    from kernlint.lint.fences import Fences
    from kernlint.rewrite.text import TextEdit
    from kernlint.rules.base import Rule
    from kernlint.rules.finding import Context
    from kernlint.rules.finding import Finding as RuleFinding
    from kernlint.syntax.tree import Module
    from kernlint.verdict.candidate import Candidate
    from kernlint.verdict.search import Allowance
    from kernlint.workload import Span


#: Source lines kept of a finding; a whole kernel would bury the message.
EXCERPT_LINES = 4
_LOCATED = re.compile(r":(?P<line>\d+)(?::(?P<column>\d+))?: (?P<message>.*)", re.DOTALL)
_MOST_FIXING = 3_000_000
#: The share of its time limit after which no further rule is asked about a file, on a machine so slow that the limit is no sign of
#: a hang: then there is time left to say what was left out.
ASKED = 0.75
_T = TypeVar("_T")


class FileFindings:
    """Makes findings of one file."""

    def __init__(self, job: Job, earlier: Earlier | None) -> None:
        self.job = job
        self.earlier = earlier
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
        #: The module and its reference, once they are read.
        self.parsed: tuple[Module | None, Module | None] | None = None
        #: The text of the module that is checked.
        self.code = ""
        self.crashed: set[str] = set()
        #: Rules whose findings are worth a line only with a price, as nobody asked for them.
        self.silent: set[str] = set()
        #: Rules that suppression comments name, to which it matters whether these find something.
        self.named: set[str] = set()
        #: The processor time of this process at which no further rule is asked, and those that were not asked then.
        self.last_s = time.process_time() + ASKED * job.settings.timeout_s
        self.late = False
        self.unasked: dict[str, None] = {}
        #: The rules that had too little work left to look at everything.
        self.short: dict[str, None] = {}
        #: What there is to ask of without prices, whose rules that were ``short`` of them are put off; None where all is asked.
        self.haste: Allowance | None = None
        #: By context and rule what was found without prices, None where that is to be asked again, and the work that it took.
        self.settled: dict[tuple[int, str], tuple[list[Candidate] | None, int]] = {}
        #: The contexts that rules were asked about in haste, by the identity of their workloads.
        self.contexts: dict[int, Context] = {}
        self.program: Program | None = None
        self.open_programs = ExitStack()
        #: The rules that found nothing, by the program and by what calls of copies of one function have in common.
        self.nothing: dict[tuple[Program, object], set[str]] = {}
        #: The work that trying fixes may take, and the rules whose fixes were not all tried.
        self.fixing: Allowance | None = None
        self.unfixed: dict[str, None] = {}
        self.helpers: set[str] = set()
        #: The functions that launch, and whether the time of one of their calls is known.
        self.timed: dict[str, bool] = {}
        #: The calls of the file's functions, in the file and in its project, once somebody has looked for them.
        self.sites: dict[bool, list[CallSite]] = {}

    def _guarded(self, what: str, action: Callable[[], _T], default: _T) -> _T:
        """``action()``, or ``default`` where it crashes: one bad rule must not cost what the others find."""
        try:
            return action()
        except OutOfWork:
            raise
        except Exception as error:
            self.crashed.add(f"{what}: {internal_error(error)}")
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
            place=place_of(span),
            kernel=found.kernel,
            evidence=(*(self._fact(e.text, e.span) for e in found.evidence), *candidate.assumed),
            advice=self._said(found.change.method, span) if found.change is not None else "",
            gain=gain,
        )

    def _severity(self, candidate: Candidate, gain: Gain | None) -> str:
        """The level that is left once the change has its price, unless the configuration sets another."""
        from kernlint.rules.levels import priced

        finding, pays = candidate.finding, self._pays(candidate.finding.rule, gain)
        level, told = priced(finding, bool(candidate.assumed) or not pays, None if gain is None else gain.sure)
        return self.job.settings.severity.get(finding.rule.code, level) if told else level

    def _pays(self, rule: Rule, gain: Gain | None) -> bool:
        """Whether the change of a finding is worth making: whatever it gains where that is not the point. A choice that somebody
        may have measured must be sure to gain."""
        if gain is None or rule.category in NOT_ABOUT_SPEED:
            return True
        least = self.job.settings.options.get((rule.code, MIN_GAIN.name), MIN_GAIN.default)
        return gain.best >= least and (gain.sure or not rule.tuning)

    def _fix(self, candidate: Candidate, gain: Gain | None) -> Fix | None:
        """The change as edits of the file, where it pays, a rewrite can make it and there is work left for it."""
        from kernlint.verdict.search import Allowance

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
        from kernlint.rewrite import other_files

        change, program = candidate.finding.change, candidate.program
        unsure = bool(candidate.assumed) or not self._pays(candidate.finding.rule, gain)
        if unsure or change is None or program is None or program.kernel.text != self.code:
            return None
        made = candidate.attempt.rewriting
        self.repeatable = self.repeatable and not program.kernel.once(other_files.answers)
        if made is None or not candidate.attempt.automatic or (candidate.anew and not self._gains_anew(candidate)):
            return None
        edits = self._edits(program.kernel.text, made.edits)
        return None if edits is None else Fix(change.method, edits, made.effects.applicability)

    def _gains_anew(self, candidate: Candidate) -> bool:
        """Whether the kernels written anew for ``candidate`` gain where sizes are known: what a finding promises is no time of theirs."""
        from kernlint.cost.device import find_device
        from kernlint.verdict.written import gains_of_written

        device = find_device(self.job.settings.device)
        return not candidate.gains or any(
            gain.written.pays(1.0) for gain in gains_of_written(candidate, device).values()
        )

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
        place = self.notebook.place(place_of(span))
        where = f"cell {place.cell}, line {place.line}"
        said = self.notebook.worded(text)
        return said if where in said else f"{said} ({where})"

    def _said(self, text: str, span: Span) -> str:
        """``text`` of what is at ``span``, with the lines that it names as the file has them."""
        return text if self.notebook is None else self.notebook.worded(text, self.notebook.cell_of(span.line)[0])

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


def place_of(span: Span) -> Place:
    return Place(span.line, span.column, span.end_line, span.end_column)


def internal_error(error: Exception) -> str:
    return f"internal error, please report it: {summary_of(error)}"
