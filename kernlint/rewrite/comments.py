"""Comments and docstrings that speak of code that goes: they are part of the edit, so that they stay true."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import libcst as cst

from kernlint.rewrite.source import Comment, Source
from kernlint.rewrite.text import TextEdit

#: What a comment says of the factors of a product; where they move, it moves along.
SPEAKS_OF_SCALES = re.compile(r"scal|quanti|factor|multipl", re.IGNORECASE)


def stale_comments(
    source: Source,
    nodes: Iterable[cst.CSTNode],
    words: re.Pattern[str],
    instead: Mapping[Any, str] | None = None,
) -> list[TextEdit]:
    """Edits that take out the comments above and behind the statements of ``nodes`` that ``words`` matches; ``instead``
    says what a statement is now, a noun without its article, to be put behind what remains true above it."""
    edits = []
    for node in nodes:
        heading = source.heading(node)
        # The lines of one comment are one text.
        if words.search(" ".join(comment.text for comment in heading)):
            text = (instead or {}).get(node)
            if text is not None:
                edits.append(TextEdit(heading[0].start, heading[0].end, _amended(heading, words, text), describes=True))
                heading = heading[1:]
            edits += [source.delete_comment(comment) for comment in heading]
        edits += [source.delete_comment(comment) for comment in source.trailing(node) if words.search(comment.text)]
    return edits


def _amended(heading: Iterable[Comment], words: re.Pattern[str], text: str) -> str:
    whole = " ".join(comment.text.lstrip("#").strip() for comment in heading)
    rest = without_clauses(whole, words).strip().rstrip(".")
    return f"# {rest}: a {text}" if rest else f"# A {text}"


def text_of(line: cst.CSTNode) -> cst.SimpleString | cst.ConcatenatedString | None:
    """The string that a line consists of, as a docstring does."""
    statement = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    value = statement.value if isinstance(statement, cst.Expr) else None
    return value if isinstance(value, (cst.SimpleString, cst.ConcatenatedString)) else None


def docstring(function: cst.FunctionDef) -> cst.SimpleString | None:
    """The docstring of ``function``, where it is one string."""
    found = text_of(function.body.body[0]) if function.body.body else None
    return found if isinstance(found, cst.SimpleString) else None


def without_clauses(text: str, words: re.Pattern[str]) -> str:
    """``text`` without the clauses that ``words`` matches: a remark in parentheses, the end of a sentence from the comma
    before it on, or the whole sentence."""
    text = re.sub(r"[ \t]*\([^()\n]*\)", lambda m: "" if words.search(m[0]) else m[0], text)
    sentences = re.split(r"(?<=[.!?])(?=\s)|(?=\n\s*\n)", text)
    return "".join(_without_clause(sentence, words) for sentence in sentences)


#: What a clause begins with.
_CLAUSE = re.compile(r", |; |: | - | so that | because ")


def _outside(sentence: str, position: int) -> bool:
    """Whether ``position`` lies in no brackets."""
    before = sentence[:position]
    return all(before.count(left) == before.count(right) for left, right in ("()", "[]", "{}"))


def _without_clause(sentence: str, words: re.Pattern[str]) -> str:
    found = words.search(sentence)
    if found is None or "\n" in sentence.strip():
        return sentence
    cut = max(
        (c.start() for c in _CLAUSE.finditer(sentence, 0, found.start()) if _outside(sentence, c.start())), default=-1
    )
    if cut < 0:
        return ""
    end = sentence.rstrip()[-1:]
    return sentence[:cut] + (end if end in ".!?" else "")


def stale_docstring(source: Source, function: cst.FunctionDef | None, words: re.Pattern[str]) -> list[TextEdit]:
    """Edits that take the clauses that ``words`` matches out of the docstring of ``function``."""
    text = docstring(function) if function is not None else None
    if text is None:
        return []
    quote = text.quote
    body = text.value[len(text.prefix) + len(quote) : -len(quote)]
    new = without_clauses(body, words)
    if new == body or not new.strip():
        return []
    return [source.replace(text, f"{text.prefix}{quote}{new}{quote}")]
