"""What docstrings and comments say of an argument: its element type, and what its axes are called. None of it is proof."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from kernlint.records import dataclass
from kernlint.syntax.positions import unwarned
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import parameters
from kernlint.workload import Dtype
from kernlint.workload import dtype as dt

_WORDS: Mapping[str, str] = {
    "int8": "int8", "uint8": "uint8", "int16": "int16", "int32": "int32", "int64": "int64", "long": "int64", "bool": "bool",
    "fp16": "float16", "float16": "float16", "half": "float16", "f16": "float16", "bf16": "bfloat16", "bfloat16": "bfloat16",
    "fp32": "float32", "float32": "float32", "f32": "float32", "fp64": "float64", "float64": "float64",
    "fp8": "float8_e4m3fn", "e4m3": "float8_e4m3fn", "float8_e4m3fn": "float8_e4m3fn", "fp8e4m3": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2", "e5m2": "float8_e5m2", "fp8e5m2": "float8_e5m2",
}  # fmt: skip
_WORD = re.compile(
    r"(?<![A-Za-z0-9_])(?:torch\.|tl\.)?(" + "|".join(sorted(_WORDS, key=len, reverse=True)) + r")(?![A-Za-z0-9_])",
    re.I,
)
#: Names of axes in brackets: `[batch, seq, dim]`, `(M, K)`, `[num_blocks x 16 x heads]`.
_AXES = re.compile(r"[\[(]\s*(\w+(?:\s*(?:[,*×]|\bx\b)\s*\w+)+)\s*,?\s*[\])]")
_BETWEEN = re.compile(r"\s*(?:[,*×]|\bx\b)\s*")


@dataclass(frozen=True)
class Prose:
    """What is written at a function: its parameters' ``names``, its docstring and the ``comments`` of it and just above it (line,
    text, and the code before it), as far as these may tell a type or a shape."""

    function: str
    line: int
    names: tuple[str, ...]
    docstring: str
    comments: tuple[tuple[int, str, str], ...]

    def about(self, name: str) -> Iterator[tuple[str, int]]:
        """What is said of the parameter ``name``, with the line of the comment (0: in the docstring)."""
        for text in _beside(name, self.docstring, self.names):
            yield text, 0
        for number, comment, code in self.comments:
            # A comment at the end of a parameter's own line is about that parameter.
            own = re.match(rf"\s*{re.escape(name)}\s*(:[^=]*)?(=[^#]*)?,?\s*$", code) is not None
            for text in (comment,) if own else _beside(name, comment, self.names):
                yield text, number


def of_functions(module: Module) -> dict[str, Prose]:
    """By function, the last of a name."""
    lines = module.text.splitlines()
    parted = ((number, *line.partition("#")) for number, line in enumerate(lines, start=1) if "#" in line)
    telling = [(number, comment, code) for number, code, _, comment in parted if _tells(comment)]
    found = {}
    for function in module.of(cst.FunctionDef):
        span = module.span(function)
        first = span.line
        while first > 1 and first - 1 <= len(lines) and lines[first - 2].lstrip().startswith(("#", "@")):
            first -= 1
        start, end = bisect_left(telling, (first,)), bisect_left(telling, (span.end_line + 1,))
        names = (param.name.value for param in parameters(function))
        with unwarned():
            docstring = function.get_docstring() or ""
        found[function.name.value] = Prose(
            function.name.value,
            module.span(function.name).line,
            tuple(names),
            docstring if _tells(docstring) else "",
            tuple(telling[start:end]),
        )
    return found


def first_type(text: str) -> Dtype | None:
    """The first element type that ``text`` names."""
    word = _WORD.search(text)
    return dt.find(_WORDS[word.group(1).lower()]) if word is not None else None


def axes(text: str) -> tuple[str, ...]:
    """The names of axes that ``text`` gives first."""
    found = _AXES.search(text)
    return tuple(_BETWEEN.split(found.group(1))) if found is not None else ()


def _tells(text: str) -> bool:
    return _WORD.search(text) is not None or _AXES.search(text) is not None


def _beside(name: str, text: str, names: Sequence[str]) -> Iterator[str]:
    """What ``text`` says after mentioning ``name`` and before it mentions another of ``names``."""
    for mention in re.finditer(rf"(?<![\w.]){re.escape(name)}(?!\w)", text):
        rest = text[mention.end() : mention.end() + 120].split("\n\n")[0].split(";")[0]
        together = True
        for other in sorted(re.finditer(r"[A-Za-z_]\w*", rest), key=lambda word: word.start()):
            if other.group() in names and other.group() != name:
                # "q, k, v: float16" is about all three.
                between = rest[: other.start()]
                if not (together and re.fullmatch(r"[\s,&/]*(and|,)?[\s,&/]*", between)):
                    rest = between
                    break
                rest = " " * other.end() + rest[other.end() :]
            elif _WORD.fullmatch(other.group()) is None:
                together = False
        yield rest
