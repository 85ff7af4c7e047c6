"""Kernels that no followed call launches: each is read once, on open arguments."""

from __future__ import annotations

import textwrap

import pytest

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


@pytest.mark.parametrize(
    ("call", "types"),
    [
        ("tl.dot(a.to(tl.float16), b)", ["float16", "float16"]),
        ("tl.dot(a, (b * 2.0).to(tl.bfloat16))", ["bfloat16", "bfloat16"]),
        ("tl.dot(a + 1, b.to(tl.float32))", ["float32", "float32"]),
        ("tl.dot(a, b)", [None, None]),
        ("tl.dot(a.to(b.dtype), b)", [None, None]),
        ("tl.dot(a.to(tl.float8e4nv), b)", ["float8_e4m3fn", None]),  # kinds of 8 bits go together
        ("tl.dot(a.to(tl.int8), b)", ["int8", None]),
        ("tl.dot_scaled(a, None, 'e2m1', b.to(tl.bfloat16), None, 'bf16')", [None, "bfloat16"]),
    ],
)
def test_an_operand_has_the_type_of_the_other(call: str, types: list[str | None]) -> None:
    (workload,) = bare(f"""
        import triton
        import triton.language as tl

        @triton.jit
        def product(x, y, z):
            i = tl.arange(0, 32)
            places = i[:, None] * 32 + i[None, :]
            a, b = tl.load(x + places), tl.load(y + places)
            tl.store(z + places, {call})
        """)
    (dot,) = workload.launches()[0].kernel.dots()
    assert [one.dtype.name if one.known else None for one in (dot.a, dot.b)] == types


def test_a_launched_kernel_is_not_bare() -> None:
    launcher = """
def launch(x, y, n):
    double[(n,)](x, y, n)
"""
    assert bare(KERNELS + launcher) == []
