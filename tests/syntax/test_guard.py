import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from support import hostile

from kernlint.errors import SourceError
from kernlint.syntax import check_depth, read_source
from kernlint.syntax.guard import MAX_CHAIN, MAX_ELIF, MAX_INDENT, MAX_NESTING

PROGRAM = Path(hostile.__file__)


def outcome(kind: str, count: int, timeout: float = 60) -> str:
    """What becomes of hostile source in a process of its own; a crash or a hang fails the test."""
    command = [sys.executable, str(PROGRAM), kind, str(count)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    assert result.returncode == 0, f"exit {result.returncode}: {result.stderr[-400:]}"
    assert "Traceback" not in result.stderr
    return result.stdout.strip()


@pytest.mark.parametrize(
    "kind", ["parentheses", "sum", "attributes", "unclosed calls", "elif", "f-strings, one quote", "indentation"]
)
def test_hostile_source_is_refused(kind):
    assert outcome(kind, 20_000 if kind != "indentation" else 2_000).startswith("refused: hostile.py:")


@pytest.mark.slow
@pytest.mark.parametrize("count", [11, 90, 199, 480, 990, 10_000])
@pytest.mark.parametrize("kind", hostile.HOSTILE)
def test_hostile_source_is_parsed_or_refused(kind, count):
    if "indent" in kind or kind in ("else if", "nested functions"):
        count = min(count, 1_000)  # its size is the square of the count
    assert outcome(kind, count).startswith(("parsed", "refused: hostile.py:"))


@pytest.mark.parametrize(
    "source",
    [
        pytest.param("x = " + "(" * MAX_NESTING + ")" * MAX_NESTING, id="nesting at the limit"),
        pytest.param("x = [" + "f(a).b, " * 5_000 + "]", id="a long list is wide, not deep"),
        pytest.param("x = {" + "'a': b.c + d, " * 5_000 + "}", id="a long table"),
        pytest.param("x = f(a)\n" * 5_000, id="many statements"),
        pytest.param("a; " * 5_000, id="many statements on one line"),
        pytest.param('x = """' + "((((" * 500 + '"""', id="brackets in a string"),
        pytest.param("x = '" + "([{" * 500 + "'", id="brackets in a short string"),
        pytest.param("x = '\\'" + "(" * 500 + "'", id="an escaped quote does not end a string"),
        pytest.param("x = r'\\'  # " + "(" * 500 + "'", id="nor in a raw string"),
        pytest.param('x = f"' + "{{" * 500 + '"', id="doubled braces in an f-string are text"),
        pytest.param("x = f'" + "{a:>{b}} " * 500 + "'", id="fields with format specs close again"),
        pytest.param("x = f'{a!r:^{width}.{precision}}'\n" * 500, id="conversions and nested specs"),
        pytest.param("x = f'{d[\"a\"]}'\n" * 500, id="other quotes in a field"),
        pytest.param("x = f'''{\na\n}'''\n" * 500, id="fields over lines"),
        pytest.param('x = rf"\\d{{2}}\\{a}"\n' * 500, id="a backslash before a field"),
        pytest.param("# " + "((((" * 500, id="brackets in a comment"),
        pytest.param("if a: pass\nelif b: pass\n" * 2_000, id="many short elif chains"),
        pytest.param("if a:\n" + " if b: pass\n elif c: pass\n" * 1_000, id="many short elif chains in a block"),
        pytest.param("x = a[" + "b:c, " * 400 + "]", id="slices"),
        pytest.param("elif_count = 1\n" * 1_000, id="a name that begins like a keyword"),
        pytest.param("cases = " + "(" * 50 + ")" * 50, id="a name that begins like case"),
        pytest.param("case = " + "(" * 50 + ")" * 50, id="a variable called case"),
    ],
)
def test_real_shapes_pass(source):
    check_depth(source, "k.py")


@pytest.mark.parametrize(
    ("source", "line"),
    [
        pytest.param("\n\nx = " + "(" * (MAX_NESTING + 1), 3, id="nesting"),
        pytest.param("y = 1\r\nx = " + "-" * (MAX_CHAIN + 1) + "1", 2, id="chain, after CRLF"),
        pytest.param("x = f(  # )\n" + "(" * MAX_NESTING, 2, id="a bracket in a comment closes nothing"),
        pytest.param("x = f(')', a)\ny = f(')', " + "(" * MAX_NESTING, 2, id="nor does one in a string"),
        pytest.param('x = """ \' (\n"""\n' + "(" * (MAX_NESTING + 1), 3, id="behind a string of several lines"),
        pytest.param("x = a" + ".b" * 400 + "\ny = a" + ".b" * (MAX_CHAIN + 1), 2, id="the longer one of two"),
        pytest.param("if a: pass\n" + "elif b: pass\n" * (MAX_ELIF + 1), MAX_ELIF + 2, id="elif"),
        pytest.param("".join(" " * i + "if a:\n" for i in range(MAX_INDENT + 2)), MAX_INDENT + 2, id="indentation"),
        pytest.param("x = [" + "(a" * 150 + " + a" * 600 + ")" * 150 + " + a" * 400, 1, id="sum over brackets"),
        pytest.param("x = '" + "a" * 10 + "\n" + "(" * 300, 2, id="an unclosed string ends with its line"),
    ],
)
def test_names_the_line(source, line):
    with pytest.raises(SourceError, match=rf"^k\.py:{line}: too deeply nested"):
        check_depth(source, "k.py")


def test_lines_of_a_fence_are_those_of_the_file():
    with pytest.raises(SourceError, match=r"^task\.md:41: "):
        check_depth("\n" + "(" * 300, "task.md", first_line=40)


@pytest.mark.slow
def test_site_packages_pass():
    refused, count = [], 0
    for path in sorted(Path(sysconfig.get_path("purelib")).rglob("*.py")):
        try:
            source = read_source(str(path))
        except SourceError:
            continue  # empty, or a test file in a broken encoding
        count += 1
        try:
            check_depth(source.text, source.path)
        except SourceError as error:
            refused.append(str(error))
    assert count > 100
    assert refused == []
