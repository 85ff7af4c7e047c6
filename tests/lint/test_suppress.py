"""Suppression comments: what each covers, which are unused, which are not understood."""

import pytest
from support.lint import CODE, DOT, KERNEL, NAME, check

from kernlint.lint.model import Place

IGNORE = f"# kernlint: ignore[{CODE}] because"


def at_dot(comment: str) -> str:
    return KERNEL.replace(DOT, f"{DOT}  {comment}")


def above(line: str, comment: str, indent: str = "") -> str:
    return KERNEL.replace(line, f"{indent}{comment}\n{line}", 1)


@pytest.mark.parametrize(
    "source",
    [
        at_dot(IGNORE),
        at_dot(f"# kernlint: ignore[{NAME}]"),
        at_dot(f"#kernlint:ignore[ KL305 , {CODE.lower()} ]"),
        at_dot(f"# noqa: E501  {IGNORE}"),
        at_dot(f"{IGNORE}  # noqa: E501"),
        at_dot(f"# type: ignore # noqa # kernlint: ignore[{CODE}] # pragma: no cover"),
        above(DOT, IGNORE, "        "),
        above("    for k in", IGNORE, "    "),
        above("@triton.jit", IGNORE),
        KERNEL.replace("@triton.jit\n", f"@triton.jit\n{IGNORE}\n"),
        KERNEL.replace("import torch\n", f"import torch  # kernlint: file-ignore[{CODE}] old\n", 1),
        f"# kernlint: file-ignore[{CODE}]\n{KERNEL}",
        KERNEL.replace(
            DOT, f"        acc += tl.dot(\n            a.to(tl.float32),\n            b.to(tl.float32),\n        )  {IGNORE}"
        ),
        KERNEL.replace(DOT, f"        acc += tl.dot(\n            a.to(tl.float32),  {IGNORE}\n b.to(tl.float32),\n)"),
        above(DOT, f"# kernlint: ignore[{CODE}]\n        # a second comment", "        "),
    ],
    ids=[
        "trailing", "by name", "several", "behind another tool's", "before another tool's", "among others",
        "above the statement", "above the loop", "above the decorators",
        "above def", "file, trailing", "file, at the top", "end of a statement of many lines", "that line inside",
        "another comment between",
    ],
)  # fmt: skip
def test_suppressed(source):
    assert [finding.code for finding in check(source) if finding.code == CODE] == []
    assert not [f for f in check(source) if f.code == "KL911" and CODE in f.message]


@pytest.mark.parametrize(
    "source",
    [
        above("    acc = tl.zeros", IGNORE, "    "),
        KERNEL.replace("ks = tl.arange(0, BK)", f"ks = tl.arange(0, BK)  {IGNORE}"),
        above("def multiply", IGNORE),
        KERNEL + f"\n{IGNORE}\n",
        KERNEL.replace("ks = tl.arange(0, BK)", f"ks = tl.arange(0, BK)  # noqa  {IGNORE}"),
    ],
    ids=[
        "above another statement", "behind another line", "above another function", "at the end of the file",
        "behind another line and comment",
    ],
)  # fmt: skip
def test_out_of_reach_it_suppresses_nothing_and_is_unused(source):
    codes = [finding.code for finding in check(source)]
    assert sorted(codes) == [CODE, "KL911"]


def test_a_string_is_no_comment():
    source = KERNEL.replace(DOT, f'        "# kernlint: ignore[{CODE}]"\n{DOT}')
    assert [finding.code for finding in check(source)] == [CODE]


def test_code_in_comments_and_what_speaks_of_comments_is_none():
    quoted = f"# Write `{IGNORE}` where it is meant."
    source = above(DOT, f"# acc += tl.dot(a, b)  {IGNORE}", "        ") + quoted + "\n"
    assert [finding.code for finding in check(source)] == [CODE]
    assert [finding.code for finding in check(at_dot(quoted))] == [CODE]


def test_a_rule_that_does_not_run_leaves_its_suppressions_alone():
    assert check(at_dot("# kernlint: ignore[KL101, KL305]"), codes=frozenset({"KL101", "KL911"})) == []


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("# kernlint: ignore", "needs the rules in brackets"),
        ("# kernlint: ignore[]", "needs the rules in brackets"),
        ("# kernlint: file-ignore", "needs the rules in brackets"),
        ("# kernlint: ignore[KL1]", "means many rules"),
        ("# kernlint: ignore[ALL]", "means many rules"),
        ("# kernlint: ignore[precision]", "means many rules"),
        ("# kernlint: ignore[KL110]", "unknown rule 'KL110'"),
        ("# kernlint: ignore[int8-upcast]", "did you mean int8-upcast-before-dot"),
        ("# kernlint: disable[KL101]", "'disable' is not understood"),
        ("# kernlint:", "is not understood"),
    ],
)
def test_never_blanket_and_never_misspelt(comment, message):
    malformed = [finding for finding in check(at_dot(comment)) if finding.code == "KL912"]
    assert len(malformed) == 1
    assert message in malformed[0].message
    assert CODE in [finding.code for finding in check(at_dot(comment))]


def fixed(source: str, finding) -> str:
    (edit,) = finding.fix.edits
    lines = source.splitlines(keepends=True)

    def offset(line: int, column: int) -> int:
        return sum(len(text) for text in lines[: line - 1]) + column - 1

    start = offset(edit.place.line, edit.place.column)
    return source[:start] + edit.text + source[offset(edit.place.end_line, edit.place.end_column) :]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import triton\nx = 1  # kernlint: ignore[KL101] why\ny = 2\n", "import triton\nx = 1\ny = 2\n"),
        ("import triton\n# kernlint: ignore[KL101] why\ny = 2\n", "import triton\ny = 2\n"),
        ("import triton\nif x:\n    # kernlint: ignore[KL101]\n    y = 2\n", "import triton\nif x:\n    y = 2\n"),
        ("import triton\nx = 1  # kernlint: ignore[KL101] see #4  # noqa\n", "import triton\nx = 1  # noqa\n"),
        ("import triton\nx = 1  # noqa  # kernlint: ignore[KL101] x \n", "import triton\nx = 1  # noqa\n"),
        ("import triton\n# kernlint: ignore[KL101]  # fmt: off\ny = 2\n", "import triton\n# fmt: off\ny = 2\n"),
        ("import triton\nx = 1  # kernlint: ignore[KL101]", "import triton\nx = 1"),
    ],
    ids=[
        "trailing",
        "own line",
        "indented",
        "before another tool's",
        "behind another tool's",
        "alone with one",
        "at the end",
    ],
)
def test_the_fix_of_an_unused_suppression_removes_it(source, expected):
    (finding,) = check(source)
    assert finding.code == "KL911"
    assert fixed(source, finding) == expected


def test_the_fix_keeps_what_is_used():
    source = at_dot("# kernlint: ignore[KL104, KL101] why")
    (finding,) = check(source, codes=frozenset({"KL101", "KL104", "KL911"}))
    assert finding.message == "nothing to suppress for KL104"
    assert fixed(source, finding) == at_dot("# kernlint: ignore[KL101] why")


def test_the_place_is_that_of_the_comment():
    (finding,) = check("import triton\nx = 1  # kernlint: ignore[KL101]\n")
    assert finding.place == Place(2, 8, 2, 33)
