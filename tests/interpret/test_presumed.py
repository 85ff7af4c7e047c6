"""Constexprs that nothing tells: what the kernel asks about them says what they are, and a number that it needs does not."""

from __future__ import annotations

import textwrap

import pytest

from kernlint.interpret.program import Program
from kernlint.syntax.tree import parse_module

KERNEL = """
import triton
import triton.language as tl

_NONE: tl.constexpr = tl.constexpr(-1)
_SUM: tl.constexpr = tl.constexpr(2)
LIMIT = 5

@triton.jit
def helper(x, WAY: tl.constexpr):
    return x * WAY

@triton.jit
def kernel(x, y, n, WAY: tl.constexpr):
    i = tl.arange(0, 64)
    v = tl.load(x + i)
{body}
    tl.store(y + i, v)
"""


def assumed(body: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    source = KERNEL.format(body=textwrap.indent(textwrap.dedent(body).strip(), "    "))
    workloads = Program(parse_module(source, "kernel.py")).bare_kernels()
    (kernel,) = (launch.kernel for one in workloads for launch in one.launches() if launch.kernel.name == "kernel")
    return kernel.assumed, kernel.arbitrary


@pytest.mark.parametrize(
    ("body", "value"),
    [
        ("if WAY == _SUM:\n    v += 1", "2"),
        ("if _NONE == WAY:\n    v += 1", "-1"),
        ("if WAY != _NONE:\n    v += 1\nif WAY == _SUM:\n    v += 2", "2"),
        ("if WAY == 'mean':\n    v += 1\nelif WAY == 'sum':\n    v += 2", "mean"),
        ("if WAY in ('gelu', 'silu'):\n    v += 1", "gelu"),
        ("if WAY == -3:\n    v += 1", "-3"),
        ("if WAY:\n    v += 1", "True"),
        ("if not WAY and n > 3:\n    v += 1", "True"),
        ("v = v + 1 if WAY else v", "True"),
        ("pass", "True"),
        ("if n == WAY:\n    return", "-1"),
    ],
)
def test_what_a_kernel_only_asks_about_has_a_value_that_it_asks_for(body: str, value: str) -> None:
    assert assumed(body) == ((f"WAY = {value}",), ())


@pytest.mark.parametrize(
    "body",
    [
        "v += tl.arange(0, WAY)",
        "if WAY == _SUM:\n    v += 1\nv = tl.load(x + i * WAY)",
        "i += WAY * n",
        "if WAY > 100:\n    v = tl.exp(v)",
        "v = helper(v, WAY)",
        "v = helper(v, WAY=WAY)",
        "for i in range(WAY):\n    v += 1",
        "v = v.to(WAY)",
    ],
)
def test_a_number_that_a_kernel_needs_is_arbitrary(body: str) -> None:
    assert assumed(body) == (("WAY = 64",), ("WAY",))


@pytest.mark.parametrize(
    "body", ["v = tl.rsqrt(v + WAY)", "v *= WAY", "if WAY > 0:\n    v += 1", "if WAY == n:\n    v += WAY"]
)
def test_a_number_that_changes_no_work_is_not(body: str) -> None:
    assert assumed(body) == (("WAY = 64",), ())
