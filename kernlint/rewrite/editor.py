"""Collects the text edits of one module by what they concern: a node, a statement, a parameter, an argument."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import libcst as cst

from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.syntax.tree import Module
from kernlint.workload import Span

_NAMED_EXPRESSIONS = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float, cst.SimpleString)


class Editor:
    """Edits to the text of ``module``; :attr:`edits` are those collected so far.

    Insertions at one place stand in the order in which they were asked for.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self._inserted: dict[int, list[str]] = {}
        self._replaced: dict[tuple[int, int], str] = {}

    @property
    def edits(self) -> list[TextEdit]:
        inserted = [TextEdit(at, at, "".join(texts)) for at, texts in self._inserted.items()]
        return sorted([*inserted, *(TextEdit(*range_, text) for range_, text in self._replaced.items())])

    # -- places -----------------------------------------------------------------------------------------------------

    @cached_property
    def _line_starts(self) -> list[int]:
        starts, position, text = [0], 0, self.module.text
        while position < len(text):
            if text[position] == "\r" and text[position + 1 : position + 2] == "\n":
                position += 1
            if text[position] in "\r\n":
                starts.append(position + 1)
            position += 1
        return starts

    @cached_property
    def newline(self) -> str:
        """How the module ends its lines."""
        return "\r\n" if "\r\n" in self.module.text else "\n"

    def offset(self, line: int, column: int) -> int:
        """The place in the text of a position in the file (both count from 1)."""
        return self._line_starts[line - self.module.first_line] + column - 1

    def range_of(self, place: cst.CSTNode | Span) -> tuple[int, int]:
        """Start and end of a node (without the parentheses around it) or a span."""
        span = place if isinstance(place, Span) else self.module.span(place)
        return self.offset(span.line, span.column), self.offset(span.end_line, span.end_column)

    def outer_range(self, node: cst.CSTNode) -> tuple[int, int]:
        """As :meth:`range_of`, with the parentheses that belong to the node."""
        start, end = self.range_of(node)
        text = self.module.text
        for _ in getattr(node, "lpar", ()):
            start = text.rindex("(", 0, start)
            end = text.index(")", end) + 1
        return start, end

    def code(self, node: cst.CSTNode) -> str:
        """The source of ``node`` without the parentheses around it, as it stands."""
        start, end = self.range_of(node)
        return self.module.text[start:end]

    def operand(self, node: cst.BaseExpression) -> str:
        """The source of ``node``, in parentheses unless it binds as tightly as a name."""
        code = self.code(node)
        return code if isinstance(node, _NAMED_EXPRESSIONS) else f"({code})"

    def indent(self, statement: cst.CSTNode) -> str:
        """The white space in front of a statement that starts its line; raises where it does not."""
        start, _ = self.range_of(statement)
        before = self.module.text[self._line_start(start) : start]
        if before.strip():
            raise CannotRewrite("a statement to change shares its line with another one")
        return before

    def _line_start(self, offset: int) -> int:
        return max(start for start in self._line_starts if start <= offset)

    def _line_end(self, offset: int) -> int:
        """Behind the line end of the line that ``offset`` is in."""
        return next((start for start in self._line_starts if start > offset), len(self.module.text))

    def comments_above(self, statement: cst.CSTNode) -> tuple[int, int] | None:
        """The comment lines directly above a statement, with its indentation; None where there are none."""
        indent = self.indent(statement)
        below = first = self._line_start(self.range_of(statement)[0])
        while first > 0:
            line = self._line_start(first - 1)
            text = self.module.text[line:first]
            if not text.startswith(f"{indent}#"):
                break
            first = line
        return (first, below) if first < below else None

    # -- edits ------------------------------------------------------------------------------------------------------

    def insert(self, at: int, text: str) -> None:
        self._inserted.setdefault(at, []).append(text)

    def put(self, start: int, end: int, text: str) -> None:
        """Replace a range of the text."""
        if self._replaced.get((start, end), text) != text:
            raise CannotRewrite("two changes to the same place")
        self._replaced[start, end] = text

    def replace(self, node: cst.CSTNode, text: str) -> None:
        """Put ``text`` in the place of ``node`` inside its parentheses."""
        self.put(*self.range_of(node), text)

    def replace_whole(self, node: cst.CSTNode, text: str) -> None:
        """Put ``text`` in the place of ``node`` and the parentheses around it."""
        self.put(*self.outer_range(node), text)

    def insert_before(self, statement: cst.CSTNode, lines: Sequence[str], above_comments: bool = False) -> None:
        """Put ``lines`` above a statement, indented as it is; above its comments too, if asked."""
        indent = self.indent(statement)
        at = self._line_start(self.range_of(statement)[0])
        comments = self.comments_above(statement)
        self.insert(comments[0] if above_comments and comments else at, self._lines(lines, indent))

    def insert_after(self, statement: cst.CSTNode, lines: Sequence[str]) -> None:
        """Put ``lines`` below a statement, indented as it is."""
        indent = self.indent(statement)
        at = self._line_end(max(0, self.range_of(statement)[1] - 1))
        lead = self.newline if at == len(self.module.text) and not self.module.text.endswith(("\n", "\r")) else ""
        self.insert(at, lead + self._lines(lines, indent))

    def replace_lines(self, statement: cst.CSTNode, lines: Sequence[str], comments: bool = False) -> None:
        """Put ``lines`` in the place of the lines of a statement, and of the comments above it, if asked."""
        indent = self.indent(statement)
        start, end = self.range_of(statement)
        above = self.comments_above(statement) if comments else None
        first = above[0] if above else self._line_start(start)
        self.put(first, self._line_end(max(0, end - 1)), self._lines(lines, indent))

    def delete(self, statement: cst.CSTNode, comments: bool = True) -> None:
        """Take the lines of a statement away, with the comments directly above it."""
        self.replace_lines(statement, (), comments)

    def _lines(self, lines: Sequence[str], indent: str) -> str:
        return "".join(f"{indent}{line}{self.newline}" if line else self.newline for line in lines)

    def append_to(self, items: Sequence[cst.CSTNode], text: str) -> None:
        """Add ``text`` behind the last of ``items`` (parameters or arguments) in the list's own style."""
        last = items[-1]
        source = self.module.text
        end = self._item_end(last)
        if not isinstance(getattr(last, "comma", None), cst.Comma):
            self.insert(end, f", {text}")
            return
        comma = source.index(",", end)
        rest = source[comma + 1 : self._line_end(comma)].strip()
        if rest and not rest.startswith("#"):
            self.insert(comma + 1, f" {text},")
            return
        start = self._line_start(self.range_of(last)[0])
        indent = source[start : len(source) - len(source[start:].lstrip(" \t"))]
        self.insert(self._line_end(comma), f"{indent}{text},{self.newline}")

    def _item_end(self, item: cst.CSTNode) -> int:
        """The end of a parameter or argument; LibCST takes a parameter to end behind its name."""
        parts = [item]
        if isinstance(item, cst.Param):
            parts += [part for part in (item.annotation, item.default) if part is not None]
        return max(self.outer_range(part)[1] for part in parts)

    def insert_beside(self, item: cst.CSTNode, text: str) -> None:
        """Add ``text`` in front of ``item``, a parameter or argument."""
        start, _ = self.range_of(item)
        self.insert(start, f"{text}, ")
