"""Places of findings, which count characters from 1, as positions of the protocol, which count code units from 0."""

from __future__ import annotations

from lsprotocol import types

from kernlint.lint.model import Edit, Place

_BOM = "\ufeff"


class Positions:
    """The lines of one text, for a client that counts in units of ``encoding`` (utf-8, utf-16 or utf-32).

    Lines end where Python and the protocol end them (LF, CRLF, CR), and nowhere else: a form feed within a line stays there.
    """

    def __init__(self, text: str, encoding: str = "utf-16") -> None:
        self._encoding = encoding
        self._lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        #: A byte-order mark is a character of the editor's and none of the source.
        self._shift = 1 if text.startswith(_BOM) else 0

    def range(self, place: Place) -> types.Range:
        """The range of ``place``; what lies outside of the text is moved into it."""
        return types.Range(
            self._position(place.line, place.column),
            self._position(max(place.line, place.end_line), place.end_column),
        )

    def edit(self, edit: Edit) -> types.TextEdit:
        """The text edit of ``edit``."""
        return types.TextEdit(self.range(edit.place), edit.text)

    def line(self, number: int) -> str:
        """The text of a line, counted from 0; empty where there is none."""
        return self._lines[number] if 0 <= number < len(self._lines) else ""

    def column(self, position: types.Position) -> int:
        """The column, counted in characters from 0, of a position of the client's."""
        units, column = position.character, 0
        for character in self.line(position.line):
            if units <= 0:
                break
            units -= self._units(character)
            column += 1
        return column

    def _position(self, line: int, column: int) -> types.Position:
        index = min(max(line - 1, 0), len(self._lines))
        text = self.line(index)
        before = text[: max(column - 1 + (self._shift if index == 0 else 0), 0)]
        return types.Position(index, self._units(before))

    def _units(self, text: str) -> int:
        if self._encoding == "utf-32":
            return len(text)
        if text.isascii():
            return len(text)
        if self._encoding == "utf-8":
            return len(text.encode("utf-8", "surrogatepass"))
        return len(text) + sum(character > "\uffff" for character in text)
