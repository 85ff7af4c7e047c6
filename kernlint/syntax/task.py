"""The input as a task: a kernel, perhaps its PyTorch reference and its performance data, from Markdown or Python."""

from __future__ import annotations

import re
from pathlib import PurePath

from kernlint.errors import SourceError
from kernlint.records import dataclass
from kernlint.syntax.source import STDIN_NAME, SourceText, split_lines
from kernlint.syntax.tree import Module, parse_module

_MARKDOWN_SUFFIXES = frozenset({".md", ".markdown", ".mdown", ".mkd"})
_PYTHON_LANGUAGES = frozenset({"", "python", "python3", "py", "py3"})
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<title>.*?)[ \t]*#*[ \t]*$")
_RULE = re.compile(r" {0,3}(?:-[ \t]*){3,}$|[ \t]*(?:\*[ \t]*){3,}$")
_FENCE = re.compile(r"(?P<indent> {0,3})(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)$")

#: How code begins that nobody would take for prose.
_STATEMENT = re.compile(r"@\w|(import|from|def|class) \w|\w+ = ")


@dataclass(frozen=True)
class Task:
    """What is to be judged: ``kernel`` always, the PyTorch ``reference`` where there is one, and what is known of its
    ``performance`` as plain text (empty when nothing is).

    Spans of both modules count the lines of the file at ``path``.
    """

    kernel: Module
    reference: Module | None
    performance: str
    path: str


@dataclass(frozen=True)
class Fence:
    """A fenced code block: ``language`` in lower case, ``first`` the line number of its first line of code, from 1, and
    the ``indent`` of its fence, up to which the spaces before its lines are not part of the code."""

    language: str
    first: int
    lines: tuple[str, ...]
    indent: int = 0


@dataclass
class _Section:
    title: str
    fences: list[Fence]
    prose: list[str]


def read_task(source: SourceText, layout: bool = False) -> Task:
    """Read a Markdown task file or plain Python; which of them is told by the suffix, else by the content.

    Trees have their ``layout`` where it is asked for. Raises ``SourceError`` on a syntax error and on Markdown that holds no
    Python code.
    """
    if is_markdown(source):
        return _read_markdown(source, layout)
    if source.path.endswith(".ipynb"):
        raise SourceError(
            f"{source.path}: a notebook, which only `kernlint check` reads; elsewhere give its code as a Python file"
        )
    return Task(parse_module(source.text, source.path, layout=layout), None, "", source.path)


def is_page(path: str) -> bool:
    """Whether the name of the file says that it is Markdown."""
    return PurePath(path).suffix.lower() in _MARKDOWN_SUFFIXES


def is_markdown(source: SourceText) -> bool:
    """Whether ``source`` is Markdown. Without a telling suffix it is when it has a fence and is not Python."""
    suffix = PurePath(source.path).suffix.lower()
    if is_page(source.path):
        return True
    if suffix and source.path != STDIN_NAME:
        return False
    if not any(section.fences for section in _sections(source.text)):
        return False
    try:
        parse_module(source.text, source.path)
    except SourceError:
        return True
    return False


def is_prose(text: str) -> bool:
    """Whether ``text`` is a page whatever its file is called: it shows code in several fences, and has none outside of them."""
    fences = [fence for section in _sections(text) for fence in section.fences]
    inside = {number for fence in fences for number in range(fence.first, fence.first + len(fence.lines))}
    outside = [line for number, line in enumerate(split_lines(text), 1) if number not in inside]
    return len(fences) > 1 and not any(map(_STATEMENT.match, outside))


def _read_markdown(source: SourceText, layout: bool) -> Task:
    kernel, reference, performance = _parts(source)
    module = parse_module(joined(kernel), source.path, kernel[0].first, layout)
    module.fences = tuple(fence.first for fence in kernel)
    return Task(
        module,
        parse_module(joined(reference), source.path, reference[0].first, layout) if reference else None,
        performance,
        source.path,
    )


def kernel_fences(source: SourceText) -> list[Fence]:
    """The fences of a Markdown text that are read as the kernel's module. Raises ``SourceError`` where none is."""
    return _parts(source)[0]


def _parts(source: SourceText) -> tuple[list[Fence], list[Fence], str]:
    """The fences of the kernel, those of the reference (which may be none), and what is said of performance."""
    kernel = reference = None
    performance = ""
    unclaimed: list[Fence] = []
    for section in _sections(source.text):
        role = _role(section.title)
        code = _python_fences(section.fences)
        if role == "performance":
            performance = performance or _until_rule(section.prose)
        elif role == "reference" and reference is None and code:
            reference = code
        elif role == "kernel" and kernel is None and code:
            kernel = code
        else:
            # An unmarked fence under a foreign heading is output or data more often than code.
            unclaimed += [fence for fence in code if fence.language]
    if kernel is None:
        kernel = [fence for fence in unclaimed if any("triton" in line for line in fence.lines)] or unclaimed
    if not kernel:
        raise SourceError(f"{source.path}: Markdown without Python code: no fenced block holds a kernel")
    return kernel, reference or [], performance


def _until_rule(prose: list[str]) -> str:
    """The text up to the first horizontal rule, behind which a prompt often goes on with something else."""
    end = next((index for index, line in enumerate(prose) if _RULE.match(line)), len(prose))
    return "\n".join(prose[:end]).strip()


def _python_fences(fences: list[Fence]) -> list[Fence]:
    """Those marked as Python; where none is, those without a mark (beside marked ones they are output or shell)."""
    code = [fence for fence in fences if fence.language in _PYTHON_LANGUAGES]
    return [fence for fence in code if fence.language] or code


def _role(title: str) -> str:
    """What a section with this heading holds: reference, kernel, performance or something else (empty)."""
    words = re.sub(r"[^a-z0-9 ]", " ", title.lower()).split()
    text = " ".join(words)
    if text in ("performance", "performance data", "profile", "profiling", "latency"):
        return "performance"
    if (words and words[-1] == "reference") or text.startswith(("pytorch reference", "reference implementation")):
        return "reference"
    if (words and words[-1] == "kernel") or "triton kernel" in text:
        return "kernel"
    return ""


def joined(fences: list[Fence]) -> str:
    """The text of the module that ``fences`` make: each keeps its distance from the others, so that line numbers hold."""
    first = fences[0].first
    lines: list[str] = []
    for fence in fences:
        lines += [""] * (fence.first - first - len(lines))
        lines += fence.lines
    return "\n".join(lines) + "\n"


def _sections(text: str) -> list[_Section]:
    """Divide Markdown at its headings; a ``#`` inside a fence is a comment of the code, not a heading."""
    sections = [_Section("", [], [])]
    lines = split_lines(text)
    index = 0
    while index < len(lines):
        line = lines[index]
        index += 1
        heading, opening = _HEADING.match(line), _FENCE.match(line)
        if heading:
            sections.append(_Section(heading["title"], [], []))
        elif opening:
            index = _read_fence(lines, index, opening, sections[-1])
        else:
            sections[-1].prose.append(line)
    return sections


def _read_fence(lines: list[str], index: int, opening: re.Match[str], section: _Section) -> int:
    """Add the fence whose code starts at ``lines[index]`` to ``section``; the index behind its end."""
    fence, indent = opening["fence"], len(opening["indent"])
    closing = re.compile(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t]*$")
    start = index
    while index < len(lines) and not closing.match(lines[index]):
        index += 1
    code = tuple(_dedent(line, indent) for line in lines[start:index])
    info = opening["info"].strip().lower()
    language = re.split(r"[\s{},]", info.lstrip("{."), maxsplit=1)[0]
    section.fences.append(Fence(language, start + 1, code, indent))
    section.prose.extend(code)
    return index + 1


def _dedent(line: str, indent: int) -> str:
    """``line`` without up to ``indent`` leading spaces, as Markdown reads the code of an indented fence."""
    leading = len(line) - len(line.lstrip(" "))
    return line[min(indent, leading) :]
