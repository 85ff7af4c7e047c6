"""Collects the text edits of one module, in the order in which they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.syntax.walk import parameters

_NAMED_EXPRESSIONS = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.Integer, cst.Float, cst.SimpleString)


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

    def code(self, node: cst.CSTNode) -> str:
        """The source of ``node`` without the parentheses around it, as it stands."""
        return self.source.code(node)

    def operand(self, node: cst.BaseExpression) -> str:
        """The source of ``node``, in parentheses unless it binds as tightly as a name."""
        code = self.source.code(node)
        return code if isinstance(node, _NAMED_EXPRESSIONS) else f"({code})"

    def heading(self, statement: cst.CSTNode) -> tuple[int, int] | None:
        """The range of the comment lines directly above a statement; None where there are none."""
        start, line = self.source.with_heading(statement)[0], self.source.first_line(statement)
        end = self.source.line_start(line)
        return (start, end) if start < end else None

    def length(self, line: int) -> int:
        """How long line ``line`` (from 0) is with the edits so far."""
        first, last = self.source.line_start(line), self.source.line_start(line + 1)
        grown = sum(len(e.text) - (e.end - e.start) for e in self.edits if first <= e.start and e.end < last)
        return len(self.source.text[first:last].rstrip()) + grown

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

    def insert_after(self, statement: cst.CSTNode, lines: Sequence[str]) -> None:
        """Put ``lines`` below a statement, indented as it is."""
        self.add([self.source.insert_after(statement, *lines)])

    def delete(self, statement: cst.CSTNode, heading: bool = True) -> None:
        """Take the lines of a statement away, with the comments behind it and, as its ``heading``, directly above it."""
        first, end = self.source.with_heading(statement)
        if not heading:
            first = self.source.line_start(self.source.first_line(statement))
        self.put(first, end, "", describes=True)

    def append_to(self, items: Sequence[cst.Param | cst.Arg], text: str) -> None:
        """Add ``text`` behind the last of ``items`` (parameters or arguments) in the list's own style."""
        last = items[-1]
        source = self.source
        end = source.item_end(last)
        comma = source.comma(end)
        if comma is None:
            self.insert(end, f", {text}")
            return
        rest = source.text[comma + 1 : source.line_end(comma)].strip()
        if rest and not rest.startswith("#"):
            self.insert(comma + 1, f" {text},")
        else:
            self.insert(source.line_end(comma), f"{source.indent(source.start(last))}{text},\n")

    def add_constexpr(self, params: Sequence[cst.Param], name: str, tl: str, value: int) -> None:
        """Add a constexpr parameter at the end, with ``value`` as default where the one before has a default too."""
        default = f" = {value}" if params and params[-1].default is not None else ""
        self.append_to(params, f"{name}: {tl}.constexpr{default}")

    def insert_behind(self, item: cst.Param | cst.Arg, text: str) -> None:
        """Add ``text`` behind ``item``, a parameter or argument with or without one after it."""
        self.insert(self.source.item_end(item), f", {text}")

    def drop(self, items: Sequence[cst.Param | cst.Arg], gone: Sequence[cst.Param | cst.Arg]) -> None:
        """Take ``gone`` out of ``items``, parameters or arguments of which at least one stays in front or behind."""
        for index, item in enumerate(items):
            if not any(item is one for one in gone):
                continue
            if index + 1 < len(items):
                self.put(self.source.start(item), self.source.start(items[index + 1]), "")
            else:
                self.put(self.source.item_end(items[index - 1]), self.source.item_end(item), "")

    def break_long_call(self, call: cst.Call, longest: int) -> None:
        """Put the arguments of ``call`` on a line of their own where its line, with the edits so far, is too long."""
        if call.args:
            start, end = self.source.range_of(call)
            self._on_own_line(start, self.source.start(call.args[0]), end - 1, longest)

    def break_long_def(self, function: cst.FunctionDef, longest: int) -> None:
        """Put the parameters of ``function`` on a line of their own where its line, with the edits so far, is too long."""
        params = parameters(function)
        plain = not function.params.star_kwarg and isinstance(function.params.star_arg, cst.MaybeSentinel)
        if params and plain:
            closing = self.source.text.index(")", self.source.item_end(params[-1]))
            self._on_own_line(self.source.start(function.name), self.source.start(params[0]), closing, longest)

    def _on_own_line(self, start: int, first: int, closing: int, longest: int) -> None:
        """Put what stands from ``first`` to the bracket at ``closing`` on a line of its own, where all of it stands on the
        line of ``start`` and that gets longer than ``longest``."""
        source = self.source
        line = source.line(start)
        if source.line(closing) != line or self.length(line) <= longest:
            return
        indent = source.indent(start)
        comma = "" if source.text[:closing].rstrip().endswith(",") else ","
        self.insert(first, f"\n{indent}    ")
        self.insert(closing, f"{comma}\n{indent}")

    def insert_beside(self, item: cst.Param | cst.Arg, text: str) -> None:
        """Add ``text`` in front of ``item``, a parameter or argument."""
        self.insert(self.source.start(item), f"{text}, ")
