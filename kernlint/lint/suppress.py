"""Comments that silence findings: ``# kernlint: ignore[KL101] reason`` and ``# kernlint: file-ignore[KL101] reason``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field

import libcst as cst

from kernlint.errors import UsageError
from kernlint.lint.selection import parse_selector
from kernlint.records import dataclass
from kernlint.syntax.tree import Module
from kernlint.workload import Span

#: Up to where another tool's comment begins on the same line.
_OURS = re.compile(r"#\s*kernlint\s*:\s*(?P<rest>.*?)(?=\s#\s*[a-z]|$)", re.IGNORECASE)
_BEHIND_OTHERS = re.compile(rf"(?:.*?\s)?(?={_OURS.pattern})", re.IGNORECASE)
_FORM = re.compile(r"(?P<verb>[a-z-]+)\s*\[(?P<rules>[^\]]*)\](?P<reason>.*)", re.IGNORECASE)

_VERBS = ("ignore", "file-ignore")


@dataclass
class Suppression:
    """One comment, or the part of it that is ours. ``rules`` holds each rule as written with its code; it covers lines
    ``first`` to ``last`` of the file and, where it stands above a function, all that concerns the kernel of the name
    ``kernel``. ``used`` are the codes that it has suppressed."""

    comment: Span
    own_line: bool
    rules: tuple[tuple[str, str], ...]
    reason: str
    first: int
    last: int
    kernel: str = ""
    whole_file: bool = False
    used: set[str] = field(default_factory=set)

    def covers(self, code: str, line: int, kernel: str) -> bool:
        """Whether it silences a finding of ``code`` at ``line``, which concerns ``kernel``."""
        if all(code != known for _, known in self.rules):
            return False
        in_reach = self.whole_file or self.first <= line <= self.last
        return in_reach or (bool(kernel) and kernel == self.kernel)

    def without(self, texts: set[str]) -> str:
        """The comment without the rules written as ``texts``; empty where none remains."""
        rest = [text for text, _ in self.rules if text not in texts]
        verb = _VERBS[self.whole_file]
        return f"# kernlint: {verb}[{', '.join(rest)}]{self.reason and ' ' + self.reason}" if rest else ""


@dataclass
class Suppressions:
    """Those of one module, with a complaint and its place for each comment that is not understood."""

    comments: list[Suppression] = field(default_factory=list)
    malformed: list[tuple[Span, str]] = field(default_factory=list)

    def suppress(self, code: str, line: int, kernel: str) -> bool:
        """Whether a comment silences that finding; it counts as used then."""
        covering = [comment for comment in self.comments if comment.covers(code, line, kernel)]
        for comment in covering:
            comment.used.add(code)
        return bool(covering)


def read_suppressions(module: Module) -> Suppressions:
    """The comments of ``module`` that are meant for kernlint."""
    found = Suppressions()
    if "kernlint" not in module.text.lower():
        return found
    for comment, owner, own_line in _comments(module.tree):
        ours = _ours(comment.value, own_line)
        if ours:
            whole = module.span(comment)
            rest = ours["rest"].rstrip()
            end = whole.column + ours.start("rest") + len(rest)
            span = whole._replace(column=whole.column + ours.start(), end_column=end)
            _read(module, span, owner, own_line, rest, found)
    return found


def _ours(comment: str, own_line: bool) -> re.Match[str] | None:
    """The part of a comment that is meant for kernlint. Behind code it may follow one for another tool (``# noqa``); on its own
    line that would be code that somebody has commented out."""
    others = None if own_line else _BEHIND_OTHERS.match(comment)
    return _OURS.match(comment, others.end() if others else 0)


def _read(
    module: Module, span: Span, owner: cst.CSTNode | None, own_line: bool, rest: str, found: Suppressions
) -> None:
    form = _FORM.match(rest)
    verb = form["verb"].lower() if form else rest.split("[")[0].split()[0].lower() if rest else ""
    if verb not in _VERBS:
        found.malformed.append(
            (span, f"{verb or 'nothing'!r} is not understood; it is `ignore[CODE]` or `file-ignore[CODE]`")
        )
        return
    texts = [text.strip() for text in form["rules"].split(",") if text.strip()] if form else []
    if form is None or not texts:
        found.malformed.append((span, f"`{verb}` needs the rules in brackets, such as {verb}[KL101]"))
        return
    rules: list[tuple[str, str]] = []
    for text in dict.fromkeys(texts):
        try:
            selector = parse_selector(text, "rule")
        except UsageError as error:
            found.malformed.append((span, str(error)))
            continue
        if len(selector.codes) > 1 or (text.upper() not in selector.codes and "-" not in text):
            found.malformed.append((span, f"{text!r} means many rules; name each one"))
            continue
        (code,) = selector.codes
        rules.append((text, code))
    if rules:
        first, last, kernel = _reach(module, span, owner, own_line)
        reason = form["reason"].strip()
        found.comments.append(
            Suppression(span, own_line, tuple(rules), reason, first, last, kernel, verb == "file-ignore")
        )


def _reach(module: Module, comment: Span, owner: cst.CSTNode | None, own_line: bool) -> tuple[int, int, str]:
    """The lines that a comment covers, and the function that it stands above."""
    if owner is None:
        return comment.line, comment.line, ""
    span = module.span(owner)
    if own_line:
        if isinstance(owner, cst.FunctionDef):
            # A function's span begins at `def`, its findings may stand at a decorator.
            first = min([span.line, *(module.span(decorator).line for decorator in owner.decorators)])
            return first, span.end_line, owner.name.value
        return comment.line, span.end_line, ""
    # Behind a statement of several lines formatters put the comment at its end.
    ends_statement = isinstance(owner, cst.SimpleStatementLine) and span.end_line == comment.line
    return (span.line if ends_statement else comment.line), comment.line, ""


def _comments(tree: cst.Module) -> Iterator[tuple[cst.Comment, cst.CSTNode | None, bool]]:
    """Every comment with the node that it stands above (own line) or behind, None where there is none."""
    stack: list[tuple[cst.CSTNode, cst.CSTNode | None]] = [(tree, None)]
    while stack:
        node, parent = stack.pop()
        if isinstance(node, cst.EmptyLine):
            if node.comment is not None:
                yield node.comment, _below(node, parent), True
        elif isinstance(node, cst.TrailingWhitespace):
            if node.comment is not None:
                yield node.comment, parent, False
        else:
            # White space inside brackets stands for the node that it lies in.
            above = parent if isinstance(node, cst.ParenthesizedWhitespace) else node
            if isinstance(node, cst.Decorator):
                stack += [(child, parent if isinstance(child, cst.EmptyLine) else above) for child in node.children]
            else:
                stack += [(child, above) for child in node.children]


def _below(line: cst.EmptyLine, parent: cst.CSTNode | None) -> cst.CSTNode | None:
    """The statement that ``line``, which belongs to ``parent``, stands above."""
    if isinstance(parent, cst.Module):
        in_header = any(line is other for other in parent.header)
        return parent.body[0] if in_header and parent.body else None
    if isinstance(parent, cst.IndentedBlock):
        return None  # behind the last statement of the block
    return parent
