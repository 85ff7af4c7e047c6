"""Places, positions and edits, without a server."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.lint import KERNEL

from kernlint.errors import UsageError
from kernlint.rewrite.text import line_starts
from kernlint.server.editing import Asked, edits_between, encoded, findings, rule_page, suppressed
from kernlint.server.notes import kernel_notes

TEXT = st.text(alphabet="ab é😀\n\r\x0c\u2028", max_size=30)


def with_edits(text: str, edits: tuple) -> str:
    """``text`` with edits whose places count characters, made from the last to the first."""
    starts = [*line_starts(text), len(text)]
    for edit in reversed(edits):
        start, end = (
            min(starts[min(line - 1, len(starts) - 1)] + column - 1, len(text))
            for line, column in ((edit.place.line, edit.place.column), (edit.place.end_line, edit.place.end_column))
        )
        text = text[:start] + edit.text + text[end:]
    return text


@settings(deadline=None)
@given(TEXT, TEXT)
@example("a", "a\nb")
@example("a\nb", "a")
@example("", "a")
@example("a", "")
@example("a\r\nb", "a\r\nb\r\n")
def test_edits_turn_one_text_into_the_other(before, after):
    assert with_edits(before, edits_between(before, after)) == after


@settings(deadline=None)
@given(TEXT)
def test_positions_are_where_the_characters_are(text):
    pytest.importorskip("lsprotocol", reason="the extra `lsp` is not installed")
    from kernlint.lint.model import Place
    from kernlint.server.positions import Positions

    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for encoding, code, size in (("utf-8", "utf-8", 1), ("utf-16", "utf-16-le", 2), ("utf-32", "utf-32-le", 4)):
        positions = Positions(text, encoding)
        for number, line in enumerate(lines):
            for column in range(len(line) + 1):
                start = positions.range(Place(number + 1, column + 1, number + 1, column + 1)).start
                assert (start.line, start.character) == (number, len(line[:column].encode(code)) // size)
                assert positions.column(start) == column


def test_places_outside_of_the_text_are_moved_into_it():
    pytest.importorskip("lsprotocol", reason="the extra `lsp` is not installed")
    from kernlint.lint.model import Place
    from kernlint.server.positions import Positions

    found = Positions("ab\nc").range(Place(1, 2, 99, 99))
    assert (found.start.line, found.start.character) == (0, 1)
    assert (found.end.line, found.end.character) == (2, 0)
    # A byte-order mark is a character for an editor.
    assert Positions("\ufeffab").range(Place(1, 1, 1, 2)).start.character == 1


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("é", "é".encode()),
        ("# -*- coding: latin-1 -*-\né", "# -*- coding: latin-1 -*-\né".encode("latin-1")),
        ("# coding: latin-1\n😀", "# coding: latin-1\n😀".encode()),
        ("# coding: nonsense\né", "# coding: nonsense\né".encode()),
        ("\ud800", b"?"),
    ],
)
def test_text_becomes_the_bytes_that_it_will_be_saved_as(text, data):
    assert encoded(text) == data


def test_settings_on_top_of_none():
    asked = Asked("k.py", isolated=True)
    assert any(finding.code == "KL101" for finding in findings(KERNEL, asked).findings)
    only = findings(KERNEL, Asked("k.py", select=("KL7",), isolated=True)).findings
    assert not any(finding.code == "KL101" for finding in only)
    with pytest.raises(UsageError, match="nonsense"):
        findings(KERNEL, Asked("k.py", ignore=("nonsense",), isolated=True))
    with pytest.raises(UsageError, match="h1000"):
        findings(KERNEL, Asked("k.py", device="h1000", isolated=True))


def test_what_cannot_be_suppressed_has_no_edits():
    asked = Asked("k.py", isolated=True)
    (finding,) = (f for f in findings(KERNEL, asked).findings if f.code == "KL101")
    (edits,) = suppressed(KERNEL, asked, [finding], "because")
    assert "# kernlint: ignore[KL101] because" in with_edits(KERNEL, edits)
    assert suppressed("# moved\n" + KERNEL, asked, [finding], "because") == [()]


def test_notes_say_nothing_of_what_is_not_launched():
    asked = Asked("k.py", isolated=True)
    assert kernel_notes("x = 1\n", asked) == ()
    assert kernel_notes(KERNEL[: KERNEL.index("def multiply")], asked) == ()
    (note,) = kernel_notes(KERNEL, asked)
    assert note.title(1.0).startswith(note.time)
    assert note.title(7.5).endswith("7.5x possible")
    assert KERNEL.split("\n")[note.first_line - 1] == "@triton.jit"


def test_every_page_by_code_and_by_name():
    assert rule_page("kl101 ") == rule_page("int8-upcast-before-dot")
    assert "KL901" in rule_page("syntax-error")
    with pytest.raises(UsageError):
        rule_page("no-such-rule")
