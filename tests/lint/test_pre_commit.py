"""The hooks under the real `pre-commit` program, which installs this repository into an environment of its own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

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


def git(folder: Path, *args: str) -> str:
    identity = ("-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *args], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A repository of the work tree as it is, and its commit."""
    folder = tmp_path_factory.mktemp("hooks")
    for name in git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").splitlines():
        top = name.split("/")[0]
        if top in ("kernlint", "rules", "schema") or "/" not in name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).exists():
                shutil.copy(ROOT / name, folder / name)
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "hooks")
    return folder, git(folder, "rev-parse", "HEAD").strip()


def run(tmp_path: Path, hooks: tuple[Path, str], hook: str, source: str) -> tuple[int, str]:
    """Status and output of a hook on a repository that holds ``source`` as ``kernel.py``."""
    git(tmp_path, "init", "--quiet")
    (tmp_path / "kernel.py").write_text(source)
    (tmp_path / "other.txt").write_text("no Python\n")
    (tmp_path / ".pre-commit-config.yaml").write_text(CONFIG.format(repository=hooks[0], revision=hooks[1], hook=hook))
    git(tmp_path, "add", "--all")
    done = subprocess.run(
        [program(), "run", "--all-files", "--verbose"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.network
def test_a_clean_kernel_passes(tmp_path: Path, hooks: tuple[Path, str]) -> None:
    status, output = run(tmp_path, hooks, "kernlint", CLEAN)
    assert status == 0 and "Passed" in output, output


@pytest.mark.network
def test_a_finding_fails_the_commit(tmp_path: Path, hooks: tuple[Path, str]) -> None:
    status, output = run(tmp_path, hooks, "kernlint", UNUSED)
    assert status == 1 and "kernel.py:13" in output and "KL911" in output, output
    assert "nothing to suppress" in output


@pytest.mark.network
def test_the_fixing_hook_changes_the_file_and_fails_once(tmp_path: Path, hooks: tuple[Path, str]) -> None:
    status, output = run(tmp_path, hooks, "kernlint-fix", UNUSED)
    assert status == 1 and "files were modified by this hook" in output, output
    assert "kernlint:" not in (tmp_path / "kernel.py").read_text()
    git(tmp_path, "add", "--all")
    again = subprocess.run([program(), "run", "--all-files"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stdout
