"""What a process was asked before is answered from memory, as long as all that it rests on stays."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kernlint import analysis, analyze, verdict_cache
from kernlint.errors import KernlintError
from kernlint.request import Request

ROOT = Path(__file__).parents[2]
PAIR = ROOT / "fixtures" / "pairs" / "softmax-ok"
KERNEL, REFERENCE = (PAIR / f"{name}.py" for name in ("before", "reference"))

HELPER = """
import triton
import triton.language as tl

@triton.jit
def twice(x):
    return x + x
"""

USER = """
import torch
import triton
import triton.language as tl
from helper import twice

@triton.jit
def kernel(x, y, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, twice(tl.load(x + i)))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[(4096,)](x, y, BLOCK=1024)
        return y

def get_inputs():
    return [torch.randn(4096 * 1024)]
"""


@pytest.fixture
def counted(monkeypatch):
    """How often a program was judged."""
    verdict_cache._VERDICTS.clear()
    judged = []

    def judge(*args, **kwargs):
        judged.append(args)
        return once(*args, **kwargs)

    once = analysis.judged
    monkeypatch.setattr(analysis, "judged", judge)
    yield judged
    verdict_cache._VERDICTS.clear()


def test_the_same_question_is_answered_once(counted):
    asked = {"reference": REFERENCE.read_text()}
    first = analyze(KERNEL.read_text(), **asked)
    assert analyze(KERNEL.read_text(), **asked) == first
    assert len(counted) == 1


@pytest.mark.parametrize(
    "other",
    [{"device": "a100"}, {"scope": "call"}, {"path": "other.py"}, {"overrides": {"M": 64}}, {"assumptions": ("M=4",)}],
    ids=lambda options: next(iter(options)),
)
def test_another_question_is_asked_anew(counted, other):
    text = USER + "\nM = 4\n"
    first = analyze(text)
    with contextlib.suppress(KernlintError):
        analyze(text, **other)
    assert analyze(text) is first
    questions = {verdict_cache.question(Request(text, **one)) for one in ({}, other)}
    assert len(questions) == 2


def test_a_helper_that_changes_is_read_again(counted, tmp_path):
    (tmp_path / "kernel.py").write_text(USER)
    helper = tmp_path / "helper.py"

    def ask():
        return analyze(USER, path=str(tmp_path / "kernel.py"))

    unknown = ask()
    helper.write_text(HELPER)
    known = ask()
    assert known != unknown
    assert ask() is known
    assert len(counted) == 2
    helper.write_text(HELPER.replace("x + x", "tl.exp(x) + tl.exp(-x)"))
    ask()
    assert len(counted) == 3
    helper.unlink()
    assert ask() == unknown


def test_a_text_that_cannot_be_read_is_an_error_each_time(counted):
    for _ in range(2):
        with pytest.raises(KernlintError):
            analyze("def f(:\n")


def test_what_is_kept_is_bounded(monkeypatch, counted):
    monkeypatch.setattr(verdict_cache, "_MOST", 3)
    for number in range(5):
        analyze(USER + f"# {number}\n")
    assert len(verdict_cache._VERDICTS) == 3
    assert len(counted) == 5


def test_nothing_of_torch_is_imported():

    code = "import sys; from kernlint import analyze; analyze(open(sys.argv[1]).read()); print('torch' in sys.modules)"

    run = subprocess.run([sys.executable, "-c", code, str(KERNEL)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="only Linux tells the memory of a process")
def test_memory_stays_flat():
    def pages():
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1])

    def ask(first, last):
        for number in range(first, last):
            analyze(USER + f"# {number}\n", reference=REFERENCE.read_text())

    ask(0, 20)
    before = pages()
    ask(20, 60)
    # A program that stays is more than a megabyte.
    assert (pages() - before) * os.sysconf("SC_PAGE_SIZE") < 12_000_000
