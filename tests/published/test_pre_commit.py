"""The hooks under the real `pre-commit` program, which installs this repository into an environment of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.repository import git

KERNEL = """\
import torch, triton
import triton.language as tl


@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)


def run(x: torch.Tensor):
    y = torch.empty_like(x)
{body}
    double[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
"""
CLEAN = KERNEL.format(body="    pass")
UNUSED = KERNEL.format(body="    # kernlint: ignore[KL101] not here")

CONFIG = """\
repos:
  - repo: {repository}
    rev: {revision}
    hooks:
      - id: {hook}
"""


def program() -> str:
    beside = Path(sys.executable).with_name("pre-commit")
    found = str(beside) if beside.exists() else shutil.which("pre-commit")
    if found is None:
        pytest.skip("pre-commit is not installed")
    return found


def run(tmp_path: Path, release: Path, hook: str, source: str) -> tuple[int, str]:
    """Status and output of a hook on a repository that holds ``source`` as ``kernel.py``."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / "kernel.py").write_text(source)
    (tmp_path / "other.txt").write_text("no Python\n")
    (tmp_path / ".pre-commit-config.yaml").write_text(CONFIG.format(repository=release, revision="v0", hook=hook))
    git(tmp_path, "add", "--all")
    done = subprocess.run(
        [program(), "run", "--all-files", "--verbose"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.network
def test_a_clean_kernel_passes(tmp_path: Path, release: Path) -> None:
    status, output = run(tmp_path, release, "kernlint", CLEAN)
    assert status == 0 and "Passed" in output, output


@pytest.mark.network
def test_a_finding_fails_the_commit(tmp_path: Path, release: Path) -> None:
    status, output = run(tmp_path, release, "kernlint", UNUSED)
    assert status == 1 and "kernel.py:13" in output and "KL911" in output, output
    assert "nothing to suppress" in output


@pytest.mark.network
def test_the_fixing_hook_changes_the_file_and_fails_once(tmp_path: Path, release: Path) -> None:
    status, output = run(tmp_path, release, "kernlint-fix", UNUSED)
    assert status == 1 and "files were modified by this hook" in output, output
    assert "kernlint:" not in (tmp_path / "kernel.py").read_text()
    git(tmp_path, "add", "--all")
    again = subprocess.run([program(), "run", "--all-files"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stdout
