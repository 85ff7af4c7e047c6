"""Input that has no verdict gives one clear line and exit status 2; never a traceback."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support import warm

SEED = Path(__file__).parents[2] / "fixtures" / "seed" / "task.md"


def run(*arguments: str, stdin: str | bytes = "") -> subprocess.CompletedProcess[bytes]:
    data = stdin.encode() if isinstance(stdin, str) else stdin
    return warm.run([*warm.KERNLINT, *arguments], input=data)


LAUNCHER = """
import torch, triton
import triton.language as tl
@triton.jit
def k(x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
def run(x):
    k[(1,)](x, x.numel(), B=128)
"""

BAD = {
    "syntax error": (LAUNCHER + "def f(:\n", "syntax error"),
    "no kernel": ("import torch\ndef f(x):\n    return x + 1\n", "no Triton kernel"),
    "kernel without launcher": (LAUNCHER.split("def run")[0], "launches"),
    "empty": ("", ""),
    "gluon": (
        "from triton.experimental import gluon\nfrom triton.experimental.gluon import language as gl\n"
        "@gluon.jit\ndef k(x):\n    pass\n",
        "Gluon",
    ),
    "helion": ("import helion\n@helion.kernel()\ndef k(x):\n    return x\n", "Helion"),
    "deep nesting": (LAUNCHER + "x = " + "(" * 3000 + ")" * 3000 + "\n", ""),
    "endless sum": (LAUNCHER + "x = " + "+".join(["1"] * 20_000) + "\n", ""),
    "markdown without code": ("# PyTorch Reference\n\nnothing here\n", ""),
}


@pytest.mark.parametrize("name", BAD)
def test_one_line_and_status_two(name: str, tmp_path: Path) -> None:
    source, words = BAD[name]
    path = tmp_path / ("task.md" if "markdown" in name else "kernel.py")
    path.write_text(source)
    done = run(str(path))
    assert done.returncode == 2
    assert done.stdout == b""
    message = done.stderr.decode()
    assert message.startswith("kernlint: error: ") and message.count("\n") == 1 and "Traceback" not in message
    assert words in message


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--device", "h1000"], "h100"),
        (["--entry", "nothing"], "not found"),
        (["--set", "M=1", "--set", "M=2"], "M"),
        (["--set", "NOPE=3"], "NOPE"),
        (["--set", "M"], "M"),
        (["--set", "M=0"], "M"),
        (["--set", "M=-5"], "M"),
        (["--set", "M=1000000000000"], "M"),
        (["--assume", "q:int8[4]"], "q"),
        (["--assume", "x:notatype[4]"], "notatype"),
        (["--assume", "x:int8[4"], "write NAME"),
        (["--reference", "/does/not/exist.py"], "exist"),
    ],
)
def test_questions_that_make_no_sense(arguments: list[str], words: str) -> None:
    done = run(str(SEED), *arguments)
    assert done.returncode == 2 and done.stdout == b""
    message = done.stderr.decode()
    assert message.startswith("kernlint: error: ") and message.count("\n") == 1
    assert words in message


def test_unreadable_things(tmp_path: Path) -> None:
    binary = tmp_path / "kernel.py"
    binary.write_bytes(b"\x00\x01\x02" * 100)
    huge = tmp_path / "huge.py"
    huge.write_bytes(b"x = 1\n" * 4_000_000)
    for target in (str(binary), str(huge), str(tmp_path), str(tmp_path / "missing.py")):
        done = run(target)
        assert done.returncode == 2 and done.stdout == b"" and done.stderr.count(b"\n") == 1


def test_standard_input_of_either_kind() -> None:
    markdown = run("-", "--no-details", stdin=SEED.read_text())
    assert markdown.returncode == 0 and b'"worth_optimizing": "yes"' in markdown.stdout
    python = run("-", "--no-details", stdin=LAUNCHER)
    assert python.returncode == 0 and b'"worth_optimizing": "no"' in python.stdout
