"""What the text of a module says beside its tree: comments and how it is indented, as LibCST's parser has them."""

from __future__ import annotations

import libcst as cst
import pytest

from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite
from kernlint.syntax.tree import Module, parse_module

TEXTS = {
    "none": "x = 1\n",
    "own lines and behind code": "# a\nx = 1  # b\n\n    # c\ndef f():\n  # d\n  return 1 # e\n",
    "in brackets": "f(  # a\n    1,\n    # b\n)\n",
    "in strings": "x = '# a'\ny = '''\n# b\n'''\nz = f'{x}# c'  # d\n",
    "carriage returns": "if a:  # b\r\n\tx = 1  # c\r\n# d\r\n",
    "no end": "x = 1  # a",
    "form feed": "\x0c# a\nx = 1\n\x0c\n# b\n",
    "not ASCII": "x = 'ä\u2028'  # ö\n# ü\n",
    "continued": "x = 1 + \\\n    2  # a\n",
}


def _by_the_tree(module: Module) -> list[tuple[str, int, int]]:
    found, stack = [], [module.tree]
    while stack:
        node = stack.pop()
        if isinstance(node, cst.Comment):
            span = module.span(node)
            found.append((node.value, span.line, span.column))
        stack += node.children  # type: ignore[arg-type]
    return sorted(found, key=lambda one: one[1:])


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_comments(text: str) -> None:
    source = Source(parse_module(text, "k.py", 5))
    spans = [(comment.text, source.span(comment.start, comment.end)) for comment in source.comments]
    assert [(one, s.line, s.column) for one, s in spans] == _by_the_tree(parse_module(text, "k.py", 5, layout=True))
    for comment in source.comments:
        assert text[comment.start : comment.end] == comment.text
        assert comment.own_line == (not text[: comment.start].replace("\r", "\n").rpartition("\n")[2].strip())


@pytest.mark.parametrize(
    "text", [*TEXTS.values(), "if a:\n\tx = 1\n", "def f(\n  a,\n):\n   x = 1\n   if a:\n     y = 2\n"]
)
def test_the_step_of_a_block(text: str) -> None:
    full = parse_module(text, "k.py", layout=True)
    assert Source(parse_module(text, "k.py")).indent_step == full.tree.default_indent


def test_what_is_newer_than_python_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source(parse_module("x = 1  # a\n", "k.py"))
    monkeypatch.setattr("kernlint.rewrite.source.python_tree", lambda text: None)
    with pytest.raises(CannotRewrite, match="the running Python"):
        _ = source.comments


@pytest.mark.parametrize(
    "text",
    [
        "f(a)", "f(a,)", "f(((a)),)", "f(\n(a)\n,\n)", "f(a ,)", "f(a\n # b, c\n ,)", "f(a # ,\n)", "f(a, b)",
        "f((a),)", "f((a))", "f(a \\\n ,)", "f(a=1,)", "f(*a,)", "f(a, **b)", "f([1, 2])", "f(',')", "f(a,\r\n)",
    ],
)  # fmt: skip
def test_a_comma_behind_an_argument(text: str) -> None:
    source, full = (Source(parse_module(text, "k.py", layout=layout)) for layout in (False, True))
    (call,), (known,) = (one.module.of(cst.Call) for one in (source, full))
    for arg, other in zip(call.args, known.args):
        comma = source.comma(source.item_end(arg))
        assert (comma is not None) == isinstance(other.comma, cst.Comma)
        assert comma is None or text[comma] == ","
