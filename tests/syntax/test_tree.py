from contextlib import suppress

import libcst
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kernlint.errors import SourceError
from kernlint.syntax import parse_module, walk
from kernlint.workload import Span


def call(module):
    return next(node for node in walk(module.tree) if isinstance(node, libcst.Call))


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_spans_count_from_one(newline):
    module = parse_module(newline.join(["# é", "def f():", '\tx = "é" + tl.dot(a, b)', ""]), "k.py")
    span = module.span(call(module))
    assert span == Span("k.py", 3, 12, 3, 24)
    assert module.excerpt(span) == ['\tx = "é" + tl.dot(a, b)']


def test_spans_of_a_fence_are_lines_of_the_file():
    module = parse_module("x = 1\ny = f(\n    a)\n", "task.md", first_line=118)
    span = module.span(call(module))
    assert span == Span("task.md", 119, 5, 120, 7)
    assert module.excerpt(span) == ["y = f(", "    a)"]


def test_positions_survive_a_deep_tree():
    module = parse_module("x = a" + ".b" * 900, "k.py")
    deepest = list(walk(module.tree))[-1]
    assert module.span(deepest).line == 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param("x = 1\ny = (\n", "k.py:2:5: syntax error: '(' was never closed", id="never closed"),
        pytest.param("if a:\npass\n", "k.py:2:1: syntax error: expected an indented block", id="no block"),
        pytest.param("x = 'abc\n", "k.py:1:5: syntax error: unterminated string literal", id="unterminated"),
        pytest.param("print 'x'\n", "k.py:1:1: syntax error: Missing parentheses", id="Python 2"),
        pytest.param(
            "def f(a, b, a):\n    pass\n", "k.py:1:13: syntax error: duplicate argument 'a'", id="a parameter twice"
        ),
        pytest.param(
            "def f():\n    x = 1\n    global x\n",
            "k.py:3:5: syntax error: name 'x' is assigned to before global declaration",
            id="a global too late",
        ),
        pytest.param("x = 1\nreturn x\n", "k.py:2:1: syntax error: 'return' outside function", id="return outside"),
        pytest.param("if a:\n    break\n", "k.py:2:5: syntax error: 'break' outside loop", id="break outside"),
        pytest.param("yield 1\n", "k.py:1:1: syntax error: 'yield' outside function", id="yield outside"),
        pytest.param("await f()\n", "k.py:1:1: syntax error: 'await' outside function", id="await outside"),
        pytest.param("def f():\n    await g\n", "k.py:2:5: syntax error: 'await' outside async", id="await in def"),
        pytest.param("\\", "k.py:1:", id="a lone backslash"),
        pytest.param("def f():\n    a\n  b\n", "k.py:3:", id="dedent to nowhere"),
    ],
)
def test_syntax_errors_are_one_line_with_a_place(source, message):
    with pytest.raises(SourceError) as caught:
        parse_module(source, "k.py")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_cells_of_notebooks_may_await():
    assert parse_module("x = await f()\n", "k.ipynb").tree.body


def test_syntax_errors_in_a_fence_name_the_line_of_the_file():
    with pytest.raises(SourceError) as caught:
        parse_module("if a:\npass\n", "task.md", first_line=10)
    message = str(caught.value)
    assert message.startswith("task.md:11:1: ")
    assert "line 1" not in message


@example("#\\\n")
@given(st.text(alphabet="ab (){}[]\"'f#:\n\t\\.,=+-*/\r1eif%", max_size=60))
def test_any_text_is_parsed_or_refused(text):
    try:
        module = parse_module(text, "k.py", layout=True)
    except SourceError as error:
        message: str = str(error)
        module = None
    if module is None:
        assert message.startswith("k.py:")
        assert "\n" not in message
        return
    assert module.tree.code == text or "\r" in text
    for node in walk(module.tree):
        if isinstance(node, libcst.BaseExpression):
            span = module.span(node)
            assert 1 <= span.line <= span.end_line <= len(module.lines)


def test_walk_visits_names_in_source_order():
    source = "def f(a, *b, c=d, **e) -> g:\n    h = i + j[k] if l else m(n, o=p)\n    return q\n"
    names = [node.value for node in walk(parse_module(source, "k.py").tree) if isinstance(node, libcst.Name)]
    assert sorted(names) == list("abcdefghijklmnopq")


def test_nodes_of_the_module_and_of_a_part_are_those_of_a_walk():
    module = parse_module("import a\n\nclass C:\n    def f(self): return g(1)\n\nx = C().f()\n", "k.py")
    assert list(module.nodes) == list(walk(module.tree))
    method = module.of(libcst.FunctionDef)[0]
    for part in (*module.tree.body, method, module.tree):
        assert module.within(part, libcst.Name) == [node for node in walk(part) if isinstance(node, libcst.Name)]


@pytest.mark.parametrize("source", ["x = 1\n", "x = = 1\n"], ids=["parsed", "refused"])
def test_nodes_made_after_a_parse_are_checked_as_ever(source):
    with suppress(SourceError):
        parse_module(source, "k.py")
    with pytest.raises(libcst.CSTValidationError):
        libcst.Name("")


def test_what_a_function_does_itself_is_not_in_those_inside_it():
    source = "def f():\n    a()\n    def g(x=b()):\n        c()\n        def h(): d()\n    e(lambda: g())\n    i()\n"
    module = parse_module(source, "k.py")
    outer, inner, _ = module.of(libcst.FunctionDef)

    def called(node):
        return [call.func.value for call in module.own(node, libcst.Call)]

    assert called(outer) == ["a", "e", "i"]
    assert called(inner) == ["b", "c"]
    assert module.own(outer.body, libcst.FunctionDef) == [inner]
