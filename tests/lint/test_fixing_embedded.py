"""``check --fix`` in notebooks and Markdown: the code changes, every other byte stays."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import warm
from support.fixes import LOADS, gemm

from kernlint.lint.cells import text_edit, with_cell_edits
from kernlint.lint.fences import read_fences
from kernlint.lint.model import Edit, Place
from kernlint.lint.notebook import read_notebook
from kernlint.rewrite.text import CannotRewrite, TextEdit, apply_edits
from kernlint.syntax.source import SourceText
from kernlint.syntax.task import joined

SOURCE = gemm(LOADS + "xf = x.to(tl.float32)\nacc += tl.dot(xf, y.to(tl.float32))")
FIXED = SOURCE.replace("        xf = x.to(tl.float32)\n", "").replace("xf, y.to(tl.float32)", "x, y")
OUTPUT = {"output_type": "stream", "name": "stdout", "text": ["xf = 1\n", "\u00e9\u2028"]}


def check(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    return warm.run([*warm.KERNLINT, "check", "--no-cache", *arguments], cwd=folder)


def cell(source: Any, kind: str = "code", **more: Any) -> dict[str, Any]:
    return {"cell_type": kind, "metadata": {}, "execution_count": None, "outputs": [OUTPUT], "source": source, **more}


def notebook(*cells: dict[str, Any], **options: Any) -> str:
    data = {"cells": list(cells), "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(data, **{"indent": 1, "ensure_ascii": False, **options})


def sources(text: str) -> list[str]:
    return ["".join(cell["source"]) for cell in json.loads(text)["cells"]]


def rest(text: str) -> list[Any]:
    data = json.loads(text)
    return [data["metadata"], *[{k: v for k, v in cell.items() if k != "source"} for cell in data["cells"]]]


# -- notebooks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "end"),
    [({}, "\n"), ({"indent": None}, ""), ({"indent": 4, "ensure_ascii": True}, "\n\n"), ({"indent": "\t"}, "\n")],
    ids=["as Jupyter writes it", "in one line, no line end", "escapes, two line ends", "tabs"],
)
@pytest.mark.parametrize("split", [True, False], ids=["lines", "one string"])
def test_only_the_source_of_the_cell_changes(tmp_path: Path, options: dict[str, Any], end: str, split: bool) -> None:
    def written(text: str) -> Any:
        return text.splitlines(keepends=True) if split else text

    head = cell(written("%load_ext autoreload\n!pip install triton\nx = 1"))
    prose = cell(written("# xf, \u00e9"), kind="markdown")
    code = cell(written(SOURCE.rstrip("\n")), extra={"xf": [1.0, 1e-7]})
    before = notebook(head, prose, code, **options) + end
    (tmp_path / "a.ipynb").write_bytes(before.encode())
    done = check(tmp_path, "--fix", "--select", "KL101")
    after = (tmp_path / "a.ipynb").read_bytes().decode()
    assert done.returncode == 0 and b"1 finding in 1 file was fixed" in done.stderr
    code["source"] = written(sources(after)[2])
    assert after == notebook(head, prose, code, **options) + end
    assert sources(after)[2] != SOURCE.rstrip("\n") and "acc += tl.dot(x, y)" in sources(after)[2]
    assert check(tmp_path, "--select", "KL101").returncode == 0


def test_crlf_byte_order_mark_and_odd_layout_stay(tmp_path: Path) -> None:
    lines = [line + "\r\n" for line in SOURCE.rstrip("\n").split("\n")]
    text = "\ufeff" + notebook(cell(lines)).replace("\n", "\r\n").replace('"source": [', '"source"  :\r\n[  ')
    (tmp_path / "a.ipynb").write_bytes(text.encode())
    assert check(tmp_path, "--fix", "--select", "KL101").returncode == 0
    after = (tmp_path / "a.ipynb").read_bytes().decode()
    head, tail = text.split('"source"')[0], text.rsplit("]", 2)[1]
    assert after.startswith(head + '"source"  :\r\n[  \r\n') and tail in after
    assert "\n" not in after.replace("\r\n", "")
    assert sources(after[1:])[0].replace("\r\n", "").count("\r") == 0 and "tl.dot(x, y)" in after


def test_a_magic_inside_the_kernel_is_kept(tmp_path: Path) -> None:
    held = SOURCE.replace("    return c", "    %time c.sum()\n    return c")
    (tmp_path / "a.ipynb").write_text(notebook(cell("%%bash\nrm x"), cell(held), cell("?c"), cell("broken (")))
    check(tmp_path, "--fix", "--select", "KL101")
    after = sources((tmp_path / "a.ipynb").read_text())
    assert after[0] == "%%bash\nrm x" and after[2:] == ["?c", "broken ("]
    assert "    %time c.sum()\n" in after[1] and "tl.dot(x, y)" in after[1]


def test_an_unused_suppression_goes_from_its_cell(tmp_path: Path) -> None:
    ours = "# kernlint: ignore[KL101] no reason"
    cells = [cell(f"x = 1\n{ours}"), cell(f"{ours}\ny = 2\n"), cell(f"z = 3  {ours}")]
    (tmp_path / "a.ipynb").write_text(notebook(*cells, cell("import triton\nw = triton.jit")))
    done = check(tmp_path, "--fix", "--select", "KL101,KL911")
    assert sources((tmp_path / "a.ipynb").read_text())[:3] == ["x = 1", "y = 2\n", "z = 3"], done.stderr


@pytest.mark.parametrize(
    ("other", "offered"),
    [
        ("%timeit -n1 f(a)", False),
        ("!echo {a}", False),
        ("files = !ls $a", False),
        ("a?", False),
        ('%%bash -s "$a"\necho $1', False),
        ("%run -i other.py", False),
        ("%run other.py", True),
        ("%timeit f(b, ab)", True),
        ("%%bash\necho b", True),
        ("a = = 3", False),
    ],
)
def test_a_variable_that_a_line_may_read_which_is_not_python(other: str, offered: bool) -> None:
    found = read_notebook(notebook(cell("a = 1\nf(a = 1)\nb = 2"), cell(other)))
    assert (found.edits([TextEdit(4, 5, "5")]) is not None) == offered
    assert found.edits([TextEdit(12, 13, "5")]) is not None


TWO = read_notebook(notebook(cell("a = 1\nb = 2"), cell("%magic\nc = 3\n"), cell("d = 4")))


def offsets(old: str, new: str) -> TextEdit:
    start = TWO.text.index(old)
    return TextEdit(start, start + len(old), new)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (offsets("a = 1", "a = 5"), ["a = 5\nb = 2", "%magic\nc = 3\n", "d = 4"]),
        (offsets("a = 1\n", ""), ["b = 2", "%magic\nc = 3\n", "d = 4"]),
        (offsets("b = 2\n", ""), ["a = 1", "%magic\nc = 3\n", "d = 4"]),
        (offsets("b = 2\n", "e = 5\nf = 6\n"), ["a = 1\ne = 5\nf = 6", "%magic\nc = 3\n", "d = 4"]),
        (offsets("c = 3\n", ""), ["a = 1\nb = 2", "%magic\n", "d = 4"]),
        (offsets("d", "e = 5\nd"), ["a = 1\nb = 2", "%magic\nc = 3\n", "e = 5\nd = 4"]),
        (TextEdit(len(TWO.text), len(TWO.text), "e = 5\n"), ["a = 1\nb = 2", "%magic\nc = 3\n", "d = 4\ne = 5"]),
        (offsets("b = 2\npass\n", ""), None),
        (offsets("pass", "x"), None),
        (offsets("c = 3\n\nd", "x"), None),
        (offsets("d = 4\n", ""), ["a = 1\nb = 2", "%magic\nc = 3\n", ""]),
        (offsets("c = 3\n\nd = 4\n", ""), ["a = 1\nb = 2", "%magic", ""]),
        (offsets("a = 1\nb = 2\npass\n", ""), None),
        (offsets("c = 3", "%magic"), None),
    ],
)
def test_an_edit_is_one_of_a_cell_or_none(edit: TextEdit, expected: list[str] | None) -> None:
    edits = TWO.edits([edit])
    assert (None if edits is None else sources(with_cell_edits(TWO.raw, edits))) == expected
    if edits is not None:
        read = read_notebook(with_cell_edits(TWO.raw, edits)).text
        assert read.split() == apply_edits(TWO.text, [edit]).split()
        assert rest(with_cell_edits(TWO.raw, edits)) == rest(TWO.raw)


def test_what_comes_behind_a_magic_leaves_it_alone() -> None:
    read = read_notebook(notebook(cell("x = 1\n%long_magic with words")))
    edits = read.edits([TextEdit(len(read.text), len(read.text), "y = 2\n")])
    assert edits is not None
    assert sources(with_cell_edits(read.raw, edits)) == ["x = 1\n%long_magic with words\ny = 2"]


@pytest.mark.parametrize(
    "source",
    [
        "[]",
        '["a = 1"]',
        '["a =", " 1\\nb"]',
        '"a = 1"',
        '[ "a = 1\\n"\n,\n"b" ]',
        '["\\u0061 = 1"]',
        '["a = 1","\\ud800"]',
    ],
)
def test_any_way_to_write_a_source(source: str) -> None:
    text = f'{{"x": [{{}}], "cells": [{{"source": ["gone"], "source": {source}}}]}}'
    value = json.loads(source)
    whole = value if isinstance(value, str) else "".join(value)
    after = with_cell_edits(text, [Edit(Place(1, 1, 1, 2, 1), "z")])
    assert json.loads(after)["cells"][0]["source"] == (
        "z" + whole[1:] if isinstance(value, str) else json.loads(after)["cells"][0]["source"]
    )
    assert "".join(json.loads(after)["cells"][0]["source"]) == "z" + whole[1:]
    assert after.startswith('{"x": [{}], "cells": [{"source": ["gone"], "source": ') and after.endswith("}]}")


def test_a_source_that_is_no_text_is_refused() -> None:
    with pytest.raises(CannotRewrite):
        with_cell_edits('{"cells": [{"source": ["a", 1]}]}', [Edit(Place(1, 1, 1, 2, 1), "z")])


# -- Markdown ---------------------------------------------------------------------------------------------------------


def fenced(indent: str = "", fence: str = "```", end: str = "\n") -> str:
    body = "".join(f"{indent}{line}\n" if line else "\n" for line in SOURCE.rstrip("\n").split("\n"))
    text = f"# Kernel\n\nxf here.\n\n{indent}{fence}python\n{body}{indent}{fence}\n\nAnd xf there."
    return text.replace("\n", end)


@pytest.mark.parametrize("indent", ["", "  ", "   "])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("fence", ["```", "~~~~"])
def test_the_code_of_a_fence_changes_and_no_prose(tmp_path: Path, indent: str, end: str, fence: str) -> None:
    before = fenced(indent, fence, end)
    (tmp_path / "a.md").write_bytes(before.encode())
    done = check(tmp_path, "--fix", "--select", "KL101")
    after = (tmp_path / "a.md").read_bytes().decode()
    assert done.returncode == 0, done.stdout + done.stderr
    changed = [line for line in after.split(end) if line not in before.split(end)]
    assert changed and all(line.startswith(indent + "  ") for line in changed)
    assert f"{indent}        acc += tl.dot(x, y)" in changed
    assert after.startswith(f"# Kernel{end}{end}xf here.") and after.endswith(f"{indent}{fence}{end}{end}And xf there.")


def test_a_page_with_a_broken_fence_is_fixed_beside_it(tmp_path: Path) -> None:
    gaps = "```python\nimport triton\ndef f(x\n    ...\n```\n\n"
    page = f"{gaps}```python\n{SOURCE}```\n".replace("\n", "\r\n")
    (tmp_path / "a.md").write_bytes(page.encode())
    assert check(tmp_path, "--add-ignore", "known", "--select", "KL101").returncode == 0
    assert b"        # kernlint: ignore[KL101] known\r\n" in (tmp_path / "a.md").read_bytes()
    (tmp_path / "a.md").write_bytes(page.encode())
    check(tmp_path, "--fix", "--select", "KL101")
    after = (tmp_path / "a.md").read_bytes()
    assert (
        after.startswith(page[:40].encode()) and b"tl.dot(x, y)" in after and after.count(b"\n") == after.count(b"\r\n")
    )


def test_lines_go_before_a_blank_one_with_their_indentation() -> None:
    page = SourceText("  ```py\n  for i in triton:\n      a = 1\n\n  b = 2\n  ```\n", "a.md")
    fences = read_fences(page)
    edits = fences.edits([TextEdit(*[len("for i in triton:\n    a = 1\n")] * 2, "    c = 3\n")])
    assert edits is not None
    after = apply_edits(page.text, [text_edit(page.text, edit) for edit in edits])
    assert after == "  ```py\n  for i in triton:\n      a = 1\n      c = 3\n\n  b = 2\n  ```\n"


def test_a_finding_in_an_indented_fence_stands_where_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(fenced("  "))
    (found,) = json.loads(check(tmp_path, "--select", "KL101", "--output-format", "json").stdout)
    line = fenced("  ").split("\n")[found["location"]["line"] - 1]
    assert line[found["location"]["column"] - 1 :].startswith("x.to(tl.float32)")


PAGE = SourceText("one\n\n  ```py\n  import triton\n  a = 1\n  t = triton\n  ```\n\ntwo\n\n```py\nb = triton\n", "a.md")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a = 1", "a = 5", "  import triton\n  a = 5\n  t"),
        ("t = triton\n", "", "  a = 1\n  ```\n"),
        ("t = triton\n", "t = triton\nc = 2\n", "  t = triton\n  c = 2\n  ```\n"),
        ("import triton\na", "a", "  ```py\n  a = 1\n  t ="),
        ("a = 1\n", "a = 1\n\nc = 2\n", "  a = 1\n\n  c = 2\n  t ="),
        ("a = 1", "```\nx", None),
        ("t = triton\n\n", "", None),
        ("b = triton\n", "", None),
    ],
)
def test_an_edit_stays_in_its_fence(old: str, new: str, expected: str | None) -> None:
    fences = read_fences(PAGE)
    text = "import triton\na = 1\nt = triton\n\n\n\n\n\nb = triton\n"
    start = text.index(old)
    edits = fences.edits([TextEdit(start, start + len(old), new)])
    if expected is None:
        assert edits is None
    else:
        assert edits is not None
        after = apply_edits(PAGE.text, [text_edit(PAGE.text, edit) for edit in edits])
        assert (
            expected in after and after.startswith("one\n\n  ```py\n") and after.endswith("two\n\n```py\nb = triton\n")
        )


# -- any edit of any notebook or page -----------------------------------------------------------------------------------

_LINES = [
    "a = 1",
    "b = 'é'",
    "%magic x",
    "!ls",
    "",
    "if a:",
    "    c = 3",
    "    %time",
    "# triton",
    "d?",
    "x = '''",
    "'''",
]
_MARKS = re.compile(r"prose| {0,3}```")
_ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@st.composite
def _notebooks(draw: st.DrawFn) -> str:
    cells = []
    for lines in draw(st.lists(st.lists(st.sampled_from(_LINES), max_size=5), min_size=1, max_size=4)):
        source = draw(_ENDS).join(lines)
        cells.append(cell(source.splitlines(keepends=True) if draw(st.booleans()) else source))
    return notebook(*cells, indent=draw(st.sampled_from([None, 1, "\t"])), ensure_ascii=draw(st.booleans()))


@st.composite
def _edit_of(draw: st.DrawFn, text: str) -> TextEdit:
    start, end = sorted(draw(st.integers(0, len(text))) for _ in range(2))
    if draw(st.booleans()):  # whole lines
        start, end = text.rfind("\n", 0, start) + 1, text.find("\n", end) + 1 or len(text)
    return TextEdit(start, end, draw(st.sampled_from(["", "y = 2\n", "z", "    w = 1\n    v = 2\n", "\n", "```\n"])))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_an_edit_of_a_notebook_changes_nothing_but_code(data: st.DataObject) -> None:
    raw = data.draw(_notebooks())
    read = read_notebook(raw)
    edit = data.draw(_edit_of(read.text))
    try:
        expected = apply_edits(read.text, [edit])
    except CannotRewrite:
        return
    edits = read.edits([edit])
    if edits is None:
        return
    after = with_cell_edits(raw, edits)
    assert rest(after) == rest(raw)
    again = read_notebook(after)
    assert again.text.split("\n") == expected.split("\n") or again.text.split() == expected.split()
    assert list(again.magics.values()) == list(read.magics.values())


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(_LINES), max_size=4), min_size=1, max_size=3),
    st.sampled_from(["", " ", "   "]),
    _ENDS,
    st.data(),
)
def test_an_edit_of_a_page_changes_nothing_but_code(
    fences: list[list[str]], indent: str, end: str, data: st.DataObject
) -> None:
    blocks = ["".join(f"{indent}{line}\n" for line in lines) for lines in fences]
    page = "".join(f"prose {i}\n{indent}```py\n{block}{indent}```\n" for i, block in enumerate(blocks))
    source = SourceText(page.replace("\n", end), "a.md")
    holder = read_fences(source)
    edit = data.draw(_edit_of(joined(list(holder.fences))))
    edits = holder.edits([edit])
    if edits is None:
        return
    after = apply_edits(source.text, [text_edit(source.text, one) for one in edits])
    before, now = ([line for line in text.split(end) if _MARKS.match(line)] for text in (source.text, after))
    assert now == before
