"""Collects the text edits of one module, in the order in which they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit

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

    def indent(self, statement: cst.CSTNode) -> str:
        """The white space in front of a statement that starts its line; raises where it does not."""
        start = self.source.start(statement)
        before = self.source.text[self._line_start(start) : start]
        if before.strip():
            raise CannotRewrite(f"the statement at line {self.source.line_number(start)} shares its line")
        return before

    def _line_start(self, offset: int) -> int:
        return self.source.line_start(self.source.line(offset))

    def _line_end(self, offset: int) -> int:
        """Behind the line end of the line that ``offset`` is in."""
        return self.source.line_start(self.source.line(offset) + 1)

    def heading(self, statement: cst.CSTNode) -> tuple[int, int] | None:
        """The range of the comment lines directly above a statement; None where there are none."""
        line = self.source.line(self.source.start(statement))
        own = {self.source.line(comment.start) for comment in self.source.comments if comment.own_line}
        first = line
        while first - 1 in own:
            first -= 1
        return (self.source.line_start(first), self.source.line_start(line)) if first < line else None

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

    def prune(self) -> None:
        """Forget edits inside text that is taken out or replaced as a whole."""
        outer = list(self._replaced)
        self._replaced = {
            place: edit
            for place, edit in self._replaced.items()
            if not any(other != place and other[0] <= place[0] and place[1] <= other[1] for other in outer)
        }
        self._inserted = {
            at: texts for at, texts in self._inserted.items() if not any(start < at < end for start, end in outer)
        }

    def replace(self, node: cst.CSTNode, text: str) -> None:
        """Put ``text`` in the place of ``node`` inside its parentheses."""
        self.put(*self.source.range_of(node), text)

    def replace_whole(self, node: cst.CSTNode, text: str) -> None:
        """Put ``text`` in the place of ``node`` and the parentheses around it."""
        self.put(*self.source.whole(node), text)

    def insert_before(self, statement: cst.CSTNode, lines: Sequence[str], above_comments: bool = False) -> None:
        """Put ``lines`` above a statement, indented as it is; above its comments too, if asked."""
        indent = self.indent(statement)
        heading = self.heading(statement) if above_comments else None
        self.insert(heading[0] if heading else self._line_start(self.source.start(statement)), _lines(lines, indent))

    def insert_after(self, statement: cst.CSTNode, lines: Sequence[str]) -> None:
        """Put ``lines`` below a statement, indented as it is."""
        indent = self.indent(statement)
        at = self._line_end(self.source.end(statement))
        lead = "\n" if at == len(self.source.text) and not self.source.text.endswith(("\n", "\r")) else ""
        self.insert(at, lead + _lines(lines, indent))

    def replace_lines(self, statement: cst.CSTNode, lines: Sequence[str], heading: bool = False) -> None:
        """Put ``lines`` in the place of the lines of a statement and the comments behind it, which describe it; and of
        the comments above it, if asked."""
        indent = self.indent(statement)
        start, end = self.source.range_of(statement)
        above = self.heading(statement) if heading else None
        first = above[0] if above else self._line_start(start)
        self.put(first, self._line_end(end), _lines(lines, indent), describes=True)

    def delete(self, statement: cst.CSTNode, heading: bool = True) -> None:
        """Take the lines of a statement away, with the comments directly above it."""
        self.replace_lines(statement, (), heading)

    def append_to(self, items: Sequence[cst.CSTNode], text: str) -> None:
        """Add ``text`` behind the last of ``items`` (parameters or arguments) in the list's own style."""
        last = items[-1]
        source = self.source
        end = self._item_end(last)
        if not isinstance(getattr(last, "comma", None), cst.Comma):
            self.insert(end, f", {text}")
            return
        comma = source.text.index(",", end)
        rest = source.text[comma + 1 : self._line_end(comma)].strip()
        if rest and not rest.startswith("#"):
            self.insert(comma + 1, f" {text},")
        else:
            self.insert(self._line_end(comma), f"{source.indent(source.start(last))}{text},\n")

    def add_constexpr(self, params: Sequence[cst.Param], name: str, tl: str, value: int) -> None:
        """Add a constexpr parameter at the end, with ``value`` as default where the one before has a default too."""
        default = f" = {value}" if params and params[-1].default is not None else ""
        self.append_to(params, f"{name}: {tl}.constexpr{default}")

    def _item_end(self, item: cst.CSTNode) -> int:
        """The end of a parameter or argument; LibCST takes a parameter to end behind its name."""
        parts = [item]
        if isinstance(item, cst.Param):
            parts += [part for part in (item.annotation, item.default) if part is not None]
        return max(self.source.whole(part)[1] for part in parts)

    def insert_behind(self, item: cst.CSTNode, text: str) -> None:
        """Add ``text`` behind ``item``, a parameter or argument with or without one after it."""
        self.insert(self._item_end(item), f", {text}")

    def drop(self, items: Sequence[cst.CSTNode], gone: Sequence[cst.CSTNode]) -> None:
        """Take ``gone`` out of ``items``, parameters or arguments of which at least one stays in front or behind."""
        for index, item in enumerate(items):
            if not any(item is one for one in gone):
                continue
            if index + 1 < len(items):
                self.put(self.source.start(item), self.source.start(items[index + 1]), "")
            else:
                self.put(self._item_end(items[index - 1]), self._item_end(item), "")

    def break_long_call(self, call: cst.Call, longest: int) -> None:
        """Put the arguments of ``call`` on a line of their own where its line, with the edits so far, is too long."""
        if not call.args:
            return
        source = self.source
        start, end = source.range_of(call)
        line = source.line(start)
        first, last = source.line_start(line), source.line_start(line + 1)
        grown = sum(len(e.text) - (e.end - e.start) for e in self.edits if first <= e.start and e.end < last)
        if source.line(end) != line or len(source.text[first:last].rstrip()) + grown <= longest:
            return
        indent = source.indent(start)
        self.insert(source.start(call.args[0]), f"\n{indent}    ")
        self.insert(end - 1, f",\n{indent}" if not isinstance(call.args[-1].comma, cst.Comma) else f"\n{indent}")

    def break_long_def(self, function: cst.FunctionDef, longest: int) -> None:
        """Put the parameters of ``function`` on a line of their own where its line, with the edits so far, is too long."""
        params = [*function.params.posonly_params, *function.params.params, *function.params.kwonly_params]
        source = self.source
        start = source.start(function.name)
        end = source.text.find(")", self._item_end(params[-1])) if params else -1
        line = source.line(start)
        first, last = source.line_start(line), source.line_start(line + 1)
        grown = sum(len(e.text) - (e.end - e.start) for e in self.edits if first <= e.start and e.end < last)
        plain = not function.params.star_kwarg and isinstance(function.params.star_arg, cst.MaybeSentinel)
        if not plain or source.line(end) != line or len(source.text[first:last].rstrip()) + grown <= longest:
            return
        indent = source.indent(start)
        self.insert(source.start(params[0]), f"\n{indent}    ")
        self.insert(end, f",\n{indent}" if not source.text[:end].rstrip().endswith(",") else f"\n{indent}")

    def insert_beside(self, item: cst.CSTNode, text: str) -> None:
        """Add ``text`` in front of ``item``, a parameter or argument."""
        self.insert(self.source.start(item), f"{text}, ")


def _lines(lines: Sequence[str], indent: str) -> str:
    return "".join(f"{indent}{line}\n" if line else "\n" for line in lines)
