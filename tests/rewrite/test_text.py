"""Text edits: byte-exact outside, nothing lost, nothing left behind."""

import pytest

from kernlint.rewrite.source import Source
from kernlint.rewrite.text import CannotRewrite, TextEdit, apply_edits, located
from kernlint.syntax.tree import parse_module


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["lf", "crlf", "cr"])
def test_line_ends_stay_and_new_lines_take_them(newline: str) -> None:
    text = newline.join(["a = 1", "b = 2  # é", ""])
    at = text.index("b")
    assert apply_edits(text, [TextEdit(at, at, "c = 3\nd = 4\n")]) == newline.join(
        ["a = 1", "c = 3", "d = 4", "b = 2  # é", ""]
    )


def test_equal_edits_count_once_and_overlaps_raise() -> None:
    assert apply_edits("abc", [TextEdit(0, 1, "x"), TextEdit(0, 1, "x")]) == "xbc"
    with pytest.raises(CannotRewrite):
        apply_edits("abc", [TextEdit(0, 2, "x"), TextEdit(1, 3, "y")])


def test_edits_inside_a_deletion_go_with_it() -> None:
    assert apply_edits("ab\ncd\n", [TextEdit(0, 3, ""), TextEdit(1, 2, "x")]) == "cd\n"
    assert apply_edits("ab\ncd\n", [TextEdit(0, 3, ""), TextEdit(0, 0, "new\n")]) == "new\ncd\n"


@pytest.mark.parametrize(
    ("text", "deleted", "after"),
    [
        pytest.param("a\n\nb\n\nc\n", "b\n", "a\n\nc\n", id="one of two blank lines goes"),
        pytest.param("a\nb\n\nc\n", "b\n", "a\n\nc\n", id="a single blank line stays"),
        pytest.param("if a:\n    b\n\n    c\n", "    b\n", "if a:\n    c\n", id="no blank line at the head of a block"),
        pytest.param("a\n\nb\n", "b\n", "a\n\n", id="nothing behind"),
        pytest.param("a\r\n\r\nb\r\n\r\nc\r\n", "b\r\n", "a\r\n\r\nc\r\n", id="crlf"),
    ],
)
def test_deleted_lines_leave_no_gap(text: str, deleted: str, after: str) -> None:
    start = text.index(deleted)
    assert apply_edits(text, [TextEdit(start, start + len(deleted), "")]) == after


def test_places_of_edits() -> None:
    assert located("ab\r\ncd", [TextEdit(4, 5, "x\n")]) == [((2, 1, 2, 2), "x\r\n")]


def source(text: str) -> Source:
    return Source(parse_module(text, "k.py"))


@pytest.mark.parametrize(
    ("before", "names", "after"),
    [
        pytest.param("f(a, b, c)", [1], "f(a, c)", id="middle"),
        pytest.param("f(a, b)", [1], "f(a)", id="last"),
        pytest.param("f(a)", [0], "f()", id="only"),
        pytest.param("f(a, b, c)", [1, 2], "f(a)", id="two at the end"),
        pytest.param("f(a, b, c)", [0, 2], "f(b)", id="first and last"),
        pytest.param("f(\n    a,\n    b,\n)", [1], "f(\n    a,\n)", id="one a line"),
    ],
)
def test_dropped_arguments(before: str, names: list[int], after: str) -> None:
    found = source(before + "\n")
    call = found.module.tree.body[0].body[0].value  # type: ignore[union-attr,index]
    edits = found.drop_arguments(call, [call.args[i] for i in names])  # type: ignore[union-attr,arg-type]
    assert apply_edits(found.text, edits) == after + "\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("f()", "f(n=4)", id="none"),
        pytest.param("f(a)", "f(a, n=4)", id="one"),
        pytest.param("f(a, **b)", "f(a, **b, n=4)", id="behind unpacked ones"),
        pytest.param("f(\n    a,\n    b\n)", "f(\n    a,\n    b,\n    n=4\n)", id="one a line"),
        pytest.param("f(\n    a,\n    b,  # last\n)", "f(\n    a,\n    b,  # last\n    n=4,\n)", id="with comments"),
        pytest.param("f(a,\n  b)", "f(a,\n  b,\n  n=4)", id="aligned"),
    ],
)
def test_added_keyword(before: str, after: str) -> None:
    found = source(before + "\n")
    call = found.module.tree.body[0].body[0].value  # type: ignore[union-attr,index]
    assert apply_edits(found.text, found.add_keyword(call, "n", "4")) == after + "\n"  # type: ignore[arg-type]


def test_statements_that_go() -> None:
    found = source("def f():\n    a = 1\n\ndef g():\n    a = 1; b = 2\n    return b\n")
    functions = list(found.module.tree.body)
    only = functions[0].body.body[0].body[0]  # type: ignore[union-attr,index]
    first = functions[1].body.body[0].body[0]  # type: ignore[union-attr,index]
    edits = found.delete_statements([only, first])  # type: ignore[list-item]
    assert apply_edits(found.text, edits) == "def f():\n    pass\n\ndef g():\n    b = 2\n    return b\n"


def test_spelling_follows_imports() -> None:
    found = source("import triton.language as tl\nfrom triton.language import float32\nimport torch\n")
    assert found.spelled("triton.language.int32") == "tl.int32"
    assert found.spelled("triton.language.float32") == "float32"
    assert found.spelled("torch.empty") == "torch.empty"
    with pytest.raises(CannotRewrite):
        found.spelled("numpy.zeros")
