"""``kernlint fix`` as a program: what it writes, what it says, and how it ends."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from support import warm
from support.fixes import LOADS, gemm

ROOT = Path(__file__).parents[2]
SEED = ROOT / "fixtures/seed/task.md"
SOURCE = gemm(LOADS + "xf = x.to(tl.float32)\nacc += tl.dot(xf, y.to(tl.float32))")
FIXED_LINE = "        acc += tl.dot(x, y)"


def run(*arguments: str, stdin: bytes = b"", cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    return warm.run([*warm.KERNLINT, "fix", *arguments], input=stdin, cwd=cwd)


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "kernel.py"
    path.write_text(SOURCE)
    return path


def test_in_place(kernel: Path) -> None:
    kernel.chmod(0o640)
    done = run(str(kernel), "--rule", "KL101")
    assert done.returncode == 0 and done.stdout == b""
    assert FIXED_LINE in kernel.read_text()
    assert stat.S_IMODE(kernel.stat().st_mode) == 0o640
    (line,) = done.stderr.decode().splitlines()
    assert "fixed KL101 int8-upcast-before-dot at line 13" in line
    assert "predicted" in line and "safe, numerics exact" in line
    assert os.listdir(kernel.parent) == ["kernel.py"]


def test_rule_by_name_and_again(kernel: Path) -> None:
    assert run(str(kernel), "--rule", "int8-upcast-before-dot").returncode == 0
    before = kernel.read_bytes()
    done = run(str(kernel), "--rule", "KL101")
    assert (done.returncode, done.stdout) == (1, b"") and b"nothing to fix" in done.stderr
    assert kernel.read_bytes() == before


def test_diff_writes_nothing(kernel: Path) -> None:
    done = run("kernel.py", "--rule", "KL101", "--diff", cwd=kernel.parent)
    assert done.returncode == 0 and kernel.read_text() == SOURCE
    assert done.stdout.startswith(b"--- kernel.py\n+++ kernel.py\n") and b"+" + FIXED_LINE.encode() in done.stdout


def test_output_file_and_standard_streams(kernel: Path) -> None:
    target = kernel.parent / "new.py"
    assert run(str(kernel), "--rule", "KL101", "-o", str(target)).returncode == 0
    assert kernel.read_text() == SOURCE and FIXED_LINE in target.read_text()
    assert run(str(kernel), "--rule", "KL101", "-o", "-").stdout == target.read_bytes()
    assert run("-", "--rule", "KL101", stdin=SOURCE.encode()).stdout == target.read_bytes()


def test_markdown(tmp_path: Path) -> None:
    done = run(str(SEED))
    assert done.returncode == 2 and b"-o" in done.stderr
    target = tmp_path / "out.py"
    assert run(str(SEED), "-o", str(target), "--follow-ups").returncode == 0
    assert "acc += tl.dot(a, b)" in target.read_text() and "#" in target.read_text()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xef\xbb\xbf" + SOURCE.encode(), id="byte-order mark"),
        pytest.param(SOURCE.replace("\n", "\r\n").encode(), id="crlf"),
        pytest.param(b"# -*- coding: latin-1 -*-\n# gr\xf6\xdfer\n" + SOURCE.encode(), id="latin-1"),
        pytest.param(SOURCE.rstrip("\n").encode(), id="no end of line at the end"),
    ],
)
def test_bytes_outside_the_edits_stay(kernel: Path, data: bytes) -> None:
    kernel.write_bytes(data)
    assert run(str(kernel), "--rule", "KL101").returncode == 0
    after = kernel.read_bytes()
    gone = [line for line in data.splitlines(keepends=True) if line not in after.splitlines(keepends=True)]
    assert len(gone) == 4  # zeros, cast, dot, store
    head, tail = data[: data.index(b"acc = tl.zeros")], data[data.index(b"def launch") :]
    assert after.startswith(head) and after.endswith(tail)


def test_a_link_stays_one(kernel: Path) -> None:
    link = kernel.parent / "link.py"
    link.symlink_to(kernel.name)
    assert run(str(link), "--rule", "KL101").returncode == 0
    assert link.is_symlink() and FIXED_LINE in kernel.read_text()


def test_a_link_out_of_the_folder_is_not_followed(kernel: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    link = tmp_path_factory.mktemp("elsewhere") / "link.py"
    link.symlink_to(kernel)
    done = run(str(link), "--rule", "KL101")
    assert done.returncode == 2 and kernel.read_text() == SOURCE
    said = f"{link}: is a link out of its folder and is not changed; name {os.path.realpath(kernel)} to change that"
    assert said in done.stderr.decode()
    assert run(str(link), "--rule", "KL101", "--diff").returncode == 0
    assert run(str(link), "--rule", "KL101", "-o", str(link.parent / "new.py")).returncode == 0
    assert kernel.read_text() == SOURCE and link.is_symlink() and FIXED_LINE in (link.parent / "new.py").read_text()


def test_a_read_only_file_is_left_alone(kernel: Path) -> None:
    kernel.chmod(0o444)
    done = run(str(kernel), "--rule", "KL101")
    assert done.returncode == 2 and b"read-only" in done.stderr and kernel.read_text() == SOURCE


def test_an_interrupted_write_leaves_the_old_file(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kernlint.errors import UsageError
    from kernlint.write import write_whole

    def fail(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(UsageError, match="No space left"):
        write_whole(str(kernel), b"new")
    assert kernel.read_text() == SOURCE and os.listdir(kernel.parent) == ["kernel.py"]


def test_a_file_that_changed_meanwhile_is_left_alone(kernel: Path) -> None:
    from kernlint.errors import UsageError
    from kernlint.write import write_whole

    with pytest.raises(UsageError, match="changed since"):
        write_whole(str(kernel), b"new", expected=b"old")
    assert kernel.read_text() == SOURCE


def test_what_an_open_size_keeps_from_being_fixed_is_said(tmp_path: Path) -> None:
    from support.findings import HEADER

    source = """
@triton.jit
def add(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) + 1, mask=at < n)

def f(x):
    y = torch.empty_like(x)
    add[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
    return y
"""
    (tmp_path / "kernel.py").write_text(HEADER + source)
    done = run("kernel.py", cwd=tmp_path)
    assert done.returncode == 1 and b"--assume 'f.x:float16' --assume 'x.numel=4194304'" in done.stderr
    assert run("kernel.py", "--diff", "--assume", "x:fp16[4194304]", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        pytest.param(["missing.py"], 2, "no such file", id="missing file"),
        pytest.param(["broken.py"], 2, "syntax error", id="syntax error"),
        pytest.param(["empty.py"], 2, "empty", id="empty file"),
        pytest.param(["plain.py"], 2, "no Triton kernel", id="no kernel"),
        pytest.param(["kernel.py", "--rule", "KL999"], 2, "no rule 'KL999'", id="unknown rule"),
        pytest.param(["kernel.py", "--diff", "-o", "x.py"], 2, "contradict", id="diff and output"),
        pytest.param(["kernel.py", "--device", "h1000"], 2, "h1000", id="unknown device"),
        pytest.param(["kernel.py", "--rule", "KL204"], 1, "nothing to fix", id="nothing found"),
        pytest.param(["hard.py"], 1, "cannot fix KL507", id="no rewrite"),
        pytest.param([], 2, "PATH", id="no path"),
    ],
)
def test_other_ends(kernel: Path, arguments: list[str], status: int, words: str) -> None:
    from kernlint.rules.registry import find_rule

    folder = kernel.parent
    (folder / "broken.py").write_text("def f(:\n")
    (folder / "empty.py").write_text("")
    (folder / "plain.py").write_text("x = 1\n")
    import textwrap

    (folder / "hard.py").write_text(textwrap.dedent(find_rule("KL507").bad))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    done = run(*arguments, cwd=folder)
    message = done.stderr.decode()
    assert done.returncode == status and words in message and "Traceback" not in message
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_unsafe_fixes_are_announced(kernel: Path) -> None:
    kernel.write_text(SOURCE.replace("s, 4096, BM", "s, a.shape[1], BM"))
    done = run(str(kernel), "--rule", "KL101")
    assert done.returncode == 1 and b"--unsafe-fixes makes it" in done.stderr
    assert run(str(kernel), "--rule", "KL101", "--unsafe-fixes").returncode == 0
