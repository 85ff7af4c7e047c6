"""Where LibCST nodes stand, read off Python's own syntax tree.

LibCST computes positions by writing the whole module out again, which costs two parses; ``ast`` has the positions of
nearly all nodes that anyone asks for, at a tenth of a parse. Which nodes are the same is known of a light tree
(:mod:`~kernlint.syntax.light`), which is made of Python's, and LibCST's parser makes the same nodes as that.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import libcst as cst

#: What stands before the name of a function or class.
_HEAD = re.compile(r"(?:async\s+)?(?:def|class)\s+(?P<name>\w+)")


@contextmanager
def unwarned() -> Iterator[None]:
    """Without warnings of the running Python, which know neither the file nor the line of what they are about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def python_tree(text: str) -> ast.Module | None:
    """The tree that the running Python makes of ``text``; None where it cannot parse it."""
    try:
        with unwarned():
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=4096)
def python_value(text: str) -> Any:
    """What the literal ``text`` stands for. Raises ``ValueError``, ``SyntaxError`` or ``MemoryError`` where it is none that Python
    takes. Backslashes that it will not take for ever are read in silence."""
    with unwarned():
        return ast.literal_eval(text)


#: Kinds of nodes of which parts lie outside of where they stand: the annotation of a parameter, the space behind a statement.
HOLDING_MORE = (cst.Param, cst.SimpleStatementLine, cst.SimpleStatementSuite)


class Positions:
    """Where most expressions and statements of a tree, and the names of its functions, stand in the ``lines`` that it was
    parsed from: where Python's nodes do that are their ``counterparts``, by identity."""

    def __init__(self, counterparts: Mapping[int, Any], lines: Sequence[str]) -> None:
        self._lines = lines
        self._counterparts = counterparts

    def of(self, node: cst.CSTNode) -> tuple[int, int, int, int] | None:
        """First line and column, and last line and column behind the end, of ``node``, all from 1; None where it has no
        counterpart in Python's tree."""
        ends = _ends(node)
        if ends is not None:
            first, last = map(self.of, ends)
            return None if first is None or last is None else (*first[:2], *last[2:])
        other = self._counterparts.get(id(node))
        if other is None:
            return self._within_brackets(node) if type(node) is cst.Tuple else None
        line, last = other.lineno, other.end_lineno
        column = self._column(line, other.col_offset)
        if type(node) is cst.Decorator:
            column = self._lines[line - 1].rfind("@", 0, column)
            if column < 0:
                return None
        if type(node) is cst.Name and type(other) is ast.arg:
            # Python counts the annotation of a parameter in.
            return line, column + 1, line, column + 1 + len(node.value)
        if type(node) is cst.Name and not isinstance(other, ast.expr):
            # The name of a function or class, of which Python notes only where the whole of it begins.
            head = _HEAD.match(self._lines[line - 1], column)
            if head is None or head["name"] != node.value:
                return None
            return line, head.start("name") + 1, line, head.end("name") + 1
        return line, column + 1, last, self._column(last, other.end_col_offset) + 1

    def _within_brackets(self, node: cst.Tuple) -> tuple[int, int, int, int] | None:
        """From the first to the last element of a tuple, of which LibCST counts the brackets out; None where more stands between these."""
        ends = [node.elements[0], node.elements[-1]] if node.elements else []
        if not ends or any(type(one) is not cst.Element or one.value.lpar for one in ends):
            return None
        first, last = (self.of(one.value) for one in ends)
        if first is None or last is None or not self._lines[last[2] - 1][last[3] - 1 :].lstrip().startswith(")"):
            return None
        return (*first[:2], *last[2:])

    def line(self, node: cst.CSTNode) -> int | None:
        """The first line of :meth:`of`, at less cost."""
        other = self._counterparts.get(id(node))
        return None if other is None else other.lineno

    def _column(self, line: int, offset: int) -> int:
        """The character at a byte ``offset`` into a line."""
        text = self._lines[line - 1]
        return (
            offset if text.isascii() else len(text.encode("utf-8", "surrogatepass")[:offset].decode("utf-8", "replace"))
        )


def _ends(node: cst.CSTNode) -> tuple[cst.CSTNode, cst.CSTNode] | None:
    """The nodes that ``node``, which has no counterpart, begins and ends with, where these tell where it stands."""
    if isinstance(node, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
        return node.body[0], node.body[-1]
    if isinstance(node, cst.Param) and node.star == "":  # its annotation and default are not counted in
        return node.name, node.name
    return None
