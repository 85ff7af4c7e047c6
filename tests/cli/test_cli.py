"""The command as users run it: as a process, looking at status, standard output and standard error."""

import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
from support import fake_cli, warm
from support.terminal import shown

from kernlint.cli import main
from kernlint.lint.diagnostics import DIAGNOSTICS
from kernlint.rules.registry import all_rules, find_rule
from kernlint.schema import load
from kernlint.syntax.source import MAX_BYTES
from kernlint.version import __version__

REAL = warm.KERNLINT
FAKE = (fake_cli.__file__,)


def run(command, *arguments, stdin=b"", cwd=None, env=None):
    result = warm.run([*command, *arguments], input=stdin, cwd=cwd, env={**os.environ, **(env or {})})
    assert b"Traceback" not in result.stderr or env, result.stderr.decode()
    return result


def start(command, interrupt, **options):
    """The command with SIGINT as ``interrupt`` says: else it has what the tests were started with, which in the background is
    to ignore it."""
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        return subprocess.Popen(command, **options)
    finally:
        signal.signal(signal.SIGINT, before)


def hanging(source, interrupt):
    """A command of whose analysis no end is in sight, once it has come that far."""
    file = source("hang")
    process = start(
        [sys.executable, *FAKE, file],
        interrupt,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "FAKE_TIMEOUT_S": "120"},
    )
    end = time.monotonic() + 60
    while not file.with_suffix(".hangs").exists() and time.monotonic() < end:
        time.sleep(0.05)
    return process


def refused(result):
    """The message of a command that gave no verdict: one line on standard error, status 2."""
    assert result.returncode == 2, result
    assert result.stdout == b""
    lines = result.stderr.decode().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("kernlint: error: ")
    return lines[0].removeprefix("kernlint: error: ")


@pytest.fixture
def source(tmp_path):
    def write(text, name="k.py"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_a_misspelt_command_is_told_from_a_missing_file(tmp_path):
    assert refused(run(REAL, "chek", "kernels", cwd=tmp_path)) == "no command and no file 'chek'; did you mean check?"
    assert "no such file" in refused(run(REAL, "kernels.py", cwd=tmp_path))
    (tmp_path / "chek").write_text("x = 1\n")
    assert "did you mean" not in refused(run(REAL, "chek", cwd=tmp_path))


@pytest.mark.parametrize("command", [[], ["explain"], ["fix"], ["check"]])
def test_the_code_of_a_rule_where_a_file_is_meant_names_what_shows_rules(command, tmp_path):
    assert refused(run(REAL, *command, "KL705", cwd=tmp_path)).endswith(
        "; `kernlint rule KL705` shows the page of a rule"
    )
    assert "kernlint rule" not in refused(run(REAL, *command, "KL705.py", cwd=tmp_path))
    (tmp_path / "KL705").write_text("x = 1\n")
    assert b"kernlint rule" not in run(REAL, *command, "KL705", cwd=tmp_path).stderr


def test_nothing_of_the_output_is_lost_whatever_the_status():
    """The process ends without Python's own clean-up, which would have flushed what is left in a buffer."""
    program = (
        "import click, importlib, sys\n"
        "main = importlib.import_module('kernlint.cli.main')\n"
        "@main.cli.command('x')\n"
        "def x(): sys.stdout.write('y' * 100_000); raise click.exceptions.Exit(1)\n"
        "main._Commands.get_command = lambda self, ctx, name: x\n"
        "main._COMMANDS['x'] = ''\n"
        "sys.argv = ['kernlint', 'x']; main.command()"
    )
    done = run(["-c", program])
    assert (done.returncode, len(done.stdout)) == (1, 100_000)


# -- verdicts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["yes", "no"])
def test_a_verdict_is_one_json_object_and_status_0(source, word):
    result = run(FAKE, source(word))
    assert result.returncode == 0
    data = json.loads(result.stdout)
    jsonschema.Draft202012Validator(load("verdict")).validate(data)
    assert data["worth_optimizing"] == word
    assert result.stderr == b""  # not a terminal


def test_without_details(source):
    data = json.loads(run(FAKE, source("yes"), "--no-details").stdout)
    assert len(data) == 6


def test_standard_input():
    assert run(FAKE, "-", stdin=b"yes").returncode == 0


def test_options_reach_the_analysis(source):
    arguments = ["--set", "M=0x10", "--set", "M=16", "--set", "EPS=1e-5", "--set", "B=True", "--assume", "x:int8[4]"]
    arguments += ["--device", "A100", "--scope", "call", "--entry", "f", "--reference", source("ref", "ref.py")]
    message = refused(run(FAKE, source("options"), *arguments))
    options = eval(message)
    assert options["overrides"] == {"M": 16, "EPS": 1e-5, "B": True}
    assert options["assumptions"] == ("x:int8[4]",)
    assert options["device"].startswith("a100")
    assert options["scope"] == "call"
    assert options["entry"] == "f"
    assert options["reference"] == "ref"
    assert options["reference_path"].endswith("ref.py")
    assert options["path"].endswith("k.py")


def test_defaults(source):
    options = eval(refused(run(FAKE, source("options"))))
    assert options["device"] is None  # nobody named one
    assert options["scope"] == "gpu"
    assert options["entry"] is None
    assert options["reference"] is None


@pytest.mark.parametrize("arguments", [["./check"], ["--", "check"], ["--no-details", "check"]])
def test_a_file_called_like_a_subcommand(source, tmp_path, arguments):
    source("yes", "check")
    assert run(FAKE, *arguments, cwd=tmp_path).returncode == 0


def test_a_terminal_sees_the_findings(source):
    text, status = shown([*FAKE, source("yes\n\n    tl.dot(a, b)\n")], ["stderr"])
    assert status == 0
    assert "int8-upcast-before-dot" in text
    assert "worth optimizing" in text


# -- no verdict -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "message"),
    [
        pytest.param("raise", "no kernel in this file", id="the analysis says no"),
        pytest.param("crash", "died of SIGSEGV", id="the parser dies"),
        pytest.param("exit", "ended early, with status 7", id="the worker ends"),
        pytest.param("hang", "took longer than 2 s", id="it takes too long"),
        pytest.param("memory", "needs more than 4 GiB", id="it takes too much memory"),
        pytest.param("recursion", "too deeply nested", id="it recurses without end"),
        pytest.param("bug", "internal error, please report it: ValueError: two lines", id="a bug"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="signals and memory limits of POSIX")
def test_whatever_happens_to_the_analysis_is_one_line(source, word, message):
    assert message in refused(run(FAKE, source(word)))


def test_a_bug_can_be_traced(source):
    result = run(FAKE, source("bug"), env={"KERNLINT_DEBUG": "1"})
    assert result.returncode == 2
    assert b"Traceback" in result.stderr


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "empty", id="empty"),
        pytest.param(b"\x7fELF\0", "binary", id="binary"),
        pytest.param(b"x = '\xff'\n", "not utf-8", id="undecodable"),
        pytest.param(b"#" * (MAX_BYTES + 1), "larger than 8 MB", id="huge"),
    ],
)
def test_unreadable_source(source, data, message):
    path = source(data)
    assert refused(run(REAL, path)).startswith(f"{path}:")
    assert message in refused(run(REAL, "-", stdin=data))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param([], "no PATH given", id="nothing"),
        pytest.param(["none.py"], "none.py: no such file", id="missing file"),
        pytest.param(["none\nline.py"], "no such file", id="a line end in the name"),
        pytest.param(["."], "is a directory; `kernlint check`", id="directory"),
        pytest.param(["k.py", "l.py"], "unexpected extra argument", id="two paths"),
        pytest.param(["k.py", "--nope"], "No such option", id="unknown option"),
        pytest.param(["k.py", "--scope", "cpu"], "'cpu' is not one of", id="unknown scope"),
        pytest.param(["k.py", "--device", "h1000"], "did you mean h100", id="unknown device"),
        pytest.param(["k.py", "--set", "M"], "expected NAME=VALUE", id="--set without a value"),
        pytest.param(["k.py", "--set", "1=2"], "expected NAME=VALUE", id="--set without a name"),
        pytest.param(["k.py", "--set", "M=many"], "'many' is not an int", id="--set of a word"),
        pytest.param(["k.py", "--set", "M=nan"], "'nan' is not an int", id="--set of no number"),
        pytest.param(["k.py", "--set", "M=(1"], "'(1' is not an int", id="--set of code"),
        pytest.param(["k.py", "--set", "M=1", "--set", "M=2"], "given twice, as 1 and as 2", id="--set twice"),
        pytest.param(["k.py", "--set", "M=1", "--set", "M=True"], "given twice", id="--set of two types"),
        pytest.param(["-", "--reference", "-"], "cannot both come from standard input", id="standard input twice"),
        pytest.param(["schema", "x"], "no schema named 'x'", id="unknown schema"),
        pytest.param(["rule", "KL999"], "no rule 'KL999'", id="unknown rule"),
    ],
)
def test_usage_errors(arguments, message, tmp_path):
    assert message in refused(run(REAL, *arguments, cwd=tmp_path))


@pytest.mark.skipif(sys.platform == "win32", reason="files of POSIX")
@pytest.mark.parametrize("kind", ["a named pipe", "a device", "a directory", "a socket"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["SPECIAL"],
        ["task.md", "--reference", "SPECIAL"],
        ["task.md", "--perf", "SPECIAL"],
        ["explain", "SPECIAL"],
        ["explain", "task.md", "--perf", "SPECIAL"],
        ["fix", "SPECIAL"],
        ["fix", "task.md", "-o", "x.py", "--reference", "SPECIAL"],
        ["verify", "SPECIAL"],
        ["verify", "task.md", "--fixed", "SPECIAL"],
        ["verify", "task.md", "--reference", "SPECIAL"],
        ["check", "--baseline", "SPECIAL"],
        ["check", "--baseline", "SPECIAL", "--update-baseline"],
        ["check", "--config", "SPECIAL"],
    ],
    ids=" ".join,
)
def test_what_is_no_regular_file_is_refused_and_not_waited_for(kind, arguments, tmp_path, monkeypatch):
    monkeypatch.setattr("kernlint.verify.versions.require", lambda: None)  # which says first that torch is not there
    special = special_file(tmp_path, kind)
    (tmp_path / "task.md").write_text("# a task")
    told = refused_here([special if argument == "SPECIAL" else argument for argument in arguments], tmp_path)
    # Of a folder that is asked about itself it says which commands read those.
    about_itself = kind == "a directory" and "SPECIAL" in arguments[:2] and arguments[0] != "task.md"
    assert f"{special}: is {kind}{'; `kernlint check`' if about_itself else ', not a file'}" in told
    assert ("- reads standard input" in told) == (kind == "a named pipe" and arguments[0] != "check")


@pytest.mark.skipif(sys.platform == "win32", reason="files of POSIX")
@pytest.mark.parametrize("kind", ["a named pipe", "a device", "a socket"])
def test_checking_what_is_no_regular_file(kind, tmp_path):
    """As any file that cannot be read: a finding, so that the others are checked."""
    special = special_file(tmp_path, kind)
    (tmp_path / "k.py").write_text("x = 1\n")
    done = run(REAL, "check", "--isolated", "--no-cache", "--output-format", "concise", special, "k.py", cwd=tmp_path)
    assert done.returncode == 1
    line, _ = done.stdout.decode().splitlines()
    assert "KL903" in line and f"is {kind}, not a file" in line


def special_file(folder, kind):
    """The name of such a file in ``folder``."""
    if kind == "a device":
        (folder / "special").symlink_to("/dev/zero")
    elif kind == "a named pipe":
        os.mkfifo(folder / "special")
    elif kind == "a directory":
        (folder / "special").mkdir()
    else:
        with socket.socket(socket.AF_UNIX) as server:
            here = os.getcwd()
            os.chdir(folder)  # the path of a socket is short
            server.bind("special")
            os.chdir(here)
    return "special"


def refused_here(arguments, folder):
    """As :func:`refused`, in this process: a hundred of them take minutes otherwise."""
    here = os.getcwd()
    out, err = io.StringIO(), io.StringIO()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(arguments)
    finally:
        os.chdir(here)
    assert (status, out.getvalue()) == (2, "")
    (line,) = err.getvalue().splitlines()
    return line.removeprefix("kernlint: error: ")


def test_a_closed_pipe_is_silent(source):
    reader, writer = os.pipe()
    os.close(reader)
    result = warm.run([*FAKE, source("yes")], stdout=writer)
    os.close(writer)
    assert result.returncode == 141
    assert result.stderr == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_one_line(source):
    with open("/dev/full", "wb") as full:
        result = warm.run([*FAKE, source("yes")], stdout=full)
    assert result.returncode == 2
    assert b"cannot write: No space left" in result.stderr
    assert b"Traceback" not in result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"])
@pytest.mark.parametrize("kill", [os.kill, os.killpg], ids=["command", "group"])
def test_interrupt_ends_command_and_worker(source, number, status, kill):
    process = hanging(source, signal.SIG_DFL)
    kill(process.pid, number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == status
    assert errors == b""
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_job_in_the_background_ends_as_its_shell_says(source):
    """A shell starts it with Ctrl-C ignored, which is meant for what runs in front; it is told to end by another signal."""
    process = hanging(source, signal.SIG_IGN)
    os.killpg(process.pid, signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=1)
    os.killpg(process.pid, signal.SIGTERM)
    assert process.wait(timeout=30) == 143
    assert process.communicate()[1] == b""


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
@pytest.mark.parametrize(
    ("redirection", "arguments", "status"),
    [
        (">&-", ["rules"], 0),
        ("<&- >&-", ["check", "-"], 0),
        ("2>&-", ["check", "none.py"], 2),
        ("<&- >&- 2>&-", ["none.py"], 2),
        pytest.param(
            "2>/dev/full",
            ["check", "none.py"],
            2,
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="none here"),
        ),
    ],
)
def test_a_standard_stream_that_is_not_there(redirection, arguments, status, tmp_path):
    shell = ["sh", "-c", f'"$@" {redirection}', "sh", sys.executable, *REAL, *arguments]
    done = subprocess.run(shell, capture_output=True, cwd=tmp_path, timeout=300, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, b"", b"")


# -- the other commands -----------------------------------------------------------------------------------------------


def test_version():
    assert run(REAL, "--version").stdout.decode() == f"kernlint {__version__}\n"


def test_help_names_everything():
    text = run(REAL, "--help").stdout.decode()
    for word in (
        "PATH",
        "--set",
        "--assume",
        "--device",
        "--scope",
        "--entry",
        "--reference",
        "--no-details",
        "schema",
    ):
        assert word in text


def test_schema():
    assert json.loads(run(REAL, "schema", "verdict").stdout) == load("verdict")


def test_device_list():
    lines = run(REAL, "--device", "list").stdout.decode().splitlines()
    assert any(line.startswith("h100-sxm ") and line.endswith("measured") for line in lines)


def test_rules_lists_what_rule_explains():
    listed = [line.split()[:2] for line in run(REAL, "rules").stdout.decode().splitlines()]
    assert listed == [[each.code, each.name] for each in (*all_rules(), *DIAGNOSTICS)]
    assert all(find_rule(code) is find_rule(name) for code, name in listed[: -len(DIAGNOSTICS)])
    for code, name in (listed[0], listed[len(listed) // 2], listed[-1]):
        page = run(REAL, "rule", code).stdout
        assert page == run(REAL, "rule", name).stdout
        assert page.decode().startswith(f"# {name} ({code})")


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["--device", "list"], ["schema", "verdict"]])
def test_what_needs_no_analysis_imports_no_parser(arguments):
    program = (
        "import sys; from kernlint.cli import main; main(sys.argv[1:]); "
        "sys.exit(' '.join({'libcst', 'jsonschema', 'rich', 'multiprocessing'} & set(sys.modules)))"
    )
    result = run(["-c", program], *arguments)
    assert result.returncode in (0, 1)
    assert result.stderr.strip() == b""
