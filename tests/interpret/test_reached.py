"""What of a clone something gets to, and what is left in it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from kernlint.interpret.reached import is_abandoned
from kernlint.lint.check_file import Job, check_file
from kernlint.lint.settings import FileSettings
from kernlint.syntax.tree import parse_module
from tests.support.values import HEADER

SOURCE = """
@triton.jit
def doubled(x):
    tl.store(x, tl.load(x) * 2)

def old(x):
    doubled[(1,)](x)

def older(x):
    old(x)

def new(x):
    return x * 2
"""
USED = "from .ops import new\nnew(1)\n"


def clone(folder: Path, others: dict[str, str]) -> str:
    """The path of a module of a clone in ``folder``, with ``others`` beside it."""
    (folder / ".git").mkdir(exist_ok=True)
    (folder / "p").mkdir(exist_ok=True)
    for name, text in {"ops.py": HEADER + SOURCE, **others}.items():
        (folder / "p" / name).write_text(textwrap.dedent(text))
    return str(folder / "p" / "ops.py")


@pytest.mark.parametrize(
    ("others", "abandoned"),
    [
        pytest.param({"run.py": USED}, True, id="its file is used otherwise"),
        pytest.param({"__init__.py": ""}, True, id="one of a package that nothing imports"),
        pytest.param({}, False, id="a file that nothing imports may be there to be taken as it is"),
        pytest.param({"b.py": "import triton\n", "run.py": "from b import f\n"}, True, id="others are imported from its folder"),
        pytest.param({"b.py": "", "run.py": "from b import f\n"}, False, id="but none with kernels"),
        pytest.param({"b.py": "import triton\n", "run.py": "from b import f\n", "a.sh": "python ops.py"}, False, id="named"),
        pytest.param({"run.py": USED + "from .ops import old\nold(1)\n"}, False, id="a script calls it"),
        pytest.param({"run.py": USED + "import ops\ndef main(x):\n    ops.older(x)\nmain(1)\n"}, False, id="through others"),
        pytest.param({"run.py": USED + "def f(x):\n    old(x)\n"}, True, id="one that calls it is left too"),
        pytest.param({"run.py": USED + "from .ops import old\n"}, True, id="it is only imported"),
        pytest.param({"run.py": USED, "__init__.py": "from .ops import old\n"}, False, id="its package exports it"),
        pytest.param({"run.py": USED, "__init__.py": "from .ops import *\n"}, False, id="its package exports all"),
        pytest.param({"run.py": USED, "__init__.py": "from .run import *\n"}, True, id="its package exports others"),
        pytest.param({"ops.py": HEADER + SOURCE + "__all__ = ['old']\n", "run.py": USED}, False, id="it is listed"),
        pytest.param({"run.py": USED, "README.md": "Call `old`.\n"}, False, id="a page tells of it"),
        pytest.param({"run.py": USED, "test_ops.py": "def test_it():\n    old(1)\n"}, False, id="a test calls it"),
        pytest.param({"run.py": USED, "c.py": "@app.route('/')\ndef f():\n    old(1)\n"}, False, id="a register"),
        pytest.param({"run.py": USED + "table = {'a': old}\n"}, False, id="a table holds it"),
        pytest.param({"run.py": USED + "def f():\n    getattr(m, 'old')(1)\nf()\n"}, False, id="asked for by name"),
        pytest.param({"run.py": USED + "def old(x): ...\nold(1)\n"}, True, id="another of that name"),
        pytest.param(
            {"run.py": USED + "from other import old\nold(1)\n", "other.py": "def old(x): ...\n"}, True, id="from elsewhere"
        ),
        pytest.param({"run.py": USED + "old(1)\nprint 1\n"}, False, id="a file of another Python"),
        pytest.param({"run.py": USED + "try:\n    import x\nexcept ImportError:\n    old(1)\n"}, False, id="under try"),
    ],
)  # fmt: skip
def test_what_nothing_gets_to(tmp_path: Path, others: dict[str, str], abandoned: bool) -> None:
    path = clone(tmp_path, others)
    module = parse_module(Path(path).read_text(), path)
    assert is_abandoned(module, "old") is abandoned
    assert is_abandoned(module, "doubled") is abandoned
    if "from .ops" in others.get("run.py", ""):
        assert not is_abandoned(module, "new")


def test_a_copy_without_a_repository_says_nothing(tmp_path: Path) -> None:
    path = clone(tmp_path, {"run.py": USED})
    (tmp_path / ".git").rmdir()
    assert not is_abandoned(parse_module(Path(path).read_text(), path), "old")


@pytest.mark.parametrize(("used", "level"), [(USED, "info"), (USED + "from .ops import old\nold(2)\n", "error")])
def test_a_fault_that_nothing_gets_to_is_a_remark(tmp_path: Path, used: str, level: str) -> None:
    path = clone(tmp_path, {"ops.py": HEADER + SOURCE.replace("tl.load(x) * 2", "missing"), "run.py": used})
    found = check_file(Job(path, Path(path).read_bytes(), FileSettings(frozenset({"KL702"})))).findings
    assert [one.severity for one in found] == [level]
    assert ("nothing in the project gets to `doubled`" in found[0].evidence) is (level == "info")
