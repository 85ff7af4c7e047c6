"""What is above a remark has evidence that it can happen in this code: otherwise it is a remark, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlint.lint.check_file import Job, check_file
from kernlint.lint.settings import FileSettings
from tests.rules.test_against_reference import told
from tests.rules.test_unseen_packages import codes, severities
from tests.support.values import HEADER

ROW = """
    @triton.jit
    def double(x, y, n, BLOCK: tl.constexpr):
        o = tl.arange(0, BLOCK)
        m = o < n
        at = tl.program_id(0) * n + o
        tl.store(y + at, tl.load(x + at, mask=m, other=0.0) * 2, mask=m)

    def run(x, narrow):
        rows, n = x.shape
        y = torch.empty_like(x)
        {block}
        double[(rows,)](x, y, n, BLOCK=block)
        return y
"""


@pytest.mark.parametrize(
    "block",
    [
        "block = triton.next_power_of_2(n)\n        if block < 128:\n            block = 128",
        "block = triton.next_power_of_2(n)\n        block = 128 if block < 128 else block",
        "block = triton.next_power_of_2(n)\n        block = block if 128 <= block else 128",
        "block = 128\n        if narrow:\n            block = triton.next_power_of_2(n)",
    ],
)
def test_a_tile_that_is_one_of_two(block: str) -> None:
    assert severities("KL751", ROW.format(block=block)) == []


def test_a_tile_that_is_known() -> None:
    assert severities("KL751", ROW.format(block="block = 128")) == ["warning"]
    assert severities("KL751", ROW.format(block="block = 128\n        if x.is_cuda:\n            block = 256")) == [
        "warning"
    ]


CHOICE = """
    @triton.jit
    def act(x, y, n, ACT: tl.constexpr, BLOCK: tl.constexpr):
        o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + o, mask=o < n)
        if {test}:
            v = tl.abs(v)
        else:
            raise ValueError("no such function")
        tl.store(y + o, v, mask=o < n)

    def run(x, act_name="none"):
        y = torch.empty_like(x)
        act[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), ACT=act_name, BLOCK=1024)
        return y
"""


@pytest.mark.parametrize(
    ("test", "expected"), [('ACT == "abs"', []), ("tl.program_id(0) > 3", ["error"]), ("n > 3", ["error"])]
)
def test_what_a_kernel_refuses_by_itself(test: str, expected: list[str]) -> None:
    assert severities("KL704", CHOICE.format(test=test)) == expected


def test_code_that_only_an_unknown_condition_lets_in() -> None:
    source = CHOICE.format(test='ACT == "abs"').replace('="none"', "").replace("tl.abs(v)", "tl.abz(v)")
    assert severities("KL701", source) == ["info"]
    assert severities("KL701", source.replace("ACT=act_name", 'ACT="abs"')) == ["error"]


def test_a_fault_is_told_once_a_line() -> None:
    source = """
    @triton.jit
    def pairs(x, y):
        v = tl.load(x + tl.arange(0, 8))
        tl.store(y, v[0] + v[0])
        tl.store(y + 1, v[0])

    def run(x, y):
        pairs[(1,)](x, y)
    """
    assert codes({"KL709"}, source) == ["KL709", "KL709"]


SLOW = """
    @triton.jit
    def scale(x, y, M, N, BM: tl.constexpr, BN: tl.constexpr):
        r = tl.program_id(0) * BM + tl.arange(0, BM)
        c = tl.program_id(1) * BN + tl.arange(0, BN)
        at = c[None, :] * M + r[:, None]
        m = (r < M)[:, None] & (c < N)[None, :]
        tl.store(y + at, tl.load(x + at, mask=m) * 2.0, mask=m)

    def run(x):
        M, N = x.shape
        y = torch.zeros_like(x)
        scale[(triton.cdiv(M, 64), triton.cdiv(N, 64))](x, y, M, N, BM=64, BN=64)
        return y
"""
SIZES = """
    def get_inputs():
        return [torch.randn({}, {}, device="cuda")]

    class ModelNew(torch.nn.Module):
        def forward(self, x):
            return run(x)
"""


def test_what_is_slow_is_a_remark_where_sizes_are_open_or_gain_nothing() -> None:
    assert severities("KL302", SLOW) == ["info"]
    assert severities("KL302", SLOW + SIZES.format(8192, 8192)) == ["warning"]


RAGGED = """
import torch
import triton
import triton.language as tl

class Model(torch.nn.Module):
    def forward(self, x, lengths):
        return x * 2.0

@triton.jit
def double(x, lengths, y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    m = i < {end}
    tl.store(y + row * n + i, tl.load(x + row * n + i, mask=m) * 2.0, mask=m)

class ModelNew(torch.nn.Module):
    def forward(self, x, lengths):
        y = torch.empty_like(x)
        double[(x.shape[0],)](x, lengths, y, x.shape[1], BLOCK=256)
        return y

def get_inputs():
    return [torch.randn(64, 256), torch.ones(64, dtype=torch.int32)]
"""


def test_elements_behind_a_length_that_the_kernel_reads() -> None:
    assert told(RAGGED.format(end="tl.load(lengths + row)")) == []
    assert [f.code for f in told(RAGGED.format(end="n - 1"))] == ["KL766"]


@pytest.mark.parametrize(
    ("elsewhere", "expected"),
    [
        ("", ["info"]),
        ("from package.kernels import shift\n\ndef run(x):\n    shift[(1,)](x)\n", ["warning"]),
        ("import other\n\ndef shift(x):\n    pass\n", ["info"]),
    ],
)
def test_a_kernel_that_nothing_in_the_project_uses(tmp_path: Path, elsewhere: str, expected: list[str]) -> None:
    kernels = tmp_path / "package" / "kernels.py"
    kernels.parent.mkdir()
    kernels.write_text(HEADER + "@triton.jit\ndef shift(x):\n    tl.store(x, tl.shifted(x))\n")
    settings = FileSettings(frozenset({"KL701"}))
    alone = check_file(Job(str(kernels), kernels.read_bytes(), settings)).findings
    assert [f.severity for f in alone] == ["warning"]  # no project is in view
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "main.py").write_text(elsewhere)
    found = check_file(Job(str(kernels), kernels.read_bytes(), settings)).findings
    assert [f.severity for f in found] == expected


def test_a_decorator_that_is_a_partial_call() -> None:
    source = """
    import functools

    def counted(times, function):
        return function

    @functools.partial(counted, 3)
    def run(x):
        return x + 1

    @triton.jit
    def copy(x, y):
        tl.store(y, tl.load(x))

    def call(x, y):
        copy[(1,)](run(x), y)
    """
    assert codes({"KL795", "KL902"}, source) == []
