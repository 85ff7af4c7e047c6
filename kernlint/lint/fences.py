"""Markdown: where the code of its fences stands in the file, and edits of that code as edits of the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from kernlint.errors import KernlintError, SourceError
from kernlint.lint.cells import text_edit
from kernlint.lint.model import Edit, Place
from kernlint.lint.notebook import syntax_error
from kernlint.records import dataclass
from kernlint.rewrite.text import TextEdit, apply_edits, located
from kernlint.syntax.source import SourceText, split_lines
from kernlint.syntax.task import Fence, Task, is_markdown, joined, kernel_fences, read_task

#: Where code is not Python, and why.
Broken = tuple[Place, str]


@dataclass(frozen=True)
class Fences:
    """The fences of ``source`` that are the kernel's module."""

    source: SourceText
    fences: tuple[Fence, ...]

    def place(self, place: Place) -> Place:
        """A place in the module, whose lines are those of the file, as one in the file."""
        column = place.column + self._indent(place.line)
        return replace(place, column=column, end_column=place.end_column + self._indent(place.end_line))

    def edits(self, edits: Sequence[TextEdit]) -> tuple[Edit, ...] | None:
        """``edits`` of the module's text as edits of the file; None where one leaves its fence, and where the file would
        not read as the edits say."""
        text = joined(list(self.fences))
        before = self.fences[0].first - 1
        placed = []
        for (line, column, end_line, end_column), new in located(text, edits):
            place = Place(line + before, column, end_line + before, end_column)
            fence = self._around(place)
            if fence is None:
                return None
            placed.append(Edit(self.place(place), self._indented(new, place, fence.indent)))
        try:
            whole = apply_edits(self.source.text, [text_edit(self.source.text, edit) for edit in placed])
            changed = joined(kernel_fences(replace(self.source, text=whole)))
        except KernlintError:
            return None
        return tuple(placed) if changed == apply_edits(text, edits) else None

    def _indented(self, text: str, place: Place, indent: int) -> str:
        """``text``, which is to stand at ``place`` of the module, with the spaces that the lines of its fence begin with;
        blank lines have fewer, which :meth:`place` leaves before the text and behind it."""
        first, *others = text.split("\n")
        if first and place.column == 1:
            first = (indent - self._indent(place.line)) * " " + first
        lines = [first, *(indent * " " + line if line else "" for line in others)]
        if others and not others[-1]:
            lines[-1] = (self._indent(place.end_line) if place.end_column == 1 else indent) * " "
        return "\n".join(lines)

    def excerpt(self, place: Place) -> list[str]:
        """The lines of the file that ``place`` is on."""
        return self._lines[place.line - 1 : place.end_line]

    def _around(self, place: Place) -> Fence | None:
        """The fence whose lines, or the beginning of the line that closes it, hold ``place``."""
        for fence in self.fences:
            end = fence.first + len(fence.lines)
            inside = fence.first <= place.line and (place.end_line, place.end_column) <= (end, 1)
            if inside and end <= len(self._lines):  # what is closed; the end of the file closes a fence too
                return fence
        return None

    def _indent(self, line: int) -> int:
        """The spaces before line ``line`` of the file that are none of the code."""
        for fence in self.fences:
            if fence.first <= line <= fence.first + len(fence.lines) and line <= len(self._lines):
                text = self._lines[line - 1]
                return min(fence.indent, len(text) - len(text.lstrip(" ")))
        return 0

    @cached_property
    def _lines(self) -> list[str]:
        return split_lines(self.source.text)


def read_page(source: SourceText, layout: bool = False) -> tuple[Task, SourceText, Broken | None]:
    """What a source holds, which may be Markdown: like :func:`~kernlint.syntax.task.read_task`, but one fence with gaps in it does
    not stop the others. Where that matters: the source that is left, and where the first such fence is wrong and why.

    Raises ``SourceError`` where there is no Python, and where it is wrong as a whole.
    """
    try:
        return read_task(source, layout), source, None
    except SourceError:
        left = _without_broken(source) if is_markdown(source) else None
        if left is None:
            raise
        readable, broken = left
        return read_task(readable, layout), readable, broken


def _without_broken(source: SourceText) -> tuple[SourceText, Broken] | None:
    """``source`` with empty lines for each fence of the kernel that is no Python by itself, and the first of these; None where
    all are Python."""
    lines = split_lines(source.text)
    broken: Broken | None = None
    for fence in kernel_fences(source):
        wrong = syntax_error("\n".join(fence.lines))
        if wrong is not None:
            line, column, reason = wrong
            at = fence.first + min(line, len(fence.lines)) - 1
            broken = broken or (Place(at, column + fence.indent, at, column + fence.indent), reason)
            lines[fence.first - 1 : fence.first - 1 + len(fence.lines)] = [""] * len(fence.lines)
    return None if broken is None else (replace(source, text="\n".join(lines)), broken)


def read_fences(source: SourceText) -> Fences:
    """The fences of the kernel in Markdown. Raises ``SourceError`` where there is none."""
    return Fences(source, tuple(kernel_fences(source)))
