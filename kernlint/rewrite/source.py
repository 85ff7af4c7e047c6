"""The text of a module with its nodes: offsets, parents, comments, and the small edits that every codemod needs."""

from __future__ import annotations

import re
import tokenize
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

import libcst as cst

from kernlint.records import dataclass
from kernlint.rewrite.text import CannotRewrite, TextEdit, line_starts
from kernlint.syntax.names import bound_by, imports_among, origin_of
from kernlint.syntax.positions import python_tree
from kernlint.syntax.source import split_lines
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import children
from kernlint.workload import Span

Kind = TypeVar("Kind", bound=cst.CSTNode)

#: A comma behind white space and comments.
_COMMA = re.compile(r"(?:[\s\\]|#[^\r\n]*[\r\n])*,")


@dataclass(frozen=True)
class Comment:
    """A comment with its offsets; ``own_line`` where nothing but white space stands before it."""

    start: int
    end: int
    text: str
    own_line: bool


class Source:
    """A module seen as text. Nodes are those of ``module.tree``; offsets count characters of ``module.text``."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.text = module.text

    # -- where things stand -----------------------------------------------------------------------------------------

    @cached_property
    def _line_starts(self) -> list[int]:
        return line_starts(self.text)

    def offsets(self, span: Span) -> tuple[int, int]:
        """The offsets of a span in this module. Raises :class:`CannotRewrite` for one in another file."""
        first = span.line - self.module.first_line
        last = span.end_line - self.module.first_line
        if span.file != self.module.path or not 0 <= first <= last < len(self._line_starts):
            raise CannotRewrite(f"the code to change stands in {span.file}:{span.line}")
        return self._line_starts[first] + span.column - 1, self._line_starts[last] + span.end_column - 1

    def span(self, start: int, end: int) -> Span:
        """The span between two offsets; :meth:`offsets` is the way back."""
        first, last = self.line(start), self.line(end)
        columns = start - self._line_starts[first] + 1, end - self._line_starts[last] + 1
        return Span(self.module.path, self.line_number(start), columns[0], self.line_number(end), columns[1])

    def range_of(self, node: cst.CSTNode) -> tuple[int, int]:
        """Offsets of ``node``, without parentheses around it."""
        return self.offsets(self.module.span(node))

    def start(self, node: cst.CSTNode) -> int:
        return self.range_of(node)[0]

    def end(self, node: cst.CSTNode) -> int:
        return self.range_of(node)[1]

    def code(self, node: cst.CSTNode) -> str:
        """The text of ``node``, without parentheses around it."""
        start, end = self.range_of(node)
        return self.text[start:end]

    def whole(self, node: cst.CSTNode) -> tuple[int, int]:
        """Offsets of ``node`` with its own parentheses."""
        start, end = self.range_of(node)
        for _ in getattr(node, "lpar", ()):
            start = self.text.rindex("(", 0, start)
            end = self.text.index(")", end) + 1
        return start, end

    def full_code(self, node: cst.CSTNode) -> str:
        """The text of ``node`` with its own parentheses."""
        start, end = self.whole(node)
        return self.text[start:end]

    def line(self, offset: int) -> int:
        """The number, from 0, of the line that ``offset`` lies in."""
        return bisect_right(self._line_starts, offset) - 1

    def line_number(self, offset: int) -> int:
        """The same as the file counts it."""
        return self.line(offset) + self.module.first_line

    def line_start(self, line: int) -> int:
        """Where line ``line`` (from 0) begins; the end of the text behind the last one."""
        return self._line_starts[line] if line < len(self._line_starts) else len(self.text)

    def line_end(self, offset: int) -> int:
        """Behind the end of the line that ``offset`` lies in, where the next one begins."""
        return self.line_start(self.line(offset) + 1)

    def item_end(self, item: cst.Param | cst.Arg) -> int:
        """The offset behind a parameter with its annotation and default, or behind an argument; no comma."""
        last: cst.CSTNode = item
        if isinstance(item, cst.Param):
            last = item.default or (item.annotation.annotation if item.annotation is not None else item.name)
        return self.whole(last)[1]

    def comma(self, end: int) -> int | None:
        """The offset of the comma behind an item that ends at ``end``; None where there is none."""
        found = _COMMA.match(self.text, end)
        return found.end() - 1 if found is not None else None

    def indent(self, offset: int) -> str:
        """The white space that the line of ``offset`` begins with."""
        line = self.text[self.line_start(self.line(offset)) : self.line_end(offset)]
        return line[: len(line) - len(line.lstrip(" \t\f"))]

    @property
    def indent_step(self) -> str:
        """What the file indents a block by: as its first one is."""
        return next((token.string for token in self._tokens if token.type == tokenize.INDENT), " " * 4)

    def indent_of(self, statement: cst.CSTNode) -> str:
        """The white space in front of a statement. Raises :class:`CannotRewrite` where it does not start its line."""
        start = self.start(statement)
        before = self.text[self.line_start(self.line(start)) : start]
        if before.strip():
            raise CannotRewrite(f"the statement at line {self.line_number(start)} shares its line")
        return before

    # -- the tree ---------------------------------------------------------------------------------------------------

    @cached_property
    def _parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        parents: dict[cst.CSTNode, cst.CSTNode] = {}
        stack: list[cst.CSTNode] = [self.module.tree]
        while stack:
            node = stack.pop()
            for child in children(node):
                parents[child] = node
                stack.append(child)
        return parents

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._parents.get(node)

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The nodes around ``node``, nearest first."""
        found = self.parent(node)
        while found is not None:
            yield found
            found = self.parent(found)

    def around(self, node: cst.CSTNode, kind: type[Kind] | tuple[type[Kind], ...]) -> Kind | None:
        """The nearest node of ``kind`` around ``node``, itself included."""
        if isinstance(node, kind):
            return node
        return next((one for one in self.above(node) if isinstance(one, kind)), None)

    def function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        """The function that ``node`` stands in."""
        return next((one for one in self.above(node) if isinstance(one, cst.FunctionDef)), None)

    def statement(self, node: cst.CSTNode) -> cst.BaseSmallStatement | cst.BaseCompoundStatement:
        """The statement that ``node`` is part of; the first one of a line of statements."""
        if isinstance(node, cst.SimpleStatementLine):
            return node.body[0]
        found = self.around(node, (cst.BaseSmallStatement, cst.BaseCompoundStatement))
        assert found is not None, "an expression outside any statement"
        return found  # type: ignore[return-value]

    def at(self, span: Span, kind: type[Kind]) -> Kind:
        """The node of ``kind`` that stands exactly at ``span``. Raises :class:`CannotRewrite` where there is none."""
        self.offsets(span)
        node = self.module.at(span, kind)
        if node is None:
            raise CannotRewrite(f"nothing that can be edited stands at line {span.line}")
        return node

    def expression_at(self, span: Span) -> cst.BaseExpression:
        """The expression that stands exactly at ``span``, whatever its kind. Raises as :meth:`at`."""
        return self.at(span, cst.BaseExpression)  # type: ignore[type-abstract]

    def node_at(self, span: Span) -> cst.CSTNode:
        """The outermost node that stands exactly at ``span``, a statement in place of its line. Raises as :meth:`at`."""
        node: cst.CSTNode = self.at(span, cst.CSTNode)  # type: ignore[type-abstract]
        return node.body[0] if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1 else node

    def functions(self, name: str) -> list[cst.FunctionDef]:
        """Every function of the module called ``name``."""
        return [node for node in self.module.of(cst.FunctionDef) if node.name.value == name]

    def calls(self, name: str) -> list[cst.Call]:
        """Every call of the plain name ``name``."""
        return [
            node for node in self.module.of(cst.Call) if isinstance(node.func, cst.Name) and node.func.value == name
        ]

    @cached_property
    def imports(self) -> Mapping[str, str]:
        """What imported names stand for (:func:`kernlint.syntax.names.imports_among`)."""
        return self.module.imports

    def origin(self, node: cst.CSTNode) -> str | None:
        """The dotted origin of a name, attribute chain or called function (``triton.language.dot``)."""
        return origin_of(node, self.imports)

    def spelled(self, origin: str) -> str:
        """How this module writes ``origin`` (``triton.language.float32``): ``tl.float32``, or a name imported for it.

        Raises :class:`CannotRewrite` where no import of the whole module reaches it by a name that stands for nothing else.
        """
        best = ""
        for name, target in self.imports.items():
            if (origin == target or origin.startswith(target + ".")) and name in self.module.once(_imported_for_all):
                text = name + origin[len(target) :]
                if not best or len(text) < len(best):
                    best = text
        if not best:
            raise CannotRewrite(f"no import of {origin.rpartition('.')[0]} to name {origin} with")
        return best

    # -- comments ---------------------------------------------------------------------------------------------------

    @cached_property
    def comments(self) -> list[Comment]:
        """All comments, in order."""
        found = []
        for token in self._tokens:
            if token.type == tokenize.COMMENT:
                line = self._line_starts[token.start[0] - 1]
                start, end = line + token.start[1], line + token.end[1]
                found.append(Comment(start, end, token.string, not self.text[line:start].strip()))
        return found

    @cached_property
    def _tokens(self) -> list[tokenize.TokenInfo]:
        """The tokens of the text. Raises :class:`CannotRewrite` where it is newer than the running Python."""
        if python_tree(self.text) is None:
            raise CannotRewrite("the running Python cannot read the source")
        lines = iter([f"{line}\n" for line in split_lines(self.text)])
        return list(tokenize.generate_tokens(lambda: next(lines, "")))

    def comments_in(self, start: int, end: int) -> list[Comment]:
        """The comments that lie wholly between two offsets."""
        if "#" not in self.text[start:end]:
            return []  # without asking where all comments stand, which is dear
        return [comment for comment in self.comments if start <= comment.start and comment.end <= end]

    @cached_property
    def _own_lines(self) -> dict[int, Comment]:
        """The comments that have a line of their own, by its number from 0."""
        return {self.line(comment.start): comment for comment in self.comments if comment.own_line}

    def comments_above(self, line: int) -> list[Comment]:
        """The own-line comments directly above line ``line`` (from 0), without a blank line between."""
        found: list[Comment] = []
        while self._begins_with_comment(line - 1) and line - 1 in self._own_lines:
            line -= 1
            found.append(self._own_lines[line])
        return found[::-1]

    def _begins_with_comment(self, line: int) -> bool:
        """Whether line ``line`` (from 0) looks like a comment: part of a text may, too."""
        return line >= 0 and self.text[self.line_start(line) : self.line_start(line + 1)].lstrip().startswith("#")

    def heading(self, node: cst.CSTNode) -> list[Comment]:
        """The comments directly above the statement of ``node``."""
        return self.comments_above(self.line(self.start(self.statement(node))))

    def first_line(self, statement: cst.CSTNode) -> int:
        """The number, from 0, of the line that a statement begins on, a function with its decorators."""
        decorators = getattr(statement, "decorators", ())
        return self.line(min(self.start(node) for node in (statement, *decorators)))

    def with_heading(self, statement: cst.CSTNode) -> tuple[int, int]:
        """The lines of a statement, a function with its decorators, and of the comments directly above it."""
        first = self.first_line(statement)
        start = self.line_start(first - len(self.comments_above(first)))
        return start, self.line_end(self.end(statement))

    def trailing(self, node: cst.CSTNode) -> list[Comment]:
        """The comments behind code on the lines of the statement of ``node``."""
        start, end = self.range_of(self.statement(node))
        return [comment for comment in self.comments_in(start, self.line_end(end)) if not comment.own_line]

    # -- edits ------------------------------------------------------------------------------------------------------

    def replace(self, node: cst.CSTNode, text: str) -> TextEdit:
        """``text`` in the place of ``node``; parentheses around it stay."""
        start, end = self.range_of(node)
        return TextEdit(start, end, text)

    def keep_only(self, outer: cst.CSTNode, inner: cst.CSTNode) -> list[TextEdit]:
        """``inner``, with its parentheses where ``outer`` binds looser, in the place of ``outer`` around it: what stands
        inside ``inner`` can be edited too."""
        start, end = self.range_of(outer)
        first, last = self.whole(inner)
        return [TextEdit(a, b, "") for a, b in ((start, first), (last, end)) if a < b]

    def drop_arguments(self, call: cst.Call, dropped: Sequence[cst.Arg]) -> list[TextEdit]:
        """Edits that take arguments out of ``call``."""
        edits = []
        kept = [arg for arg in call.args if all(arg is not one for one in dropped)]
        last_kept = self.end(kept[-1]) if kept else None
        for index, arg in enumerate(call.args):
            if all(arg is not one for one in dropped):
                continue
            if last_kept is None or self.start(arg) > last_kept:
                continue
            edits.append(TextEdit(self.start(arg), self.start(call.args[index + 1]), ""))
        if call.args and call.args[-1] is not (kept[-1] if kept else None):
            first = last_kept if last_kept is not None else self.start(call.args[0])
            edits.append(TextEdit(first, self.end(call.args[-1]), ""))
        return edits

    def add_keyword(self, call: cst.Call, name: str, value: str) -> list[TextEdit]:
        """Edits that pass ``name=value`` to ``call`` as its last argument, laid out as the arguments before it."""
        if not call.args:
            end = self.end(call)
            return [TextEdit(end - 1, end - 1, f"{name}={value}")]
        last = call.args[-1]
        start, end = self.range_of(last)
        alone = not self.text[self.line_start(self.line(start)) : start].strip()
        separator = f",\n{self.indent(start)}" if alone else ", "
        if alone and self.comma(end) is not None:
            # Behind a comment at the end of that line.
            after = self.line_end(end)
            if not self.text[end:after].lstrip().startswith(",") or ")" in self.text[end:after].split("#")[0]:
                return [TextEdit(end, end, f"{separator}{name}={value}")]
            return [TextEdit(after, after, f"{self.indent(start)}{name}={value},\n")]
        return [TextEdit(end, end, f"{separator}{name}={value}")]

    def set_argument(self, call: cst.Call, name: str, value: str, position: int | None = None) -> list[TextEdit]:
        """Edits that make ``call`` pass ``value`` as ``name``: in place of what it passes by that keyword or at
        ``position``, else as one more keyword."""
        for index, arg in enumerate(call.args):
            by_keyword = arg.keyword is not None and arg.keyword.value == name
            if by_keyword or (index == position and arg.keyword is None and not arg.star):
                return [self.replace(arg.value, value)]
        return self.add_keyword(call, name, value)

    def delete_statements(self, nodes: Iterable[cst.CSTNode]) -> list[TextEdit]:
        """Edits that take statements out, whole lines where nothing else stands on them; `pass` where nothing would
        remain of a block."""
        wanted = {id(self.statement(node)): self.statement(node) for node in nodes}
        lines: dict[int, cst.SimpleStatementLine] = {}
        for statement in wanted.values():
            line = self.parent(statement)
            if not isinstance(line, cst.SimpleStatementLine):
                raise CannotRewrite(f"the statement at line {self.module.span(statement).line} shares its line")
            lines[id(line)] = line
        edits: list[TextEdit] = []
        gone = set()
        for key, line in lines.items():
            kept = [one for one in line.body if id(one) not in wanted]
            if not kept:
                gone.add(key)
                continue
            for index, one in enumerate(line.body):
                if id(one) in wanted:
                    following = line.body[index + 1 :]
                    if following:
                        edits.append(TextEdit(self.start(one), self.start(following[0]), ""))
                    else:
                        edits.append(TextEdit(self.end(line.body[index - 1]), self.end(one), ""))
        for key in gone:
            line = lines[key]
            block = self.parent(line)
            body = getattr(block, "body", ())
            start, end = self.range_of(line)
            first = next(one for one in body if id(one) in gone)
            if not isinstance(block, cst.Module) and all(id(one) in gone for one in body) and line is first:
                edits.append(TextEdit(start, end, "pass"))
                continue
            # A comment behind the statement, or inside it, is about it.
            edits.append(TextEdit(self.line_start(self.line(start)), self.line_end(end), "", describes=True))
        return edits

    def lost_comments(self, edits: Iterable[TextEdit]) -> list[Comment]:
        """The comments that ``edits`` take out although they are not about what goes."""
        edits = list(edits)
        described = [edit for edit in edits if edit.describes]
        lost = []
        for edit in edits:
            for comment in [] if edit.describes else self.comments_in(edit.start, edit.end):
                owned = any(one.start <= comment.start and comment.end <= one.end for one in described)
                if not owned and comment.text not in edit.text:
                    lost.append(comment)
        return lost

    def delete_comment(self, comment: Comment) -> TextEdit:
        """An edit that takes a comment out because what it describes is gone: the line, where it has one of its own."""
        if comment.own_line:
            line = self.line_start(self.line(comment.start))
            return TextEdit(line, self.line_end(comment.start), "", describes=True)
        start = len(self.text[: comment.start].rstrip(" \t"))
        return TextEdit(start, comment.end, "", describes=True)

    def insert_before(self, node: cst.CSTNode, *lines: str, above_comments: bool = False) -> TextEdit:
        """``lines`` as statements before the statement of ``node``, indented as it is; above its comments too, if asked."""
        statement = self.statement(node)
        start = self.line_start(self.line(self.start(statement)))
        at = self.with_heading(statement)[0] if above_comments else start
        return TextEdit(at, at, indented(lines, self.indent_of(statement)))

    def insert_after(self, node: cst.CSTNode, *lines: str) -> TextEdit:
        """``lines`` as statements after the statement of ``node`` and what shares its line, indented as those are."""
        statement: cst.CSTNode = self.statement(node)
        above = self.parent(statement)
        statement = above if isinstance(above, cst.SimpleStatementLine) else statement
        after = self.line_end(self.end(statement))
        newline = "" if after > 0 and self.text[after - 1] in "\r\n" else "\n"
        return TextEdit(after, after, newline + indented(lines, self.indent_of(statement)))


def _imported_for_all(module: Module) -> frozenset[str]:
    """The names that imports outside of functions bind, and nothing within one."""
    outside: set[str] = set()
    inside: set[str] = set()
    walked: list[tuple[cst.CSTNode, bool]] = [(module.tree, False)]
    while walked:
        node, within = walked.pop()
        bound = {one.value for one in bound_by(node)} if within else set()
        if isinstance(node, (cst.Import, cst.ImportFrom)):
            bound = set(imports_among([node]))
        elif isinstance(node, cst.Param):
            bound = {node.name.value}
        (inside if within else outside).update(bound)
        within = within or isinstance(node, (cst.FunctionDef, cst.Lambda))
        walked += [(child, within) for child in children(node)]
    return frozenset(outside - inside)


def indented(lines: Iterable[str], indent: str) -> str:
    """``lines`` as text with ``indent`` before each that is not empty."""
    return "".join(f"{indent}{line}\n" if line else "\n" for line in lines)
