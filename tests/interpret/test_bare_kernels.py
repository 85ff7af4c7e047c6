"""Kernels that no followed call launches: each is read once, on open arguments."""

from __future__ import annotations

import textwrap

from kernlint.interpret.program import Program
from kernlint.syntax.tree import parse_module
from kernlint.workload import Workload

KERNELS = """
import triton
import triton.language as tl

@triton.jit
def helper(x):
    return x * 2.0

@triton.jit
def double(x, y, n, BLOCK: tl.constexpr = 256):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, helper(tl.load(x + i, mask=i < n)), mask=i < n)
"""


def bare(source: str) -> list[Workload]:
    return Program(parse_module(textwrap.dedent(source), "example.py")).bare_kernels()


def test_a_kernel_without_a_launcher_is_read_and_its_helper_is_not_one() -> None:
    (workload,) = bare(KERNELS)
    assert workload.bare and workload.entry == "double"
    (launch,) = workload.launches()
    assert launch.kernel.complete
    assert [node.base for node in launch.kernel.loads()] == ["x"]
    assert launch.programs is None


def test_defaults_and_the_first_configuration_set_the_tile() -> None:
    (launch,) = bare(KERNELS)[0].launches()
    assert launch.constexprs["BLOCK"] == 256
    tuned = KERNELS.replace(
        "@triton.jit\ndef double", "@triton.autotune([triton.Config({'BLOCK': 512})], ['n'])\n@triton.jit\ndef double"
    )
    (launch,) = bare(tuned)[0].launches()
    assert launch.constexprs["BLOCK"] == 512


def test_an_open_constexpr_is_told() -> None:
    (launch,) = bare(KERNELS.replace(" = 256", ""))[0].launches()
    assert launch.kernel.assumed == ("BLOCK = 64",)


def test_a_launched_kernel_is_not_bare() -> None:
    launcher = """
def launch(x, y, n):
    double[(n,)](x, y, n)
"""
    assert bare(KERNELS + launcher) == []
