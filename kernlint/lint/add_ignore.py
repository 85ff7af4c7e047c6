"""``--add-ignore=REASON``: writes a suppression comment above each statement that has a finding."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

import libcst as cst

from kernlint.errors import KernlintError, UsageError
from kernlint.lint.diagnostics import CATEGORY
from kernlint.lint.model import Finding
from kernlint.lint.reading import read_bytes
from kernlint.syntax.source import SourceText, decode_source
from kernlint.syntax.task import read_task
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import walk
from kernlint.write import encoded, write_whole

_EXISTING = re.compile(r"(?P<head>\s*#\s*kernlint:\s*ignore\[)(?P<rules>[^\]]*)(?P<rest>\].*)", re.DOTALL)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def add_ignores(findings: Iterable[Finding], reason: str) -> tuple[int, list[Finding]]:
    """Suppress ``findings`` in their files; how many were, and those that could not be: in notebooks, in files that
    cannot be written, and diagnostics, which are mended and not suppressed.

    Nothing but the comment lines changes: encoding, byte-order mark and line ends stay. Raises ``UsageError`` for a
    reason of more than one line, or none.
    """
    reason = reason.strip()
    if not reason or len(reason.splitlines()) > 1:
        raise UsageError("--add-ignore needs a reason, of one line")
    by_file: dict[str, list[Finding]] = defaultdict(list)
    left: list[Finding] = []
    for finding in findings:
        if finding.category == CATEGORY or finding.place.cell is not None:
            left.append(finding)
        else:
            by_file[finding.file].append(finding)
    added = 0
    for file, group in by_file.items():
        try:
            source = decode_source(read_bytes(file), file)
            write_whole(file, encoded(with_ignores(source, group, reason), source))
            added += len(group)
        except (KernlintError, OSError, UnicodeEncodeError):
            left += group
    return added, left


def with_ignores(source: SourceText, findings: Iterable[Finding], reason: str) -> str:
    """The text of ``source`` with comments that suppress ``findings`` in it."""
    module = read_task(source).kernel
    statements = _statements(module)
    codes: dict[int, dict[str, None]] = defaultdict(dict)
    for finding in findings:
        codes[_start_of(statements, finding.place.line)][finding.code] = None
    lines = _LINE.findall(source.text)
    end = next((line[len(line.rstrip("\r\n")) :] for line in lines if line.endswith(("\r", "\n"))), "\n")
    for number in sorted(codes, reverse=True):
        wanted = list(codes[number])
        above = _EXISTING.fullmatch(lines[number - 2]) if number >= 2 else None
        if above:
            rules = [text.strip() for text in above["rules"].split(",") if text.strip()]
            rules += [code for code in wanted if code not in rules]
            lines[number - 2] = f"{above['head']}{', '.join(rules)}{above['rest']}"
        else:
            line = lines[number - 1]
            indent = line[: len(line) - len(line.lstrip(" \t\f"))]
            lines.insert(number - 1, f"{indent}# kernlint: ignore[{', '.join(wanted)}] {reason}{end}")
    return "".join(lines)


def _statements(module: Module) -> list[tuple[int, int]]:
    """First and last line of every statement; that of a function begins at its first decorator."""
    found = []
    for node in walk(module.tree):
        if isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
            span = module.span(node)
            decorators = getattr(node, "decorators", ())
            first = min([span.line, *(module.span(decorator).line for decorator in decorators)])
            found.append((first, span.end_line))
    return found


def _start_of(statements: list[tuple[int, int]], line: int) -> int:
    """The first line of the innermost statement that ``line`` is in."""
    around = [(last - first, first) for first, last in statements if first <= line <= last]
    return min(around)[1] if around else line
