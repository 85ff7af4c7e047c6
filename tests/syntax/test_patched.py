"""A module with some functions parsed again is the module that parsing all of it gives."""

from __future__ import annotations

import libcst as cst
import pytest

from kernlint.errors import SourceError
from kernlint.syntax import parse_module
from kernlint.syntax.patched import patched
from kernlint.syntax.tree import check_syntax

SOURCE = '''\
"""é"""
import triton
import triton.language as tl


# What stands above.
@triton.jit  # the compiler
def first(x, n: tl.constexpr,
          m=3):
    """In words."""
    i = tl.arange(0, n)  # lanes
    if n > 4:
        tl.store(x + i * m, -i)
    # the end of it


class Options:
    width = 4


@triton.jit
def second(x):
    return (x * 2,)


def short(x): return x


if True:

    def inner(x):
        return x + 1


# last words
'''


def changed(old: str, new: str, source: str = SOURCE) -> str:
    assert source.count(old) == 1
    return source.replace(old, new)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(changed("i * m", "i.to(tl.int64) * m"), id="an expression"),
        pytest.param(changed("    return (x * 2,)", "    y = x; return (y * 2 if y else 0,)"), id="other statements"),
        pytest.param(changed("lanes", "of a warp, 'é'"), id="a comment"),
        pytest.param(changed("x * 2", "x * 3", changed("i * m", "m * i")), id="two functions"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_every_node_is_where_it_would_be(text: str, end: str) -> None:
    source, text = SOURCE.replace("\n", end), text.replace("\n", end)
    before, after = parse_module(source, "k.py", 7), parse_module(text, "k.py", 7)
    module = patched(before, text)
    assert module is not None
    assert (module.text, module.path, module.first_line, module.imports) == (text, "k.py", 7, after.imports)
    assert [type(node) for node in module.nodes] == [type(node) for node in after.nodes]
    for node, other in zip(module.nodes, after.nodes):
        if not isinstance(node, cst.Module):
            assert module.span(node) == after.span(other), node
            assert module.at(after.span(other), type(node)) is not None
    kept = [node for node in before.tree.body if node in module.tree.body]
    assert len(kept) + len(module.new) == len(before.tree.body)
    for node in kept:
        assert module.within(node, cst.Name) == before.within(node, cst.Name)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SOURCE, id="nothing"),
        pytest.param(changed("    return (x * 2,)", "    x = x * 2\n    return (x,)"), id="a line more"),
        pytest.param(changed("m=3", "m=4"), id="the parameters"),
        pytest.param(changed("@triton.jit  #", "@triton.jit() #"), id="a decorator"),
        pytest.param(changed("    # the end of it", "    pass"), id="a comment that may belong to another"),
        pytest.param(changed("width = 4", "width = 5"), id="a class"),
        pytest.param(changed("def short(x): return x", "def short(y): return y"), id="a function of one line"),
        pytest.param(changed("return x + 1", "return x + 2"), id="a function under a condition"),
        pytest.param(changed("x * 2", "x * (2"), id="what does not parse"),
        pytest.param(changed("    return (x * 2,)", "end = 1"), id="a statement behind an empty function"),
        pytest.param(changed("import triton.language as tl", "from triton import language as tl"), id="an import"),
        pytest.param(changed("x * 2", "x * 3", changed("width = 4", "width = 5")), id="a function and more"),
    ],
)
def test_other_changes_take_a_parse_of_all(text: str) -> None:
    assert patched(parse_module(SOURCE, "k.py"), text) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(changed("x * 2", "x * 3"), id="an expression"),
        pytest.param(changed("    return (x * 2,)", "    y = x\n    return (y * 2,)"), id="a line more"),
        pytest.param(changed("import triton\n", "import torch\nimport triton\n"), id="an import"),
        pytest.param("import torch\n" + SOURCE, id="a first line"),
        pytest.param(SOURCE + "else:\n    pass\n", id="what goes on with the last statement"),
        pytest.param(changed("class Options", "@final\nclass Options"), id="a decorator"),
        pytest.param(changed("\n\ndef short", "\n\n@triton.jit\ndef short"), id="a decorator of what stays"),
        pytest.param("", id="nothing left"),
        pytest.param(SOURCE[:-1], id="no last line end"),
        pytest.param(SOURCE[SOURCE.index("def short") :], id="the first half gone"),
    ],
)
def test_a_change_that_parses_passes(text: str) -> None:
    check_syntax(parse_module(SOURCE, "k.py"), text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(changed("x * 2", "x * (2"), id="a bracket"),
        pytest.param(changed("width = 4", "'''"), id="a text without an end"),
        pytest.param(changed("    return (x * 2,)", "    return (x * 2,)\n  x"), id="a dedent to nowhere"),
        pytest.param(changed("class Options", "@final\n"), id="a decorator of nothing"),
        pytest.param(changed("    return (x * 2,)\n", ""), id="a function without a body"),
        pytest.param(SOURCE + "else:\n", id="an else without a body"),
        pytest.param("    x\n" + SOURCE, id="an indent"),
    ],
)
def test_a_change_that_does_not_parse_is_told_by_its_place(text: str) -> None:
    with pytest.raises(SourceError) as expected:
        parse_module(text, "k.py", 3)
    with pytest.raises(SourceError) as caught:
        check_syntax(parse_module(SOURCE, "k.py", 3), text)
    assert str(caught.value) == str(expected.value)
