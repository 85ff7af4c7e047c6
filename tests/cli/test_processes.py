"""Programs that tests run by fork are what they are where an interpreter starts: their output, their end, and that nothing that a
command imports is missing."""

import os
import subprocess
import sys

import pytest
from support import warm
from support.fixes import LOADS, gemm

SOURCE = gemm(LOADS + "xf = x.to(tl.float32)\nacc += tl.dot(xf, y.to(tl.float32))")


def started(arguments, **options):
    return subprocess.run(
        [sys.executable, *map(str, arguments)], capture_output=True, timeout=240, check=False, **options
    )


def told(process):
    return process.returncode, process.stdout, process.stderr


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        pytest.param(["k.py"], 0, id="verdict"),
        pytest.param(["check", "--isolated", "--no-cache", "."], 1, id="check"),
        pytest.param(["check", "--isolated", "--no-cache", "--diff", "."], 1, id="check --diff"),
        pytest.param(["explain", "k.py"], 0, id="explain"),
        pytest.param(["fix", "k.py", "--diff"], 0, id="fix"),
        pytest.param(["rule", "KL101"], 0, id="rule"),
        pytest.param(["report", ".", "-o", "page.html"], 0, id="report"),
        pytest.param(["none.py"], 2, id="nothing"),
    ],
)
def test_commands(tmp_path, arguments, status):
    (tmp_path / "k.py").write_text(SOURCE)
    forked = warm.run([*warm.KERNLINT, *arguments], cwd=tmp_path)
    assert told(forked) == told(started([*warm.KERNLINT, *arguments], cwd=tmp_path))
    assert forked.returncode == status


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("", 0),
        ("sys.exit()", 0),
        ("sys.exit(7)", 7),
        ("sys.exit('no')", 1),
        ("raise ValueError('no')", 1),
        ("sys.stdout.flush(); os._exit(9)", 9),
        ("sys.stdout.flush(); os.kill(os.getpid(), 15)", -15),
    ],
)
def test_what_a_program_is_given_and_how_it_ends(tmp_path, end, status):
    path = tmp_path / "folder" / "program.py"
    path.parent.mkdir()
    path.write_text(
        "import os, signal, sys\n"
        "print(sys.argv, sys.path[0], os.getcwd(), __name__, __file__, os.environ['WORD'], 'OTHER' in os.environ)\n"
        "print(sys.stdin.buffer.read(), [(s.encoding, s.errors, s.isatty()) for s in (sys.stdin, sys.stdout, sys.stderr)])\n"
        "print([signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE)], os.listdir('/dev/fd')[:3])\n"
        f"print('wrong', file=sys.stderr)\n{end}\n"
    )
    environment = {**os.environ, "WORD": "größe", "PYTHONIOENCODING": "cp1252"}
    options = {"input": b"\xff\n", "cwd": tmp_path, "env": environment}
    forked, other = warm.run([path, "a", "-b"], **options), started([path, "a", "-b"], **options)
    assert (forked.returncode, forked.stdout) == (other.returncode, other.stdout) and forked.returncode == status
    assert forked.stderr.splitlines()[0] == b"wrong"
    if end.startswith("raise"):  # the traceback is one of more frames
        assert forked.stderr.splitlines()[-1] == other.stderr.splitlines()[-1] == b"ValueError: no"


def test_nothing_is_left_of_the_one_before(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import sys, kernlint\nprint(vars(kernlint).get('touched'))\nkernlint.touched = sys.argv\n")
    assert [warm.run([path]).stdout for _ in range(2)] == [b"None\n", b"None\n"]


def test_one_that_does_not_end_is_ended(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import time\ntime.sleep(600)\n")
    with pytest.raises(subprocess.TimeoutExpired):
        warm.run([path], timeout=0.5)
    assert warm.run([*warm.KERNLINT, "--version"]).returncode == 0


def test_an_interpreter_starts_for_what_only_its_start_sets(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("import sys\nprint('libcst' in sys.modules, sys.flags.utf8_mode)\n")
    assert warm.run([path]).stdout.split()[0] == b"True"
    assert warm.run([path], env={**os.environ, "PYTHONUTF8": "1"}).stdout == b"False 1\n"
    assert warm.run(["-c", path.read_text()]).stdout.split()[0] == b"False"
