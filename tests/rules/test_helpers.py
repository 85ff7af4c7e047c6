"""The names that a kernel reads, in its jit helpers too; and sizes divided and rounded up, in one form."""

from __future__ import annotations

import libcst as cst
import pytest

from kernlint.rules.proofs.called_functions import names_read
from kernlint.syntax.tree import parse_module
from kernlint.workload import Expr, Symbol
from kernlint.workload.expr import ceildiv, floordiv

HEAD = "import triton\nimport triton.language as tl\n"
HELPERS = """
@triton.jit
def scaled(x, factor=2.0):
    "Doc strings say nothing."
    return x * factor

@triton.jit
def twice(x):
    return scaled(scaled(x))

@triton.jit
def stored(p, x):
    y = x + 1
    tl.store(p, y)

def on_the_host(x):
    return x * 3
"""


@pytest.mark.parametrize(
    ("line", "names"),
    [
        pytest.param("stored(p, a)", {"p", "a"}, id="both are read"),
        pytest.param("ignored(a, b)", {"a"}, id="one is not"),
        pytest.param("ignored(*a)", {"ignored", "a"}, id="unpacked: any may be"),
        pytest.param("tl.store(p, b)", {"tl", "store", "p", "b"}, id="no helper"),
    ],
)
def test_names_that_a_helper_reads(line: str, names: set[str]) -> None:
    module = parse_module(
        f"{HEAD}{HELPERS}\n@triton.jit\ndef ignored(x, unused):\n    tl.store(x, 0.0)\n\n"
        f"@triton.jit\ndef kernel(p, a, b):\n    {line}\n",
        "k.py",
    )
    (kernel,) = (f for f in module.of(cst.FunctionDef) if f.name.value == "kernel")
    assert names_read(kernel, module) == names


def test_a_helper_that_calls_itself_ends() -> None:
    source = f"{HEAD}@triton.jit\ndef f(x):\n    return f(x + 1)\n\n@triton.jit\ndef kernel(a):\n    v = f(a)\n"
    module = parse_module(source, "k.py")
    (kernel,) = (f for f in module.of(cst.FunctionDef) if f.name.value == "kernel")
    assert names_read(kernel, module) == {"v"}


N, B = Expr.atom(Symbol("n")), Expr.atom(Symbol("b"))


@pytest.mark.parametrize("block", [2, 128, B], ids=str)
def test_rounding_up_by_hand(block: int | Expr) -> None:
    assert floordiv(N + block - 1, block) == ceildiv(N, block)


@pytest.mark.parametrize("block", [2, 3, 128])
@pytest.mark.parametrize("more", range(-3, 4))
def test_the_form_of_a_quotient_keeps_its_value(block: int, more: int) -> None:
    divided = floordiv(N + more, block)
    for n in range(1, 300, 7):
        assert divided.evaluate({Symbol("n"): n}) == (n + more) // block
