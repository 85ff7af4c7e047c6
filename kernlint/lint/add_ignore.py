"""``--add-ignore=REASON``: writes a suppression comment above each statement that has a finding."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

import libcst as cst

from kernlint.errors import KernlintError, UsageError
from kernlint.lint.cells import with_cell_edits
from kernlint.lint.diagnostics import CATEGORY
from kernlint.lint.fences import read_page
from kernlint.lint.model import Finding, Place
from kernlint.lint.notebook import read_notebook
from kernlint.lint.reading import read_bytes
from kernlint.rewrite.text import CannotRewrite, TextEdit, apply_edits, line_starts
from kernlint.syntax.source import SourceText, decode_source, split_lines
from kernlint.syntax.tree import Module, parse_module
from kernlint.syntax.walk import walk
from kernlint.write import re_encoded, write_whole

_EXISTING = re.compile(r"(?P<head>\s*#\s*kernlint:\s*ignore\[)(?P<rules>[^\]]*)(?P<rest>\].*)", re.DOTALL)


def add_ignores(
    findings: Iterable[Finding], reason: str, kept: Mapping[str, str] | None = None
) -> tuple[int, list[Finding], dict[str, str]]:
    """Suppress ``findings`` in their files; how many were, and those that could not be: in files that cannot be written, or
    are to be ``kept`` as they are, each of which is given with the reason, and diagnostics, which are mended and not suppressed.

    Nothing but the comment lines changes: encoding, byte-order mark, line ends and the JSON of notebooks stay. Raises ``UsageError`` for a
    reason of more than one line, or none.
    """
    reason = reason.strip()
    if not reason or len(reason.splitlines()) > 1:
        raise UsageError("--add-ignore needs a reason, of one line")
    by_file: dict[str, list[Finding]] = defaultdict(list)
    left: list[Finding] = []
    for finding in findings:
        if finding.category == CATEGORY:
            left.append(finding)
        else:
            by_file[finding.file].append(finding)
    added = 0
    unwritten: dict[str, str] = {}
    for file, group in by_file.items():
        try:
            if kept is not None and file in kept:
                raise UsageError(kept[file])
            data = read_bytes(file)
            source = decode_source(data, file)
            write_whole(file, re_encoded(with_ignores(source, group, reason), source, data), expected=data)
            added += len(group)
        except (KernlintError, OSError) as error:
            left += group
            unwritten[file] = str(error).removeprefix(f"{file}: ")
    return added, left, unwritten


def with_ignores(source: SourceText, findings: Iterable[Finding], reason: str) -> str:
    """The text of ``source`` with comments that suppress ``findings`` in it. Raises :class:`CannotRewrite`."""
    if not source.path.endswith(".ipynb"):
        places = _places(findings, source.text, lambda place: place.line)
        return apply_edits(
            source.text, _comments(read_page(source, layout=True)[0].kernel, source.text, places, reason)
        )
    notebook = read_notebook(source.text)
    places = _places(findings, notebook.text, notebook.line)
    comments = _comments(parse_module(notebook.text, source.path, layout=True), notebook.text, places, reason)
    edits = notebook.edits(comments)
    if edits is None:
        raise CannotRewrite("a comment would not stand in one cell")
    return with_cell_edits(source.text, edits)


def _places(findings: Iterable[Finding], text: str, line_of: Callable[[Place], int]) -> list[tuple[int, str]]:
    """The line in ``text`` and the code of each finding. Raises :class:`CannotRewrite` where another line stands there now."""
    lines = split_lines(text)
    found = []
    for finding in findings:
        number = line_of(finding.place)
        if number > len(lines) or (finding.lines and lines[number - 1] != finding.lines[0]):
            raise CannotRewrite("the file has changed since it was read")
        found.append((number, finding.code))
    return found


def _comments(module: Module, text: str, places: Iterable[tuple[int, str]], reason: str) -> list[TextEdit]:
    """The edits of ``text``, whose lines are those that ``module`` counts, which suppress a code at each line."""
    statements = _statements(module)
    codes: dict[int, dict[str, None]] = defaultdict(dict)
    for at, code in places:
        codes[_start_of(statements, at)][code] = None
    starts, lines = line_starts(text), split_lines(text)
    edits = []
    for number, wanted in codes.items():
        above = _EXISTING.fullmatch(lines[number - 2]) if number >= 2 else None
        if above:
            rules = [rule.strip() for rule in above["rules"].split(",") if rule.strip()]
            rules += [code for code in wanted if code not in rules]
            start = starts[number - 2] + above.start("rules")
            edits.append(TextEdit(start, start + len(above["rules"]), ", ".join(rules)))
        else:
            line = lines[number - 1]
            indent = line[: len(line) - len(line.lstrip(" \t\f"))]
            comment = f"{indent}# kernlint: ignore[{', '.join(wanted)}] {reason}\n"
            edits.append(TextEdit(starts[number - 1], starts[number - 1], comment))
    return edits


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
