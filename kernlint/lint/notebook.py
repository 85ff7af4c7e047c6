"""Jupyter notebooks: their Python cells as one module, and the way back from its lines to cell and line."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from kernlint.errors import SourceError
from kernlint.lint.magics import is_python, without_magics
from kernlint.lint.model import Edit, Place
from kernlint.records import dataclass

if TYPE_CHECKING:
    from kernlint.rewrite.text import TextEdit

#: Names of kernel languages whose cells are Python.
_PYTHON = frozenset({"python", "ipython", "python3"})

#: How findings name lines.
_LINES = re.compile(r"\b(?P<word>lines?) (?P<numbers>[1-9]\d*(?:(?:, | and | to )[1-9]\d*)*)\b")

_VARIABLE = re.compile(r"([^\W\d]\w*)\b[^=(]*=(?!=)")
#: Runs a script with the variables of the notebook.
_IN_NAMESPACE = re.compile(r"%run\b[^\n]*\s-\w*i")


@dataclass(frozen=True)
class Notebook:
    """``text`` is the code of all cells, one after the other as Jupyter would run them; ``starts`` holds, for each
    cell in it, its number (from 1, of all cells) and the line of ``text`` that it begins at. ``magics`` are the lines
    that are not Python, by the number of the line of ``text`` that stands for each. ``broken`` is the first cell that is
    not Python, with the reason; it is not in ``text``. ``raw`` is the JSON that all of this was read from, ``unread`` what
    of its code is not in ``text``."""

    text: str
    starts: tuple[tuple[int, int], ...]
    broken: tuple[Place, str] | None = None
    magics: Mapping[int, str] = field(default_factory=dict)
    raw: str = ""
    unread: str = ""

    def cell_of(self, line: int) -> tuple[int, int]:
        """The cell that line ``line`` of ``text`` belongs to, and the line in ``text`` that it begins at."""
        found = self.starts[0] if self.starts else (1, 1)
        for cell, start in self.starts:
            if start > line:
                break
            found = (cell, start)
        return found

    def place(self, place: Place) -> Place:
        """A place in ``text`` as one in a cell."""
        cell, start = self.cell_of(place.line)
        return replace(place, line=place.line - start + 1, end_line=place.end_line - start + 1, cell=cell)

    def worded(self, text: str, cell: int | None = None) -> str:
        """``text``, which names lines of the whole code, with lines of cells; without the number of the cell where that is
        ``cell``."""

        def of_cells(found: re.Match[str]) -> str:
            numbers = [int(number) for number in re.findall(r"\d+", found["numbers"])]
            if max(numbers) > self.text.count("\n"):
                return found[0]
            cells = [self.cell_of(number) for number in numbers]
            if len({other for other, _ in cells}) > 1:
                each = (f"cell {other}, line {number - start + 1}" for number, (other, start) in zip(numbers, cells))
                return " and ".join(each)
            other, start = cells[0]
            within = re.sub(r"\d+", lambda number: str(int(number[0]) - start + 1), found["numbers"])
            return f"{found['word']} {within}" if other == cell else f"cell {other}, {found['word']} {within}"

        return _LINES.sub(of_cells, text)

    def line(self, place: Place) -> int:
        """The line of ``text`` that a place in a cell is on."""
        return dict(self.starts)[place.cell or 1] + place.line - 1

    def edits(self, edits: Sequence[TextEdit]) -> tuple[Edit, ...] | None:
        """``edits`` of ``text`` as edits of cells; None where one reaches from a cell into the next, concerns a line that is not
        Python or a variable that such a line may read, and where the notebook would not read as the edits say."""
        from kernlint.errors import KernlintError
        from kernlint.lint.cells import with_cell_edits
        from kernlint.rewrite.text import apply_edits, located

        placed = []
        for place, text in located(self.text, edits):
            if self._is_read_unseen(place[0]):
                return None
            for part in [Place(*place)] if text else self._by_cell(Place(*place)):
                edit = self._in_cell(part, text)
                if edit is None:
                    return None
                placed.append(edit)
        try:
            changed = read_notebook(with_cell_edits(self.raw, placed)).text
            # A cell that is left empty is an empty line.
            same = _filled_lines(changed) == _filled_lines(apply_edits(self.text, edits))
            return tuple(placed) if same else None
        except (KernlintError, ValueError, LookupError):
            return None

    def _is_read_unseen(self, line: int) -> bool:
        """Whether line ``line`` of ``text`` gives a variable of the notebook a value that magics, or cells in another language, name."""
        bound = _VARIABLE.match(self.text.split("\n")[line - 1])
        if bound is None or not self.unread:
            return False
        return _IN_NAMESPACE.search(self.unread) is not None or re.search(rf"\b{bound[1]}\b", self.unread) is not None

    def _by_cell(self, place: Place) -> list[Place]:
        """What is to be deleted, cell by cell."""
        start, end = (place.line, place.column), (place.end_line, place.end_column)
        bounds = [(line, 1) for _, line in self.starts if start < (line, 1) < end]
        return [Place(*first, *last) for first, last in zip([start, *bounds], [*bounds, end])]

    def _in_cell(self, place: Place, text: str) -> Edit | None:
        """An edit of ``self.text`` as one of a cell."""
        start = self.cell_of(place.line)[1]
        touched = range(place.line, place.end_line + (place.end_column > 1))
        if any(line in self.magics for line in touched):
            return None
        later = [first for _, first in self.starts if first > start]
        end = min(later) if later else self.text.count("\n") + 1
        if place.end_line < end:
            return Edit(self.place(place), text)
        # Up to where the next cell begins: the line end that stands before it is none of the cell's own.
        last_column = self._end_of(end - 1)
        if place.end_line > end or place.end_column > 1:
            return None
        if place.line == end:  # an insertion behind the last line of the last cell
            last = Place(end - 1, last_column, end - 1, last_column)
            return Edit(self.place(last), "\n" + text.removesuffix("\n")) if text.endswith("\n") else None
        until = replace(place, end_line=end - 1, end_column=last_column)
        if text.endswith("\n"):
            return Edit(self.place(until), text.removesuffix("\n"))
        if text or place.column > 1:
            return None
        if place.line == start:
            return Edit(self.place(until), "")
        return Edit(self.place(replace(until, line=place.line - 1, column=self._end_of(place.line - 1))), "")

    def _end_of(self, line: int) -> int:
        """The column behind the last character of a line as it stands in its cell."""
        return len(self.magics.get(line, self.text.split("\n")[line - 1])) + 1


def _filled_lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


def read_notebook(text: str) -> Notebook:
    """The code cells of the notebook whose JSON is ``text``.

    Magics, shell lines and help requests become empty statements of the same line. Cells in another language
    (``%%bash``) are left out, and so are cells that Python cannot parse: one half-written cell does not stop the rest.

    Raises ``SourceError`` (without the path) where ``text`` is no notebook.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"not a notebook: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("cells"), list):
        raise SourceError("not a notebook: no list of cells (format 4)")
    if _language(data) not in _PYTHON:
        return Notebook("", (), raw=text)
    lines: list[str] = []
    starts = []
    magics: dict[int, str] = {}
    unread: list[str] = []
    broken = None
    for number, cell in enumerate(data["cells"], start=1):
        source = _source(cell)
        code = without_magics(source) if source is not None and is_python(source) else None
        wrong = None if code is None else syntax_error("\n".join(code))
        if code is None or wrong is not None:
            unread += source or []
        if wrong is not None:
            line, column, reason = wrong
            broken = broken or (Place(line, column, line, column, number), reason)
        elif source is not None and code is not None:
            starts.append((number, len(lines) + 1))
            magics |= {len(lines) + i: line for i, (line, read) in enumerate(zip(source, code), 1) if line != read}
            lines += code
    return Notebook(
        "\n".join(lines) + "\n", tuple(starts), broken, magics, text, "\n".join([*magics.values(), *unread])
    )


def _language(data: dict[str, Any]) -> str:
    metadata = data.get("metadata")
    info = metadata.get("language_info") if isinstance(metadata, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name.lower() if isinstance(name, str) else "python"


def _source(cell: Any) -> list[str] | None:
    """The lines of a cell of code; None where it is none."""
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return None
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    if not isinstance(source, str):
        return None
    return source.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def syntax_error(code: str) -> tuple[int, int, str] | None:
    """Line, column and reason where ``code`` is not Python, neither the running one nor a newer one that LibCST knows."""
    from kernlint.syntax.guard import check_depth
    from kernlint.syntax.positions import unwarned
    from kernlint.syntax.tree import parse_module

    try:
        check_depth(code)
        with unwarned():
            ast.parse(code)
    except SyntaxError as error:
        with suppress(SourceError):
            parse_module(code, "")
            return None
        return error.lineno or 1, max(1, error.offset or 1), error.msg
    except (SourceError, ValueError, RecursionError, MemoryError) as error:
        return 1, 1, " ".join(str(error).split())
    return None
