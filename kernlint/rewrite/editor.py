"""Collects the text edits of one module, in the order in which they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit


class Editor:
    """Edits to the text of ``source``; :attr:`edits` are those collected so far.

    Insertions at one place stand in the order in which they were asked for.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._inserted: dict[int, list[str]] = {}
        self._replaced: dict[tuple[int, int], TextEdit] = {}

    @property
    def edits(self) -> list[TextEdit]:
        inserted = [TextEdit(at, at, "".join(texts)) for at, texts in self._inserted.items()]
        return sorted([*inserted, *self._replaced.values()])

    # -- text -------------------------------------------------------------------------------------------------------

    # -- edits ------------------------------------------------------------------------------------------------------

    def insert(self, at: int, text: str) -> None:
        self._inserted.setdefault(at, []).append(text)

    def put(self, start: int, end: int, text: str, describes: bool = False) -> None:
        """Replace a range of the text; ``describes`` as in :class:`~kernlint.rewrite.text.TextEdit`."""
        known = self._replaced.get((start, end))
        if known is not None and known.text != text:
            raise CannotRewrite("two changes to the same place")
        self._replaced[start, end] = TextEdit(start, end, text, describes)

    def add(self, edits: Iterable[TextEdit]) -> None:
        """Take over edits that were made elsewhere."""
        for edit in edits:
            if edit.start == edit.end:
                self.insert(edit.start, edit.text)
            else:
                self.put(edit.start, edit.end, edit.text, edit.describes)

    def replace(self, node: cst.CSTNode, text: str) -> None:
        """Put ``text`` in the place of ``node`` inside its parentheses."""
        self.put(*self.source.range_of(node), text)

    def replace_whole(self, node: cst.CSTNode, text: str) -> None:
        """Put ``text`` in the place of ``node`` and the parentheses around it."""
        self.put(*self.source.whole(node), text)

    def insert_before(self, statement: cst.CSTNode, lines: Sequence[str], above_comments: bool = False) -> None:
        """Put ``lines`` above a statement, indented as it is; above its comments too, if asked."""
        self.add([self.source.insert_before(statement, *lines, above_comments=above_comments)])

    def delete(self, statement: cst.CSTNode) -> None:
        """Take the lines of a statement away, with the comments behind it, but not those above."""
        _, end = self.source.with_heading(statement)
        self.put(self.source.line_start(self.source.first_line(statement)), end, "", describes=True)

    def insert_behind(self, item: cst.Param | cst.Arg, text: str) -> None:
        """Add ``text`` behind ``item``, a parameter or argument with or without one after it."""
        self.insert(self.source.item_end(item), f", {text}")

    def insert_beside(self, item: cst.Param | cst.Arg, text: str) -> None:
        """Add ``text`` in front of ``item``, a parameter or argument."""
        self.insert(self.source.start(item), f"{text}, ")
