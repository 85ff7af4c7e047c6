"""Where nodes stand in the text, and the brackets around them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import libcst as cst

from kernlint.syntax import light_nodes as new
from kernlint.syntax.source import line_starts, split_lines

#: A whole string literal, or a comment, which is all that is looked for.
_COMMENT = re.compile(
    r"""(?s:(?:[rR]?[bBfFuUtT]?[rR]?)(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''))|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\#[^\r\n]*""",
    re.DOTALL,
)


_BLANK = " \t\f\r\n\\"


#: An opening bracket and what is blank behind it.
_OPENING = re.compile(r"\([ \t\f\r\n\\]*")


NONE: tuple[()] = ()


_Brackets = tuple[Sequence[cst.LeftParen], Sequence[cst.RightParen]]


class Places:
    """Places in a text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = line_starts(text)
        self._lines = split_lines(text)
        self._ascii = text.isascii()
        # Brackets in comments close nothing.
        self._bare = _COMMENT.sub(_blanked, text) if "#" in text else text
        #: How many opening brackets stand right before a place, where there are any.
        self._opened: dict[int, int] = {}
        for match in _OPENING.finditer(self._bare):
            self._opened[match.end()] = self._opened.get(match.start(), 0) + 1

    def _offset(self, line: int, column: int) -> int:
        if not self._ascii:
            text = self._lines[line - 1]
            if not text.isascii():
                column = len(text.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "replace"))
        return self._starts[line - 1] + column

    def _start(self, node: Any) -> int:
        return self._offset(node.lineno, node.col_offset)

    def _end(self, node: Any) -> int:
        return self._offset(node.end_lineno, node.end_col_offset)

    def _source(self, node: Any) -> str:
        return self._text[self._start(node) : self._end(node)]

    def _behind(self, offset: int, most: int) -> int:
        """How many closing brackets stand right behind ``offset``, up to ``most``."""
        bare, count = self._bare, 0
        while count < most and offset < len(bare):
            letter = bare[offset]
            if letter == ")":
                count += 1
            elif letter not in _BLANK:
                break
            offset += 1
        return count

    def _whole_end(self, value: Any, node: Any) -> tuple[int, int]:
        """Line and column behind ``value``, which is made of ``node``, and behind the brackets that are its own."""
        offset = self._end(node)
        closing = value.rpar[1:] if type(value) in (cst.Tuple, cst.GeneratorExp) else value.rpar
        for _ in closing:
            offset = self._bare.index(")", offset) + 1
        line = bisect_right(self._starts, offset)
        return line, len(self._text[self._starts[line - 1] : offset].encode("utf-8", "surrogatepass"))

    def _next(self, offset: int) -> str:
        """The first letter at ``offset`` or behind it that is neither blank nor a closing bracket."""
        bare = self._bare
        while offset < len(bare) and (bare[offset] in _BLANK or bare[offset] == ")"):
            offset += 1
        return bare[offset : offset + 1]

    def _brackets(self, node: Any, without: int = 0) -> _Brackets:
        """The brackets around ``node`` that are its own; the innermost ones but for those of a call ``without`` other arguments."""
        start = self._starts[node.lineno - 1] + node.col_offset if self._ascii else self._start(node)
        before = self._opened.get(start, 0) - without
        count = self._behind(self._end(node), before) if before > 0 else 0
        if not count:
            return NONE, NONE
        return tuple(new.left() for _ in range(count)), tuple(new.right() for _ in range(count))


def _blanked(match: re.Match[str]) -> str:
    text = match[0]
    return " " * len(text) if text.startswith("#") else text
