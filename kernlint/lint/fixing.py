"""``check --fix``: applies the fixes of findings, round by round, until none is left that can be applied."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from pathlib import PurePath

from kernlint.errors import KernlintError
from kernlint.lint.check_file import MARKDOWN
from kernlint.lint.diagnostics import ANALYSIS_FAILED, SYNTAX_ERROR
from kernlint.lint.model import Edit, Finding, Fix
from kernlint.lint.run import Outcome
from kernlint.records import dataclass
from kernlint.rewrite.text import CannotRewrite, TextEdit, apply_edits, line_starts
from kernlint.rules.registry import find_rule
from kernlint.syntax.source import SourceText, decode_source
from kernlint.write import encoded

MAX_ROUNDS = 10

#: What a finding of a file is known by from one round to the next: code, kernel.
_Kind = tuple[str, str]


@dataclass
class Fixes:
    """What was done: the new bytes of each ``changed`` file by the name it is shown with, the bytes that it had
    (``original``), how many findings were fixed, and how many have a fix that was not asked for (``unsafe``) or could
    not be applied to that kind of file (``elsewhere``)."""

    changed: dict[str, bytes] = field(default_factory=dict)
    original: dict[str, bytes] = field(default_factory=dict)
    fixed: int = 0
    unsafe: int = 0
    elsewhere: int = 0


def apply_fixes(
    check: Callable[[Mapping[str, bytes]], Outcome],
    read: Callable[[str], bytes],
    unsafe: bool,
    rounds: int = MAX_ROUNDS,
) -> tuple[Outcome, Fixes]:
    """Fix what can be fixed of what ``check`` finds, and what is found then.

    ``check(contents)`` checks all files, with ``contents`` in the place of what lies on disk, by shown name; ``read``
    gives the bytes of a file. In each round every file gets the fixes that neither overlap nor touch, those that change
    its structure before those that tune it. A round after which a file does not parse, or still has what was fixed, is
    taken back, and its fixes are not tried again.
    """
    fixes = Fixes()
    refused: dict[str, set[_Kind]] = defaultdict(set)
    outcome = check(fixes.changed)
    for _ in range(rounds):
        before = dict(fixes.changed)
        applied: dict[str, list[Finding]] = {}
        for file, findings in _by_file(outcome.findings).items():
            chosen = _chosen([f for f in findings if _may(f, unsafe) and _kind(f) not in refused[file]])
            if chosen:
                data = before[file] if file in before else read(file)
                try:
                    fixes.original.setdefault(file, data)
                    fixes.changed[file] = _with_fixes(data, file, [f.fix for f in chosen if f.fix is not None])
                except (KernlintError, UnicodeEncodeError):
                    refused[file] |= {_kind(finding) for finding in chosen}
                    continue
                applied[file] = chosen
        if not applied:
            break
        after = check(fixes.changed)
        taken_back = _not_as_promised(outcome, after, applied)
        for file in taken_back:
            refused[file] |= {_kind(finding) for finding in applied.pop(file)}
            if file in before:
                fixes.changed[file] = before[file]
            else:
                del fixes.changed[file]
        fixes.fixed += sum(len(findings) for findings in applied.values())
        outcome = check(fixes.changed) if taken_back else after
    for finding in outcome.findings:
        if finding.fix is not None:
            fixes.elsewhere += not _rewritable(finding)
            fixes.unsafe += _rewritable(finding) and finding.fix.applicability == "unsafe" and not unsafe
    return outcome, fixes


def _by_file(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        found[finding.file].append(finding)
    return found


def _kind(finding: Finding) -> _Kind:
    return finding.code, finding.kernel


def _rewritable(finding: Finding) -> bool:
    """Whether the file of ``finding`` is one whose text is its code: no notebook, no Markdown."""
    return finding.place.cell is None and PurePath(finding.file).suffix.lower() not in MARKDOWN


def _may(finding: Finding, unsafe: bool) -> bool:
    return finding.fix is not None and _rewritable(finding) and (unsafe or finding.fix.applicability == "safe")


def _chosen(findings: Sequence[Finding]) -> list[Finding]:
    """Those to fix in one round: the largest predicted gain first, and nothing that overlaps or touches it."""
    structural = [finding for finding in findings if not _tunes(finding)]
    chosen: list[Finding] = []
    for finding in sorted(structural or findings, key=lambda f: (-(f.gain.best if f.gain is not None else 1.0), f.key)):
        if not any(_touch(finding.fix, other.fix) for other in chosen):
            chosen.append(finding)
    return chosen


def _tunes(finding: Finding) -> bool:
    return finding.category != "diagnostic" and find_rule(finding.code).tuning


def _touch(one: Fix | None, other: Fix | None) -> bool:
    assert one is not None and other is not None
    return any(_ends(a)[0] <= _ends(b)[1] and _ends(b)[0] <= _ends(a)[1] for a in one.edits for b in other.edits)


def _ends(edit: Edit) -> tuple[tuple[int, int], tuple[int, int]]:
    place = edit.place
    return (place.line, place.column), (place.end_line, place.end_column)


def _with_fixes(data: bytes, file: str, fixes: Iterable[Fix]) -> bytes:
    """The bytes of a file with all edits of ``fixes`` made."""
    source: SourceText = decode_source(data, file)
    starts = line_starts(source.text)

    def offset(line: int, column: int) -> int:
        start = starts[line - 1] if line <= len(starts) else len(source.text)
        return min(start + column - 1, len(source.text))

    edits = [
        TextEdit(offset(*_ends(edit)[0]), offset(*_ends(edit)[1]), edit.text) for fix in fixes for edit in fix.edits
    ]
    text = apply_edits(source.text, edits)
    if text == source.text:
        raise CannotRewrite("the source has the change already")
    return encoded(text, source)


def _not_as_promised(before: Outcome, after: Outcome, applied: Mapping[str, list[Finding]]) -> list[str]:
    """The files that a round has left broken, or with as many of the findings that can be fixed as before."""
    old, new = _by_file(before.findings), _by_file(after.findings)
    wrong = []
    for file, fixed in applied.items():
        was, now = (Counter(_kind(f) for f in found if f.fix is not None) for found in (old[file], new.get(file, [])))
        broken = any(f.code in (SYNTAX_ERROR.code, ANALYSIS_FAILED.code) for f in new.get(file, []))
        if broken or any(now[kind] > was[kind] - count for kind, count in Counter(map(_kind, fixed)).items()):
            wrong.append(file)
    return wrong
