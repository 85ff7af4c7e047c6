"""Text on a terminal: excerpts that fit, names that stay apart, styles and links that add nothing else."""

import re

import pytest

from kernlint.report.grid import Bar, Grid, paint
from kernlint.report.look import PLAIN, Look, shortened

ESCAPES = re.compile(r"\x1b\[[0-9;]*m|\x1b\]8;;[^\x1b]*\x1b\\")


def test_carets_stand_below_tabs_and_wide_ranges():
    lines = ["\tx = a", "\t\tb"]
    assert PLAIN.excerpt(lines, (7, 6), (8, 4), 9) == [
        "  7 |     x = a",
        "    |         ^",
        "  8 |         b",
        "    |         ^",
    ]
    assert PLAIN.excerpt(lines, (7, 2), (30, 1), 9)[-1] == "    | ... 22 more lines"
    assert PLAIN.excerpt([], (7, 1), (7, 2), 9) == []


def test_excerpt_of_many_lines_is_cut():
    shown = PLAIN.excerpt([f"line {number}" for number in range(1, 10)], (1, 3), (9, 2), 4)
    assert shown[:2] == ["  1 | line 1", "    |   ^^^^"]
    assert shown[-1] == "    | ... 5 more lines"


def test_excerpt_shows_no_control_characters():
    assert PLAIN.excerpt(["\x1b[2Jx"], (1, 1), (1, 2), 4)[0] == "  1 | ?[2Jx"


@pytest.mark.parametrize("start", [1, 40, 100, 170, 196])
def test_what_is_marked_stays_in_view_of_a_narrow_terminal(start):
    line = "".join(chr(ord("a") + index % 26) for index in range(200))
    source, carets = Look(width=60).excerpt([line], (12, start), (12, start + 4), 1)
    assert len(source) <= 60
    assert len(carets) <= 60
    marked = source[carets.index("^") : carets.rindex("^") + 1]
    assert marked == line[start - 1 : start + 3]
    assert Look(width=300).excerpt([line], (12, start), (12, start + 4), 1)[0] == f"  12 | {line}"


def test_styles_and_links_only_add():
    look = Look(colour=True, links=True)
    shown = look.styled("KL101", "bold", "https://example.org/KL101/")
    assert "https://example.org/KL101/" in shown
    assert ESCAPES.sub("", shown) == "KL101"
    assert PLAIN.styled("KL101", "bold", "https://example.org") == "KL101"
    assert "\x1b]8" not in Look(colour=True).styled("KL101", "bold", "https://example.org")


def test_long_words_and_code_are_not_broken():
    text = "`int8_matmul_rowwise_dequant_kernel` reads a-b " + "x" * 70
    assert Look(width=40).wrapped(text, "  ") == [
        "  `int8_matmul_rowwise_dequant_kernel`",
        "  reads a-b",
        "  " + "x" * 70,
    ]


def test_names_lose_their_middle():
    assert shortened("int8_matmul_rowwise_dequant_kernel:168", 20) == "int8_matmul_..el:168"
    assert shortened("short", 5) == "short"
    assert len(shortened("a" * 30, 7)) == 7


def test_a_grid_gives_way_in_order_notes_bars_words():
    grid = Grid(
        ("name", "us", "", "evidence"), (("a" * 30, "1,234.5", Bar(0.5), "why " * 12),), frozenset({1}), notes=True
    )
    wide, roomy, narrow = (paint(grid, Look(width=width)) for width in (120, 52, 30))
    assert len(wide) == 2
    assert roomy[1].split() == ["a" * 30, "1,234.5", "#####"]
    assert roomy[2].strip().startswith("why why")
    assert "#" not in "".join(narrow)
    assert "1,234.5" in narrow[1]
    assert max(map(len, narrow[:2])) <= 30


def test_nothing_is_cut_where_nobody_looks():
    grid = Grid(("name",), (("x" * 500,),), frozenset())
    assert paint(grid) == ["name", "x" * 500]


def test_prose_is_wrapped_and_code_is_not():
    code = "```python\nx = 1  # a comment that is longer than the forty characters of a line\n```"
    heading = "# A heading that is longer than the forty characters of a line"
    items = "- an item that is longer than forty characters of a line\n- another"
    page = f"{heading}\n\nTwo lines of one paragraph that\nare one.\n\n{items}\n\n{code}\n"
    assert Look().prose(page) == page
    assert Look(width=40).prose(page).splitlines() == [
        heading,
        "",
        "Two lines of one paragraph that are one.",
        "",
        "- an item that is longer than forty",
        "  characters of a line",
        "- another",
        "",
        *code.splitlines(),
    ]
