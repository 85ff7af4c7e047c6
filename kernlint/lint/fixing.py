"""``check --fix``: applies the fixes of findings, round by round, until none is left that can be applied."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace

from kernlint.errors import KernlintError
from kernlint.lint.cells import text_edit, with_cell_edits
from kernlint.lint.diagnostics import ANALYSIS_FAILED, SYNTAX_ERROR
from kernlint.lint.model import Edit, Finding, Fix
from kernlint.lint.run import Outcome
from kernlint.records import dataclass
from kernlint.rewrite.text import CannotRewrite, apply_edits
from kernlint.rules.base import NOT_ABOUT_SPEED
from kernlint.rules.registry import find_rule
from kernlint.syntax.source import decode_source
from kernlint.write import re_encoded

MAX_ROUNDS = 10

_BROKEN = frozenset({SYNTAX_ERROR.code, ANALYSIS_FAILED.code})

#: What a finding of a file is known by from one round to the next: code, kernel, and of wrong code what it says, as the
#: analysis may get to the next fault where one is mended.
_Kind = tuple[str, str, str]


@dataclass
class Fixes:
    """What was done, by the name that a file is shown with: the new bytes of each ``changed`` file, the bytes that it had
    (``original``), what was ``found`` in it then, which of that was ``fixed``, the codes and reasons of what was
    ``refused``, and why a file is ``unwritten``; and how many findings have a fix that was not asked for (``unsafe``)."""

    changed: dict[str, bytes] = field(default_factory=dict)
    original: dict[str, bytes] = field(default_factory=dict)
    found: dict[str, list[Finding]] = field(default_factory=dict)
    fixed: dict[str, list[Finding]] = field(default_factory=dict)
    refused: dict[str, dict[str, str]] = field(default_factory=dict)
    unwritten: dict[str, str] = field(default_factory=dict)
    unsafe: int = 0

    def forget(self, file: str) -> list[Finding]:
        """Take the changes of ``file`` back, which cannot be written; what was found in it before them."""
        del self.changed[file]
        self.fixed.pop(file, None)
        return self.found[file]


def apply_fixes(
    check: Callable[[Mapping[str, bytes]], Outcome],
    narrowed: Callable[[Outcome], Outcome],
    read: Callable[[str], bytes],
    unsafe: bool,
    rounds: int = MAX_ROUNDS,
) -> tuple[Outcome, Fixes]:
    """Fix what can be fixed of what ``check`` finds, and what is found then.

    ``check(contents)`` checks the files that ``contents`` gives the bytes of, by shown name, and all files as they lie on
    disk where it is empty; ``narrowed`` leaves out findings that do not count; ``read`` gives the bytes of a file. In each
    round every file gets the fixes that neither overlap nor touch, those that change its structure before those that
    tune it. A round after which a file does not parse, or still has what was fixed, is taken back and tried with half of
    its fixes, the last one of which is then refused. What goes wrong with one file does not concern the others.
    """
    return _Rounds(check, narrowed, read, unsafe).run(rounds)


class _Rounds:
    def __init__(
        self,
        check: Callable[[Mapping[str, bytes]], Outcome],
        narrowed: Callable[[Outcome], Outcome],
        read: Callable[[str], bytes],
        unsafe: bool,
    ) -> None:
        self.check, self.narrowed, self.read, self.unsafe = check, narrowed, read, unsafe
        self.fixes = Fixes()
        #: Per file the fixes that were tried alone and failed, and how many to try at a time.
        self.given_up: dict[str, set[str]] = defaultdict(set)
        self.at_once: dict[str, int] = {}

    def run(self, rounds: int) -> tuple[Outcome, Fixes]:
        everything = self.check({})
        outcome = self.narrowed(everything)
        originally = _by_file(outcome.findings)
        for _ in range(rounds):
            before = dict(self.fixes.changed)
            tried, applied = self._apply(outcome, before)
            if not tried:
                break
            if not applied:
                continue
            after = _merged(everything, self.check({file: self.fixes.changed[file] for file in applied}), applied)
            for file, reason in _not_as_promised(outcome, self.narrowed(after), applied).items():
                self._take_back(file, applied.pop(file), reason, before)
                after = _merged(after, everything, [file])
            for file, fixed in applied.items():
                self.fixes.fixed.setdefault(file, []).extend(fixed)
                self.fixes.found.setdefault(file, originally[file])
            everything, outcome = after, self.narrowed(after)
        if not self.unsafe:
            waiting = [f for f in outcome.findings if f.fix is not None and f.fix.applicability == "unsafe"]
            self.fixes.unsafe = len(waiting)
        return outcome, self.fixes

    def _apply(self, outcome: Outcome, before: Mapping[str, bytes]) -> tuple[bool, dict[str, list[Finding]]]:
        """Make the fixes of one round; whether there were any to try, and those that were made, by file."""
        applied: dict[str, list[Finding]] = {}
        tried = False
        for file, findings in _by_file(outcome.findings).items():
            open_ = [f for f in findings if self._may(f) and _name(f) not in self.given_up[file]]
            chosen = _chosen(open_)[: self.at_once.get(file)]
            if not chosen:
                continue
            tried = True
            try:
                data = before[file] if file in before else self.read(file)
                self.fixes.changed[file] = _with_fixes(data, file, [f.fix for f in chosen if f.fix is not None])
                self.fixes.original.setdefault(file, data)
                applied[file] = chosen
            except (KernlintError, ValueError, LookupError) as error:
                self._take_back(file, chosen, str(error).removeprefix(f"{file}: "), before)
        return tried, applied

    def _may(self, finding: Finding) -> bool:
        return finding.fix is not None and (self.unsafe or finding.fix.applicability == "safe")

    def _take_back(self, file: str, fixed: list[Finding], reason: str, before: Mapping[str, bytes]) -> None:
        if file in before:
            self.fixes.changed[file] = before[file]
        else:
            self.fixes.changed.pop(file, None)
        self.at_once[file] = max(1, len(fixed) // 2)
        if len(fixed) == 1:
            self.given_up[file].add(_name(fixed[0]))
            self.fixes.refused.setdefault(file, {})[fixed[0].code] = reason


def _merged(outcome: Outcome, newer: Outcome, files: Iterable[str]) -> Outcome:
    """``outcome`` with what ``newer`` says of ``files``."""
    concerned = set(files)
    kept = [finding for finding in outcome.findings if finding.file not in concerned]
    new = [finding for finding in newer.findings if finding.file in concerned]
    return replace(outcome, findings=tuple(sorted([*kept, *new], key=lambda finding: finding.key)))


def _by_file(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        found[finding.file].append(finding)
    return found


def _kind(finding: Finding) -> _Kind:
    return finding.code, finding.kernel, finding.message if finding.category in NOT_ABOUT_SPEED else ""


def _name(finding: Finding) -> str:
    """What tells a finding from the others of its file, in whatever round."""
    return "\0".join((*_kind(finding), finding.fingerprint))


def _chosen(findings: Sequence[Finding]) -> list[Finding]:
    """Those to fix in one round: the largest predicted gain first, and nothing that overlaps or touches it."""
    structural = [
        finding for finding in findings if finding.category == "diagnostic" or not find_rule(finding.code).tuning
    ]
    chosen: list[Finding] = []
    for finding in sorted(structural or findings, key=lambda f: (-(f.gain.best if f.gain is not None else 1.0), f.key)):
        if not any(_touch(finding.fix, other.fix) for other in chosen):
            chosen.append(finding)
    return chosen


def _touch(one: Fix | None, other: Fix | None) -> bool:
    assert one is not None and other is not None
    return any(_ends(a)[0] <= _ends(b)[1] and _ends(b)[0] <= _ends(a)[1] for a in one.edits for b in other.edits)


def _ends(edit: Edit) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    place = edit.place
    cell = place.cell or 0
    return (cell, place.line, place.column), (cell, place.end_line, place.end_column)


def _with_fixes(data: bytes, file: str, fixes: Iterable[Fix]) -> bytes:
    """The bytes of a file with all edits of ``fixes`` made."""
    source = decode_source(data, file)
    edits = [edit for fix in fixes for edit in fix.edits]
    if any(edit.place.cell is not None for edit in edits):
        text = with_cell_edits(source.text, edits)
    else:
        text = apply_edits(source.text, [text_edit(source.text, edit) for edit in edits])
    if text == source.text:
        raise CannotRewrite("the source has the change already")
    return re_encoded(text, source, data)


def _not_as_promised(before: Outcome, after: Outcome, applied: Mapping[str, list[Finding]]) -> dict[str, str]:
    """The files that a round has left broken, or with as many of the findings that can be fixed as before, and which of
    that it is."""
    old, new = _by_file(before.findings), _by_file(after.findings)
    wrong = {}
    for file, fixed in applied.items():
        was, now = (Counter(_kind(f) for f in found if f.fix is not None) for found in (old[file], new.get(file, [])))
        # A cell of a notebook, or an example in Markdown, may have been broken before.
        known = {f.message for f in old[file]}
        broken = next((f for f in new.get(file, []) if f.code in _BROKEN and f.message not in known), None)
        if broken is not None:
            wrong[file] = f"the file would end in {broken.code}: {broken.message}"
        elif any(now[kind] > was[kind] - count for kind, count in Counter(map(_kind, fixed)).items()):
            wrong[file] = "it would be found again in the changed file"
    return wrong
