"""`kernlint explain` and `--perf`, as users run them."""

import json
from pathlib import Path

import jsonschema
import pytest
from support import budgets, warm
from support.terminal import shown

from kernlint.schema import load

SEED = Path(__file__).parents[2] / "fixtures/seed/task.md"


@pytest.fixture
def small(tmp_path):
    path = tmp_path / "loop.py"
    path.write_text(budgets.LOOP)
    return path


def run(*arguments, stdin=b"", **more):
    result = warm.run([*warm.KERNLINT, *arguments], input=stdin, **more)
    assert b"Traceback" not in result.stderr, result.stderr.decode()
    return result


def refused(result):
    assert (result.returncode, result.stdout) == (2, b"")
    (line,) = result.stderr.decode().splitlines()
    return line


def test_text(small):
    result = run("explain", small)
    assert result.returncode == 0 and result.stderr == b""
    assert b"  axpy_kernel x 8" in result.stdout
    assert run("explain", "-", stdin=budgets.LOOP.encode()).stdout.splitlines()[1:] == result.stdout.splitlines()[1:]


def test_json(small):
    data = json.loads(run("explain", small, "--json", "--scope", "call", "--set", "N=8192").stdout)
    jsonschema.Draft202012Validator(load("explain")).validate(data)
    assert (data["scope"], data["sizes"]["N"]) == ("call", 8192)


def test_a_sweep(small):
    data = json.loads(run("explain", small, "--json", "--set", "N=4096,-1,65536").stdout)
    jsonschema.Draft202012Validator(load("explain")).validate(data)
    assert [row["settings"]["N"] for row in data["sweep"]] == [4096, -1, 65536]
    assert "the shape" in data["sweep"][1]["error"] and data["sweep"][1]["verdict"] is None
    text = run("explain", small, "--set", "N=4096,65536", "--set", "ROWS=4").stdout.decode()
    assert "65536" in text and "The best change" in text


def test_a_plot(small, tmp_path):
    pytest.importorskip("matplotlib")
    assert run("explain", small, "--plot", tmp_path / "a.svg").returncode == 0
    assert (tmp_path / "a.svg").read_text().startswith("<?xml")
    assert "No such file" in run("explain", small, "--plot", tmp_path / "none" / "a.svg").stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "no PATH given", id="nothing"),
        pytest.param(["none.py"], "no such file", id="missing file"),
        pytest.param(["k.py", "--plot", "a.pdf"], "must end in .svg or .png", id="suffix"),
        pytest.param(["k.py", "--plot", "a.svg", "--set", "M=1,2"], "--plot draws one size", id="plot of a sweep"),
        pytest.param(["k.py", "--device", "h1000"], "did you mean", id="device"),
        pytest.param(["k.py", "--perf", "none"], "none: No such file", id="missing data"),
        pytest.param(["-", "--perf", "-"], "cannot both come from standard input", id="standard input twice"),
    ],
)
def test_usage_errors(arguments, message, tmp_path):
    (tmp_path / "k.py").write_text(budgets.LOOP)
    assert message in refused(run("explain", *arguments, cwd=tmp_path))


def test_a_list_is_for_explain_only(small):
    assert "`kernlint explain` takes a list" in refused(run(small, "--set", "N=1,2"))


def test_a_sweep_in_which_nothing_works_is_an_error(small):
    assert "the shape" in refused(run("explain", small, "--set", "N=0,-1"))


def test_performance_data(small, tmp_path):
    data = tmp_path / "p.txt"
    data.write_text("axpy_kernel: 100 us")
    verdict = json.loads(run(small, "--perf", data).stdout)
    jsonschema.Draft202012Validator(load("verdict")).validate(verdict)
    assert verdict["details"]["measured"]["kernels"][0]["time_us"] == 100.0
    assert verdict["details"]["estimate"]["gpu"]["before_us"] > 800
    assert json.loads(run(small, "--perf", "-", stdin=b"axpy_kernel: 100 us").stdout) == verdict
    assert b"times are measured where there are some (latencies)" in run("explain", small, "--perf", data).stdout


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"{", b"[]", b"-1 us", b'"Kernel Name","x"\n"k"', b"hello"])
def test_bad_performance_data_is_one_line(small, tmp_path, content):
    data = tmp_path / "p"
    data.write_bytes(content)
    assert f"{data}:" in refused(run(small, "--perf", data))


def test_a_terminal_gets_colours(small):
    text, status = shown([*warm.KERNLINT, "explain", small], ["stdout"], TERM="xterm-256color", COLUMNS="150")
    assert status == 0
    assert "\x1b[" in text and "\u2588" in text and "axpy_kernel" in text
