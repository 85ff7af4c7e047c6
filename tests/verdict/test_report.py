import io
import json
from dataclasses import replace

from rich.console import Console
from support import verdicts as examples

from kernlint.report import json_
from kernlint.report.text import excerpt, print_verdict
from kernlint.verdict.model import Location


def printed(verdict, sources):
    console = Console(file=io.StringIO(), width=100, highlight=False)
    print_verdict(verdict, sources, console)
    return console.file.getvalue()


def test_json_is_one_ascii_object():
    text = json_.render(replace(examples.no(), reason="2 × faster"))
    assert text.isascii()
    assert text.endswith("}\n")
    assert json.loads(text)["reason"] == "2 × faster"


def test_json_is_the_same_every_time():
    assert json_.render(examples.yes()) == json_.render(examples.yes())


def test_findings_show_place_source_and_gain():
    text = printed(examples.yes(), {"k.py": ["one", "two", "    tl.dot(a, b)", "four"]})
    assert "k.py:3:5: warning KL101 int8-upcast-before-dot [3.9-5.6x]" in text
    assert "  3 |     tl.dot(a, b)\n    |     ^^^^^^^^^^\n" in text
    assert "operand `a` is int8" in text
    assert "worth optimizing: yes, 3.9-5.6x on h100-sxm" in text
    assert "then: use 128 x 128 tiles [3.9-5.6x]" in text


def test_no_findings():
    assert "worth optimizing: no\n" in printed(examples.no(), {})


def test_markup_in_messages_is_text():
    finding = replace(examples.FINDING, message="[bold]x[/bold] and [/]")
    verdict = examples.yes()
    verdict = replace(verdict, details=replace(verdict.details, findings=(finding,)))
    assert "[bold]x[/bold] and [/]" in printed(verdict, {})


def test_excerpt_follows_tabs():
    assert excerpt(Location("k.py", 1, 2, 1, 4), ["\tab"]) == ["  1 |     ab", "    |     ^^"]


def test_excerpt_of_many_lines_is_cut():
    shown = excerpt(Location("k.py", 1, 3, 9, 2), [f"line {number}" for number in range(1, 10)])
    assert shown[:2] == ["  1 | line 1", "    |   ^^^^"]
    assert shown[-1] == "    | ... 5 more lines"


def test_excerpt_shows_no_control_characters():
    assert excerpt(Location("k.py", 1, 1, 1, 2), ["\x1b[2Jx"])[0] == "  1 | ?[2Jx"


def test_excerpt_of_a_line_that_is_not_there():
    assert excerpt(Location("k.py", 7, 1, 7, 2), ["a"]) == []
