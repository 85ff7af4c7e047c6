"""Jupyter notebooks: their Python cells as one module, and the way back from its lines to cell and line."""

from __future__ import annotations

import ast
import json
import warnings
from dataclasses import replace
from typing import Any

from kernlint.errors import SourceError
from kernlint.lint.model import Place
from kernlint.records import dataclass

#: Names of kernel languages whose cells are Python.
_PYTHON = frozenset({"python", "ipython", "python3"})


@dataclass(frozen=True)
class Notebook:
    """``text`` is the code of all cells, one after the other as Jupyter would run them; ``starts`` holds, for each
    cell in it, its number (from 1, of all cells) and the line of ``text`` that it begins at. ``broken`` is the first
    cell that is not Python, with the reason; it is not in ``text``."""

    text: str
    starts: tuple[tuple[int, int], ...]
    broken: tuple[Place, str] | None = None

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
        return Notebook("", ())
    lines: list[str] = []
    starts = []
    broken = None
    for number, cell in enumerate(data["cells"], start=1):
        code = _code(cell)
        wrong = None if code is None else _syntax_error("\n".join(code))
        if wrong is not None:
            line, column, reason = wrong
            broken = broken or (Place(line, column, line, column, number), reason)
        elif code is not None:
            starts.append((number, len(lines) + 1))
            lines += code
    return Notebook("\n".join(lines) + "\n", tuple(starts), broken)


def _language(data: dict[str, Any]) -> str:
    metadata = data.get("metadata")
    info = metadata.get("language_info") if isinstance(metadata, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name.lower() if isinstance(name, str) else "python"


def _code(cell: Any) -> list[str] | None:
    """The lines of a cell, None where it holds no Python."""
    if not isinstance(cell, dict) or cell.get("cell_type") != "code":
        return None
    source = cell.get("source", "")
    if isinstance(source, list):
        source = "".join(part for part in source if isinstance(part, str))
    if not isinstance(source, str):
        return None
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    first = next((line for line in lines if line.strip()), "")
    if first.startswith("%%"):
        return None
    return [_without_magic(line) for line in lines]


def _without_magic(line: str) -> str:
    code = line.lstrip()
    magic = code.startswith(("%", "!", "?")) or code.rstrip().endswith("?")
    return line[: len(line) - len(code)] + "pass" if magic else line


def _syntax_error(code: str) -> tuple[int, int, str] | None:
    """Line, column and reason where the running Python cannot parse ``code``."""
    from kernlint.syntax.guard import check_depth

    try:
        check_depth(code)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except SyntaxError as error:
        return error.lineno or 1, max(1, error.offset or 1), error.msg
    except (SourceError, ValueError, RecursionError, MemoryError) as error:
        return 1, 1, " ".join(str(error).split())
    return None
