"""What Windows and macOS have not, taken away: fork, ``resource``, affinity, processor times, UTF-8 streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.lint import CODE, KERNEL

SEED = Path(__file__).parents[2] / "fixtures" / "seed" / "task.md"

#: Run by every Python that finds it, before anything else, and so by workers too.
WITHOUT = """
import multiprocessing, os, sys
multiprocessing.get_all_start_methods = lambda: ["spawn"]
sys.modules["resource"] = None
for name in ("fork", "sched_getaffinity", "sysconf", "geteuid", "getuid"):
    if hasattr(os, name):
        delattr(os, name)
"""

#: Modules that Windows has not, and what only extras install.
UNIX = ("curses", "fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty")
EXTRAS = ("lsprotocol", "matplotlib", "mcp", "numpy", "pyarrow", "pygls", "ray", "torch", "triton")

#: Imports every module of kernlint, and prints which cannot be imported for want of what.
IMPORTS = f"""
import importlib, pkgutil, sys
for name in {UNIX + EXTRAS}:
    sys.modules[name] = None
import kernlint, kernlint.rules
found = [*pkgutil.walk_packages(kernlint.__path__, "kernlint."), *pkgutil.walk_packages(kernlint.rules.__path__, "kernlint.rules.")]
for module in found:
    try:
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    except ImportError as error:
        print(module.name, (error.name or str(error)).partition(".")[0])
print("kernlint", len([name for name in sys.modules if name.startswith("kernlint.")]))
"""


@pytest.fixture
def run(tmp_path: Path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(WITHOUT)
    (tmp_path / "work").mkdir()

    def kernlint(*arguments: str, stdin: bytes = b"", **more: str) -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site"), **more}
        done = subprocess.run(
            [sys.executable, "-m", "kernlint", *arguments],
            input=stdin, capture_output=True, cwd=tmp_path / "work", env=environment, timeout=300, check=False,
        )  # fmt: skip
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        return done

    return kernlint


def test_they_are_taken_away(tmp_path: Path, run) -> None:
    code = "import multiprocessing as m, os; print(m.get_all_start_methods(), hasattr(os, 'fork'))"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout == "['spawn'] False\n"


def test_the_core_is_imported_without_what_only_unix_has(tmp_path: Path, run) -> None:
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run([sys.executable, "-c", IMPORTS], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    *lacking, counted = (line.split() for line in done.stdout.splitlines())
    assert int(counted[1]) > 700
    assert [(module, name) for module, name in lacking if name not in EXTRAS] == []


def test_check_with_workers_that_are_not_forked(run, tmp_path: Path) -> None:
    work = tmp_path / "work"
    for name in ("a.py", "b.py", "größe.py"):
        (work / name).write_text(KERNEL, encoding="utf-8")
    (work / "broken.py").write_text("import triton\n@triton.jit\ndef f(:\n")
    (work / "deep.py").write_text("import triton; triton.jit\nx = " + "(" * 3000 + ")" * 3000)
    arguments = ("check", ".", "--isolated", "--select", "KL101,KL901,KL902", "--output-format", "json", "--jobs", "2")
    done = run(*arguments)
    found = [(item["file"], item["code"]) for item in json.loads(done.stdout)]
    assert found == [("a.py", CODE), ("b.py", CODE), ("broken.py", "KL901"), ("deep.py", "KL902"), ("größe.py", CODE)]
    assert done.returncode == 1
    assert run(*arguments).stdout == done.stdout  # from the cache


def test_text_on_a_terminal_of_another_encoding(run, tmp_path: Path) -> None:
    (tmp_path / "work" / "größe 核.py").write_text(KERNEL, encoding="utf-8")
    done = run("check", ".", "--isolated", "--select", "KL101", PYTHONIOENCODING="cp1252", PYTHONUTF8="0")
    assert "größe \\u6838.py".encode("cp1252") in done.stdout


def test_a_file_over_its_time(run, tmp_path: Path) -> None:
    (tmp_path / "work" / "k.py").write_text(KERNEL)
    done = run("check", ".", "--isolated", "--timeout", "0.001", "--output-format", "json", "--no-cache")
    (item,) = json.loads(done.stdout)
    assert item["code"] == "KL902" and "0.001 s and was given up" in item["message"]


def test_a_verdict_and_a_fix(run, tmp_path: Path) -> None:
    done = run(str(SEED))
    assert done.returncode == 0 and json.loads(done.stdout)["worth_optimizing"] == "yes", done.stderr
    (tmp_path / "work" / "k.py").write_text(KERNEL)
    done = run("check", "k.py", "--isolated", "--select", "KL101", "--diff", "--unsafe-fixes", "--no-cache")
    assert done.returncode == 1 and b"1 finding in 1 file could be fixed" in done.stderr
