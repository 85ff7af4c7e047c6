"""``--add-ignore``: comments that suppress what was found, and change nothing else."""

import json

import pytest
from support.lint import CODE, DOT, KERNEL, check

from kernlint.errors import UsageError
from kernlint.lint.add_ignore import add_ignores

COMMENT = f"# kernlint: ignore[{CODE}] for now"

SOURCES = {
    "a statement": KERNEL,
    "of several lines": KERNEL.replace(
        DOT, "        acc += tl.dot(\n            a.to(tl.float32),\n b.to(tl.float32))"
    ),
    "on a line of its block": KERNEL.replace(DOT, "        if k: acc += tl.dot(a.to(tl.float32), b.to(tl.float32))"),
    "behind a semicolon": KERNEL.replace(DOT, "        x = 1; acc += tl.dot(a.to(tl.float32), b.to(tl.float32))"),
    "below a comment": KERNEL.replace(DOT, f"        # why\n{DOT}"),
    "below a suppression": KERNEL.replace(DOT, f"        # kernlint: ignore[KL305] known\n{DOT}"),
    "in Markdown": f"# Page\n\n```python\n{KERNEL}```\n",
}


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(data, name="k.py"):
        (tmp_path / name).write_bytes(data if isinstance(data, bytes) else data.encode())
        return tmp_path / name

    return write


@pytest.mark.parametrize("title", SOURCES)
def test_afterwards_nothing_is_found(file, title):
    name = "k.md" if "Markdown" in title else "k.py"
    path = file(SOURCES[title], name)
    assert add_ignores(check(SOURCES[title], name), "for now") == (1, [], {})
    after = path.read_text()
    assert check(after, name) == []
    added = [line for line in after.splitlines() if line not in SOURCES[title].splitlines()]
    assert len(added) == 1
    assert CODE in added[0]


def test_an_existing_comment_takes_the_code(file):
    path = file(SOURCES["below a suppression"])
    add_ignores(check(SOURCES["below a suppression"]), "for now")
    assert "# kernlint: ignore[KL305, KL101] known\n" in path.read_text()


@pytest.mark.parametrize(
    "data",
    [
        KERNEL.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + KERNEL.encode(),
        b"# coding: latin-1\nx = '\xe9'\n" + KERNEL.encode(),
        KERNEL.replace("    ", "\t").encode(),
        KERNEL.rstrip("\n").encode(),
    ],
    ids=["CRLF", "byte-order mark", "latin-1", "tabs", "no last newline"],
)
def test_all_other_bytes_stay(file, data):
    path = file(data)
    add_ignores(check(data), "for now")
    lines = path.read_bytes().splitlines(keepends=True)
    added = [line for line in lines if COMMENT.encode() in line]
    assert len(added) == 1
    assert added[0].endswith(b"\r\n") == (b"\r\n" in data)
    assert b"".join(line for line in lines if line not in added) == data


def test_what_cannot_be_suppressed_is_left(file, tmp_path):
    broken = check("def f(:\n")
    gone = [finding.moved("gone.py") for finding in check(KERNEL)]
    assert add_ignores([*broken, *gone], "for now") == (0, [*broken, *gone], {"gone.py": "no such file"})


@pytest.mark.parametrize("now", ["import os\n" + KERNEL, KERNEL[:80]], ids=["longer", "shorter"])
def test_a_file_that_changed_meanwhile_is_left(file, now):
    path = file(KERNEL)
    found = check(KERNEL)
    path.write_text(now)
    assert add_ignores(found, "for now") == (0, found, {"k.py": "the file has changed since it was read"})
    assert path.read_text() == now


@pytest.mark.parametrize("coding", ["unicode_escape", "latin-1", "idna"])
def test_an_encoding_that_cannot_write_it_leaves_the_file(file, coding):
    data = f"# coding: {coding}\n{KERNEL}".encode()
    path = file(data)
    found = check(data)
    assert [finding.code for finding in found] == ["KL101"]
    added, left, unwritten = add_ignores(found, "for \N{HIRAGANA LETTER A}")
    assert (added, left) == (0, found)
    assert coding in unwritten["k.py"].replace("iso8859-1", "latin-1")
    assert path.read_bytes() == data


@pytest.mark.parametrize("reason", ["", "  ", "two\nlines"])
def test_a_reason_is_one_line(reason):
    with pytest.raises(UsageError):
        add_ignores([], reason)


@pytest.mark.parametrize("split", [True, False], ids=["lines", "one string"])
def test_in_a_notebook_only_the_cell_changes(file, split):
    kernel, launcher = KERNEL.split("\n\n\ndef multiply")
    sources = ["%matplotlib inline\nx = 1", kernel, "def multiply" + launcher.rstrip("\n"), "multiply()"]
    cells = [
        {"cell_type": "code", "source": s.splitlines(keepends=True) if split else s, "outputs": [{"text": ["é"]}]}
        for s in sources
    ]
    text = json.dumps({"cells": cells, "metadata": {}}, indent=2, ensure_ascii=False)
    path = file(text, "k.ipynb")
    assert add_ignores(check(text, "k.ipynb"), "for now") == (1, [], {})
    after = path.read_text(encoding="utf-8")
    assert check(after, "k.ipynb") == []
    changed = "".join(json.loads(after)["cells"][1]["source"])
    assert changed == kernel.replace(DOT, f"        {COMMENT}\n{DOT}")
    cells[1]["source"] = changed.splitlines(keepends=True) if split else changed
    assert after == json.dumps({"cells": cells, "metadata": {}}, indent=2, ensure_ascii=False)
