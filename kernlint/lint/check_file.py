"""The findings of one file: from its bytes and settings to plain data. Runs in a worker process."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from textwrap import dedent
from typing import TYPE_CHECKING

from kernlint.errors import SourceError
from kernlint.lint.asking import Asking, head_of, listed
from kernlint.lint.diagnostics import (
    ANALYSIS_FAILED,
    MALFORMED_SUPPRESSION,
    SYNTAX_ERROR,
    UNREADABLE,
    UNUSED_SUPPRESSION,
)
from kernlint.lint.file_findings import ASKED, place_of
from kernlint.lint.fingerprint import fingerprinted
from kernlint.lint.job import Job, Result
from kernlint.lint.known_files import digest_of
from kernlint.lint.model import Finding, Fix, Place
from kernlint.lint.notebook import read_notebook
from kernlint.lint.reading import concerns_us

if TYPE_CHECKING:
    from kernlint.interpret.earlier import Earlier
    from kernlint.lint.suppress import Suppression, Suppressions
    from kernlint.syntax.tree import Module
    from kernlint.verdict.candidate import Candidate
    from kernlint.workload import Span

#: Tags of a template that direct its generator, and those in the place of which something is put.
_DIRECTIVE = re.compile(r"\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_PLACE = re.compile(r"\{\{.*?\}\}|\$\{\w+\}|\$[A-Za-z_]\w*|<%.*?%>")


def check_file(
    job: Job, begun: Callable[[Callable[[], Result]], None] | None = None, earlier: Earlier | None = None
) -> Result:
    """Everything that the selected rules find in the file, after suppression comments, in source order.

    What goes wrong is a finding too; nothing but a bug raises, and no bug of a rule does. ``begun`` is given, before anything is
    done, what tells other threads what was found so far, without fixes. Where the file will be asked about again, ``earlier``
    keeps what its kernels were found to do.
    """
    check = Check(job, earlier)
    if begun is not None:
        begun(check.so_far)
    return check.result()


class Check(Asking):
    """One file, from its bytes to its findings: first those :meth:`at_once`, if somebody waits for them, then all."""

    def result(self) -> Result:
        self.last_s = time.process_time() + ASKED * self.job.settings.timeout_s
        return self._result_of(self._findings())

    def at_once(self) -> tuple[Result, bool]:
        """The findings that need no prices, as they will be among all, and whether that is all. The program stays open
        until :meth:`result` or :meth:`close`."""
        from kernlint.verdict.search import Haste

        self.haste = Haste()
        found = self._result_of(self._findings())
        complete = not self.haste.short and not self.crashed
        self.haste = None
        self.best.clear()
        self.crashed.clear()
        return found, complete

    def close(self) -> None:
        self.open_programs.close()

    def so_far(self) -> Result:
        """The findings that there are already."""
        reported = self.reported
        best = list(self.best.items())
        found = (
            (pair for (_, span), (finding, _) in best for pair in reported(finding, span))
            if reported is not None
            else ()
        )
        return self._result_of(found)

    def _result_of(self, found: Iterable[tuple[Finding, str]]) -> Result:
        findings = fingerprinted(sorted(found, key=lambda pair: pair[0].key))
        helpers = tuple((path, digest_of(path)) for path in sorted(self.helpers))
        undecided = tuple(entry for entry, timed in self.timed.items() if not timed)
        return Result(tuple(f for f in findings if f.code in self.codes), self.repeatable, helpers, undecided)

    def _findings(self) -> Iterator[tuple[Finding, str]]:
        """Each finding with the source that it stands on."""
        from kernlint.lint.suppress import read_suppressions
        from kernlint.syntax.source import decode_source
        from kernlint.syntax.task import is_page

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
        severity = "info" if is_page(self.file) else None  # it may show code with gaps in it
        try:
            self.parsed = module, reference = self.parsed or self._parse(text)
        except SourceError as error:
            message = str(error)
            known = SYNTAX_ERROR if "syntax error: " in message else ANALYSIS_FAILED
            if severity is None and (other := _no_program(text)):
                message, severity = f"{message} ({other}, not a program)", "info"
            yield self._failure(known, message.replace("syntax error: ", "", 1), severity), ""
            return
        if self.broken is not None:
            yield self._of_broken(*self.broken, severity), ""
        if module is None or not concerns_us(self.job.data):
            return
        self.code = module.text
        suppressions = read_suppressions(module)
        self.named = {code for comment in suppressions.comments for _, code in comment.rules}

        def reported(finding: Finding, span: Span, candidate: Candidate | None = None) -> Iterator[tuple[Finding, str]]:
            suppressed = finding.category != "diagnostic" and suppressions.suppress(
                finding.code, span.line, finding.kernel
            )
            if not suppressed and (finding.gain is not None or finding.code not in self.silent):
                if candidate is not None and self.job.fixes:
                    finding = replace(finding, fix=self._fix(candidate, finding.gain))
                yield self._finished(finding, span, module)

        self.reported = reported
        for found in self._kernel_findings(module, reference):
            yield from reported(*found)
        if self.haste is not None:
            return
        if self.unfixed:
            head = head_of(module)
            short = self.cut_short(f"not all fixes of {listed(self.unfixed)} were worked out", place_of(head))
            yield self._finished(short, head, module)
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

    def _about(self, suppressions: Suppressions, module: Module) -> Iterator[tuple[Finding, Span]]:
        """What is to be said of the suppression comments themselves."""
        for span, message in suppressions.malformed:
            yield MALFORMED_SUPPRESSION.at(self.file, message, place_of(span)), span
        if self.crashed or self.late or not self.repeatable:
            return
        for comment in suppressions.comments:
            # A rule that did not run could not use its suppression.
            unused = [text for text, code in comment.rules if code in self.codes and code not in comment.used]
            if unused:
                message = f"nothing to suppress for {', '.join(unused)}"
                fix = self._removal(comment, set(unused), module)
                yield UNUSED_SUPPRESSION.at(self.file, message, place_of(comment.comment), fix=fix), comment.comment

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


def _no_program(text: str) -> str:
    """What ``text`` is that is no Python, under the name of a program; empty where nothing says so."""
    from kernlint.lint.magics import without_magics
    from kernlint.syntax.positions import python_tree
    from kernlint.syntax.source import split_lines
    from kernlint.syntax.task import is_prose

    if is_prose(text):
        return "a page of text that shows code"
    lines = split_lines(text)
    readings = (
        (without_magics(lines), "a cell that IPython reads"),
        (split_lines(dedent(text)), "a part of one, as the indent of all its lines tells"),
        (split_lines(_PLACE.sub("_", _DIRECTIVE.sub("", text))), "a template that a generator fills in"),
    )
    return next((what for made, what in readings if made != lines and python_tree("\n".join(made)) is not None), "")
