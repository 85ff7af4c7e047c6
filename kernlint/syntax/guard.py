"""Refuse source that could kill the parser, before the parser sees it.

LibCST's native parser recurses on the C stack: about 1,600 nested brackets, some thousand chained operators or nested
f-strings end the process with a segmentation fault that no ``except`` can catch, and its time grows with the square of
the nesting (with ``2**n`` inside a ``case`` pattern). One linear scan over the tokens bounds all of these. The limits
leave a factor of five below the faults that were measured (8 MB stack) and are above anything in real packages.
"""

from __future__ import annotations

import re

from kernlint.errors import SourceError

#: Open brackets and f-string fields at one place; CPython refuses more than 200 brackets too.
MAX_NESTING = 200

#: Indentation levels; CPython's tokenizer refuses more than 100.
MAX_INDENT = 100

#: Operators, attributes, calls, subscripts, lambdas ... on one path through an expression, counted generously.
MAX_CHAIN = 1_000

#: ``elif`` arms on one path through the blocks.
MAX_ELIF = 500

#: Brackets inside a ``case`` pattern, where parsing takes exponential time (12 take a millisecond, 22 a second).
MAX_PATTERN_NESTING = 12

_STRING_PREFIX = r"(?i:[rbu]|br|rb|f|fr|rf|t|tr|rt)?"

_TOKEN = re.compile(
    rf"""
    [ \t]*(?:
      (?P<string>{_STRING_PREFIX}(?:'''|\"\"\"|'|\"))
    | (?P<name>[^\W\d]\w*)
    | (?P<open>[(\[{{])
    | (?P<close>[)\]}}])
    | (?P<newline>\r\n|\r|\n)
    | (?P<comment>\#[^\r\n]*)
    | (?P<continued>\\(?:\r\n|\r|\n))
    | (?P<number>\.?\d(?:[\w.]|(?<=[eE])[+-])*)
    | (?P<operator>\*\*|//|<<|>>|<=|>=|==|!=|->|:=|[-+*/%@&|^~<>.])
    | (?P<separator>[,;])
    | (?P<colon>:)
    )""",
    re.VERBOSE,
)

#: Words that put one expression inside another.
_WORD_OPERATORS = frozenset({"and", "or", "in", "is", "not", "if", "else", "for", "lambda", "await", "yield"})

_END_OF_LINE = r"(?:\r\n|\r|\n)"

#: Up to the first token of the next logical line, and that word if it is one that matters there: `case` is a pattern unless
#: what follows makes it a plain name.
_LINE_START = re.compile(
    rf"(?:[ \t\f]*(?:\#[^\r\n]*)?{_END_OF_LINE})*(?P<indent>[ \t\f]*)"
    r"(?:(?P<elif>elif\b)|(?P<else>else\b)|(?P<case>case\b(?![ \t]*[=.,:;])))?"
)

_EASY_STRING = r"""'(?!'')[^'\\\r\n{}]*'|"(?!"")[^"\\\r\n{}]*\""""


def _easy_brackets(levels: int) -> str:
    """The expression of brackets that hold no more than ``levels - 1`` others in one another, and easy strings."""
    inside = rf"{_EASY_STRING}|\#[^\r\n]*[\r\n]" + (f"|{_easy_brackets(levels - 1)}" if levels > 1 else "")
    return rf"""[(\[{{][^'"\\#()\[\]{{}}]*(?:(?:{inside})[^'"\\#()\[\]{{}}]*)*[)\]}}]"""


#: A logical line whose depth is bounded by its length and these few levels of brackets, as most lines are: to look at each
#: of its tokens would be in vain.
_EASY_LINE = re.compile(
    rf"""[^'"\\#()\[\]{{}}\r\n]*(?:(?:{_EASY_STRING}|{_easy_brackets(4)})[^'"\\#()\[\]{{}}\r\n]*)*"""
    rf"(?:\#[^\r\n]*)?{_END_OF_LINE}"
)

_PLAIN_BODIES = {
    "'": re.compile(r"(?:[^'\\\r\n]|\\(?:\r\n|.))*(?P<end>')?", re.DOTALL),
    '"': re.compile(r'(?:[^"\\\r\n]|\\(?:\r\n|.))*(?P<end>")?', re.DOTALL),
    "'''": re.compile(r"(?:[^'\\]|\\.|'(?!''))*(?P<end>''')?", re.DOTALL),
    '"""': re.compile(r'(?:[^"\\]|\\.|"(?!""))*(?P<end>""")?', re.DOTALL),
}

#: The literal part of a formatted string, up to its end or a replacement field; in a format spec braces do not pair.
_FORMATTED_BODIES = {
    "'": re.compile(r"(?:[^'\\\r\n{}]|\\(?:\r\n|[^{}])|\{\{|\}\}|\\(?=[{}]))*", re.DOTALL),
    '"': re.compile(r'(?:[^"\\\r\n{}]|\\(?:\r\n|[^{}])|\{\{|\}\}|\\(?=[{}]))*', re.DOTALL),
    "'''": re.compile(r"(?:[^'\\{}]|\\[^{}]|'(?!'')|\{\{|\}\}|\\(?=[{}]))*", re.DOTALL),
    '"""': re.compile(r'(?:[^"\\{}]|\\[^{}]|"(?!"")|\{\{|\}\}|\\(?=[{}]))*', re.DOTALL),
}
_SPEC_BODIES = {
    "'": re.compile(r"[^'\r\n{}]*"),
    '"': re.compile(r'[^"\r\n{}]*'),
    "'''": re.compile(r"(?:[^'{}]|'(?!''))*"),
    '"""': re.compile(r'(?:[^"{}]|"(?!""))*'),
}


class _Level:
    """One open bracket or f-string field: the depth of the expression tree that may have grown in it so far."""

    __slots__ = ("chain", "deepest", "field_of", "lambdas")

    def __init__(self, field_of: str = "") -> None:
        self.chain = 0
        self.deepest = 0
        self.lambdas = 0
        #: The quote of the f-string whose replacement field this is; empty for a bracket.
        self.field_of = field_of


def check_depth(text: str, path: str = "<source>", first_line: int = 1) -> None:
    """Raise ``SourceError`` where ``text`` nests deeper than is safe to parse; linear in its length.

    The estimate of expression depth is an upper bound within a factor of two, not exact. Source that is not
    well-formed is no concern here: it is scanned as far as it makes sense, and the parser has the last word.
    """
    _Scan(text, path, first_line).run()


class _Scan:
    def __init__(self, text: str, path: str, first_line: int) -> None:
        self.text = text
        self.path = path
        self.first_line = first_line
        self.levels = [_Level()]
        self.total_chain = 0
        self.indents = [0]
        self.elifs = [0]
        self.line_start = True
        self.pattern = False

    def run(self) -> None:
        text, position, end = self.text, 0, len(self.text)
        match_token, match_easy_line = _TOKEN.match, _EASY_LINE.match
        while position < end:
            if self.line_start:
                position = self._start_line(position)
                easy = None if self.pattern else match_easy_line(text, position, position + MAX_CHAIN)
                if easy is not None:
                    position = easy.end()
                    self.line_start = True
                    continue
            token = match_token(text, position)
            if token is None:
                position += 1
                continue
            kind = token.lastgroup
            position = token.end()
            if kind == "name":
                word = token["name"]
                if word in _WORD_OPERATORS:
                    self._operator(position, word == "lambda")
            elif kind == "operator":
                self._operator(position)
            elif kind == "open":
                self._operator(position)
                self._open(position)
            elif kind == "close":
                if self.levels[-1].field_of:
                    position = self._resume(position, spec=False) if token["close"] == "}" else position
                else:
                    self._close()
            elif kind == "string":
                position = self._string(token["string"], position)
            elif kind == "separator":
                self._separate()
            elif kind == "colon":
                if self.levels[-1].field_of:
                    position = self._resume(position, spec=True)
            elif kind == "newline" and len(self.levels) == 1:
                self._end_line()

    # -- expressions ------------------------------------------------------------------------------------------------

    def _operator(self, position: int, is_lambda: bool = False) -> None:
        level = self.levels[-1]
        level.chain += 1
        level.lambdas += is_lambda
        self.total_chain += 1
        if self.total_chain > MAX_CHAIN or level.lambdas > MAX_CHAIN:
            self._refuse(position, f"an expression of more than {MAX_CHAIN:,} chained operations")

    def _separate(self) -> None:
        """The next element of a list begins: its depth does not add to that of the one before."""
        level = self.levels[-1]
        level.deepest = max(level.deepest, level.chain)
        self.total_chain -= level.chain
        level.chain = 0

    def _open(self, position: int, field_of: str = "") -> None:
        self.levels.append(_Level(field_of))
        depth = len(self.levels) - 1
        if depth > MAX_NESTING:
            self._refuse(position, f"more than {MAX_NESTING} brackets or f-string fields nested in one another")
        if self.pattern and depth > MAX_PATTERN_NESTING:
            self._refuse(position, f"more than {MAX_PATTERN_NESTING} nested brackets in a case pattern")

    def _close(self) -> None:
        if len(self.levels) == 1:
            return
        closed = self.levels.pop()
        self.total_chain -= closed.chain
        level = self.levels[-1]
        # What follows the bracket is applied to all of it: `(a + b).c` is one deeper than `(a + b)`.
        depth = max(level.chain, closed.chain, closed.deepest)
        self.total_chain += depth - level.chain
        level.chain = depth

    # -- strings ----------------------------------------------------------------------------------------------------

    def _string(self, opening: str, position: int) -> int:
        prefix = opening.rstrip("'\"")
        quote = opening[len(prefix) :]
        # Adjacent literals nest in the tree as operators do.
        self._operator(position)
        if "f" in prefix.lower() or "t" in prefix.lower():
            return self._formatted(quote, position, spec=False)
        body = _PLAIN_BODIES[quote].match(self.text, position)
        assert body is not None  # the pattern matches the empty string
        return body.end()

    def _formatted(self, quote: str, position: int, spec: bool) -> int:
        """Skip literal text of an f-string; enter a field, leave the string, or leave a format spec."""
        bodies = _SPEC_BODIES if spec else _FORMATTED_BODIES
        body = bodies[quote].match(self.text, position)
        assert body is not None  # the pattern matches the empty string
        position = body.end()
        if self.text.startswith("{", position):
            if spec:
                # The outer field stays open below the inner one; its end is found when the spec resumes.
                self.levels[-1].field_of = quote + "spec"
            self._open(position, quote)
            return position + 1
        if spec and self.text.startswith("}", position):
            return self._resume(position + 1, spec=False)
        if self.text.startswith(quote, position):
            if spec:
                self._close()
            return position + len(quote)
        return position + (0 if self.text[position : position + 1] in ("\r", "\n") else 1)

    def _resume(self, position: int, spec: bool) -> int:
        """Go on inside an f-string: after the ``}`` of a field, or after its ``:`` with the format spec."""
        quote = self.levels[-1].field_of.removesuffix("spec")
        if spec:
            return self._formatted(quote, position, spec=True)
        self._close()
        in_spec = self.levels[-1].field_of.endswith("spec")
        if in_spec:
            self.levels[-1].field_of = quote
        return self._formatted(quote, position, spec=in_spec)

    # -- lines ------------------------------------------------------------------------------------------------------

    def _end_line(self) -> None:
        level = self.levels[0]
        level.chain = level.deepest = level.lambdas = 0
        self.total_chain = 0
        self.line_start = True
        self.pattern = False

    def _start_line(self, position: int) -> int:
        """Count indentation and ``elif`` arms at the first token of a logical line."""
        self.line_start = False
        start = _LINE_START.match(self.text, position)
        assert start is not None  # the pattern matches the empty string
        indent = start["indent"]
        position = start.end("indent")
        if self.text[position : position + 1] in ("", "\\"):
            return position
        column = len(indent) if "\t" not in indent else _column(indent)
        while column < self.indents[-1]:
            self.indents.pop()
            self.elifs.pop()
        if column > self.indents[-1]:
            self.indents.append(column)
            self.elifs.append(0)
            if len(self.indents) - 1 > MAX_INDENT:
                self._refuse(position, f"more than {MAX_INDENT} levels of indentation")
        keyword = start.lastgroup
        if keyword == "elif":
            self.elifs[-1] += 1
            if sum(self.elifs) > MAX_ELIF:
                self._refuse(position, f"a chain of more than {MAX_ELIF} elif")
        elif keyword != "else":
            self.elifs[-1] = 0
        self.pattern = keyword == "case"
        return position

    def _refuse(self, position: int, what: str) -> None:
        before = self.text[:position]
        line = before.count("\n") + before.count("\r") - before.count("\r\n") + self.first_line
        raise SourceError(f"{self.path}:{line}: too deeply nested to analyse: {what}")


def _column(indent: str) -> int:
    """The width of the white space at the start of a line, a tab going on to the next multiple of eight."""
    column = 0
    for character in indent:
        column = (column // 8 + 1) * 8 if character == "\t" else column + 1
    return column
