"""Text edits: what every codemod returns, and how they are applied."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import field

from kernlint.errors import KernlintError
from kernlint.records import dataclass
from kernlint.syntax.source import LINE_END, line_starts

#: Longest line that a signature or call is written on.
MAX_LINE = 110


class CannotRewrite(KernlintError):
    """The change cannot be made to this source automatically; the message says why, for the user."""


@dataclass(frozen=True, order=True)
class TextEdit:
    """Replace the characters ``start`` to ``end`` (exclusive; offsets into the module's text) by ``text``.

    ``text`` has ``\\n`` for line ends, whatever those of the file. ``describes`` says that the comments in the range
    are about the code that goes, so that nothing is lost with them.
    """

    start: int
    end: int
    text: str
    describes: bool = field(default=False, compare=False)


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """``text`` with all ``edits`` made; equal edits count once. Raises :class:`CannotRewrite` where two overlap."""
    newline = _newline(text)
    pieces = []
    position = 0
    for edit in tidy(text, edits):
        if edit.start < position:
            raise CannotRewrite("two of the edits concern the same place")
        new = edit.text if newline == "\n" else edit.text.replace("\r\n", "\n").replace("\n", newline)
        pieces += [text[position : edit.start], new]
        position = edit.end
    return "".join([*pieces, text[position:]])


def tidy(text: str, edits: Iterable[TextEdit]) -> list[TextEdit]:
    """``edits`` sorted, equal ones once, without those inside a deletion, deleted lines that touch as one edit; a deletion
    that leaves two blank lines in a row, or one at the head of a block, takes the second along."""
    merged: list[TextEdit] = []
    for edit in _outside_deletions(sorted(set(edits))):
        last = merged[-1] if merged else None
        lines = not edit.text and edit.start < edit.end and _at_line_start(text, edit.start)
        if (
            last is not None
            and lines
            and not last.text
            and last.end == edit.start
            and last.start < last.end
            and _at_line_start(text, last.start)
        ):
            merged[-1] = TextEdit(last.start, edit.end, "", last.describes and edit.describes)
        else:
            merged.append(edit)
    starts = {edit.start for edit in merged}
    return [_without_gap(text, edit, starts) for edit in merged]


def _outside_deletions(edits: list[TextEdit]) -> list[TextEdit]:
    deletions = [edit for edit in edits if not edit.text]
    return [
        edit
        for edit in edits
        if not any(
            one.start <= edit.start
            and edit.end <= one.end
            and (one.start, one.end) != (edit.start, edit.end)
            # What is inserted at an end of a deletion stays.
            and (edit.start < edit.end or one.start < edit.start < one.end)
            for one in deletions
        )
    ]


def _at_line_start(text: str, offset: int) -> bool:
    return offset == 0 or text[offset - 1] in "\r\n"


_BLANK_LINE = re.compile(r"[ \t\f]*(?:\r\n|\r|\n)")


def _without_gap(text: str, edit: TextEdit, starts: set[int]) -> TextEdit:
    whole_lines = _at_line_start(text, edit.start) and edit.start < edit.end and _at_line_start(text, edit.end)
    if edit.text or not whole_lines:
        return edit
    before = text[: edit.start].rstrip(" \t\f").replace("\r\n", "\n").replace("\r", "\n")
    if not (before.endswith("\n\n") or before.rstrip().endswith(":")):
        return edit
    end = edit.end
    while (blank := _BLANK_LINE.match(text, end)) is not None and end not in starts:
        end = blank.end()
    return TextEdit(edit.start, end, "", edit.describes)


def lines_with_ends(text: str) -> list[str]:
    """The lines of ``text`` as Python counts them, each with its end."""
    return [line for line in re.split(r"(?<=\n)|(?<=\r)(?!\n)", text) if line]


def _newline(text: str) -> str:
    """The line end that ``text`` uses first."""
    found = LINE_END.search(text)
    return found[0] if found is not None else "\n"


def located(text: str, edits: Iterable[TextEdit]) -> list[tuple[tuple[int, int, int, int], str]]:
    """``edits`` by place: line and column, from 1, of both ends, and the new text with the line ends of ``text``."""
    newline = _newline(text)
    starts = line_starts(text)

    def place(offset: int) -> tuple[int, int]:
        line = bisect_right(starts, offset) - 1
        return line + 1, offset - starts[line] + 1

    return [((*place(edit.start), *place(edit.end)), edit.text.replace("\n", newline)) for edit in edits]


def wrapped(head: str, items: Sequence[str], tail: str, indent: str) -> list[str]:
    """``head items tail`` on one line, or with the items on lines of their own."""
    line = f"{head}{', '.join(items)}{tail}"
    if len(line) <= MAX_LINE:
        return [line]
    rows = [indent]
    for item in items:
        if len(rows[-1]) + len(item) + 2 > MAX_LINE and rows[-1].strip():
            rows[-1] = rows[-1].rstrip()
            rows.append(indent)
        rows[-1] += f"{item}, "
    return [head, *(row.rstrip() for row in rows), tail]
