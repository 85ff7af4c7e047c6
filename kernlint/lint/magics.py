"""Lines of a cell that IPython reads and Python does not: magics, shell commands and requests for help."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Cell magics under which the rest of the cell runs as Python, in the notebook's own namespace.
_OF_PYTHON = re.compile(r"%%(?:capture|debug|prun|time|timeit)\b")

#: A magic that IPython knows without its mark, and what cannot go on an expression.
_UNMARKED = r"""(?:pip|conda|mamba|uv|cd|ls|cat|cp|mv|rm|mkdir|run|time|timeit|env|load_ext|matplotlib)
    [ \t]+ (?!(?:in|is|if|and|or|not)\b) (?:-?\w|~|/\w|\.\.)"""
_MAY_BE_UNMARKED = re.compile(rf"^[ \t]*{_UNMARKED}", re.MULTILINE | re.VERBOSE)

#: A statement of IPython: `%magic`, `!command`, `?help`, `help?`, `x = !command`, `pip install x`; with lines that a backslash continues.
_MAGIC = re.compile(
    r"""[ \t]*(?:
      [%!?] (?:[^\n\\]|\\\n?)*
    | %{0,2}(?:[^\W\d]|\*)[\w.*]* (?:\[[\w'"]*\])* \?\??[ \t]*(?=\n|\Z)
    | [^\W\d][\w.,*\[\] \t]* =[ \t]*[%!] (?:[^\n\\]|\\\n?)*
    | """
    + _UNMARKED
    + r""" (?:[^\n\\]|\\\n?)*
    )""",
    re.VERBOSE,
)

#: What may hold the end of a line, or look as if it did: strings, comments, brackets, a continued line.
_TOKEN = re.compile(
    r"""'''(?:[^\\]|\\.)*?(?:'''|\Z) | \"\"\"(?:[^\\]|\\.)*?(?:\"\"\"|\Z) | '(?:[^'\\\n]|\\.)*'? | "(?:[^"\\\n]|\\.)*"?
    | \#[^\n]* | \\. | (?P<open>[(\[{]) | (?P<close>[)\]}]) | (?P<end>\n)""",
    re.VERBOSE | re.DOTALL,
)


def is_python(lines: Sequence[str]) -> bool:
    """Whether a cell of these lines holds Python, unlike one under ``%%bash``."""
    first = next((line for line in lines if line.strip()), "")
    return not first.startswith("%%") or _OF_PYTHON.match(first) is not None


def without_magics(lines: Sequence[str]) -> list[str]:
    """``lines`` as Python: each statement of IPython an empty one in the same place.

    A statement of Python begins with none of its marks, but may hold them: in a string, in a comment, and in brackets at the
    beginning of a line.
    """
    text = "\n".join(lines)
    if not any(mark in text for mark in "%!?") and not _MAY_BE_UNMARKED.search(text):
        return list(lines)
    found = list(lines)
    position = number = 0
    while position < len(text):
        magic = _MAGIC.match(text, position)
        end = magic.end() if magic else _end_of_statement(text, position)
        height = text.count("\n", position, end) + 1
        if magic:
            line = lines[number]
            indent = line[: len(line) - len(line.lstrip())]
            found[number : number + height] = [f"{indent}pass", *[""] * (height - 1)]
        position = end + 1
        number += height
    return found


def _end_of_statement(text: str, position: int) -> int:
    """Where the line ends that the statement at ``position`` ends on."""
    depth = 0
    for token in _TOKEN.finditer(text, position):
        if token["end"] and depth <= 0:
            return token.start()
        depth += bool(token["open"]) - bool(token["close"])
    return len(text)
