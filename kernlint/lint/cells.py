"""Edits in the cells of a notebook: all of its JSON but the source of the cells that change stays byte for byte."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Sequence

from kernlint.lint import json_spans
from kernlint.lint.json_spans import Span
from kernlint.lint.model import Edit
from kernlint.rewrite.text import CannotRewrite, TextEdit, apply_edits, line_starts


def with_cell_edits(text: str, edits: Iterable[Edit]) -> str:
    """``text``, the JSON of a notebook, with ``edits``, whose places are cells, made. Raises :class:`CannotRewrite`."""
    by_cell: dict[int, list[Edit]] = defaultdict(list)
    for edit in edits:
        if edit.place.cell is None:
            raise CannotRewrite("an edit of a notebook that is in no cell")
        by_cell[edit.place.cell].append(edit)
    cells = list(json_spans.elements(text, json_spans.members(text, json_spans.top(text))["cells"][0]))
    ascii_only = text.isascii()
    for number in sorted(by_cell, reverse=True):
        start, end = json_spans.members(text, cells[number - 1][0])["source"]
        value = json.loads(text[start:end])
        parts = [value] if isinstance(value, str) else value
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            raise CannotRewrite(f"the source of cell {number} is no text")
        source = "".join(parts)
        new = apply_edits(source, [text_edit(source, edit) for edit in by_cell[number]])
        if isinstance(value, str):
            written = json.dumps(new, ensure_ascii=ascii_only)
        else:
            written = _list(text, (start, end), parts, new, ascii_only)
        text = text[:start] + written + text[end:]
    return text


def text_edit(source: str, edit: Edit) -> TextEdit:
    """``edit``, whose place counts the lines of ``source``, by offsets; places behind the end are at the end."""
    starts = line_starts(source)

    def offset(line: int, column: int) -> int:
        start = starts[line - 1] if line <= len(starts) else len(source)
        return min(start + column - 1, len(source))

    place = edit.place
    return TextEdit(offset(place.line, place.column), offset(place.end_line, place.end_column), edit.text)


def _list(text: str, span: Span, old: Sequence[str], new: str, ascii_only: bool) -> str:
    """``new`` as a list of lines like the one at ``span``, which holds ``old``: the parts at both ends that stay are taken
    over as they are written."""
    start, end = span
    raw = [text[a:b] for a, b in json_spans.elements(text, start)]
    head = 0
    while head < len(old) and new.startswith(old[head]):
        new = new[len(old[head]) :]
        head += 1
    tail = len(old)
    while tail > head and new.endswith(old[tail - 1]):
        tail -= 1
        new = new[: len(new) - len(old[tail])]
    middle = [json.dumps(line, ensure_ascii=ascii_only) for line in _lines(new)]
    items = [*raw[:head], *middle, *raw[tail:]]
    if not raw:
        return f"[{', '.join(items)}]"
    spans = list(json_spans.elements(text, start))
    opening, closing = text[start : spans[0][0]], text[spans[-1][1] : end]
    between = text[spans[0][1] : spans[1][0]] if len(spans) > 1 else "," + opening[1:]
    return opening + between.join(items) + closing if items else "[]"


def _lines(text: str) -> list[str]:
    """``text`` divided behind each line feed, as notebooks are."""
    lines = text.split("\n")
    return [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
