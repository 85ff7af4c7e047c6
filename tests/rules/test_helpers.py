"""What a kernel does in its jit helpers, read as its own text; and sizes divided and rounded up, in one form."""

from __future__ import annotations

import libcst as cst
import pytest

from kernlint.rules.proofs.called_functions import names_read, written_out
from kernlint.syntax.tree import Module, parse_module
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


def parsed(line: str) -> tuple[Module, cst.FunctionDef]:
    module = parse_module(f"{HEAD}{HELPERS}\n@triton.jit\ndef kernel(p, a, b):\n    {line}\n", "k.py")
    (kernel,) = (f for f in module.of(cst.FunctionDef) if f.name.value == "kernel")
    return module, kernel


@pytest.mark.parametrize(
    ("line", "text"),
    [
        pytest.param("v = scaled(a + 1)", "v = ((a + 1) * 2.0)", id="default"),
        pytest.param("v = scaled(factor=b, x=a)", "v = (a * b)", id="keywords"),
        pytest.param("v = twice(a)", "v = ((a * 2.0) * 2.0)", id="helper of a helper"),
        pytest.param("v = scaled(a) + scaled(b)", "v = (a * 2.0) + (b * 2.0)", id="two calls"),
        pytest.param("stored(p, a)", "stored(p, a)", id="does more than return"),
        pytest.param("v = on_the_host(a)", "v = on_the_host(a)", id="no jit function"),
        pytest.param("v = scaled(*a)", "v = scaled(*a)", id="unpacked"),
        pytest.param("v = scaled()", "v = scaled()", id="an argument is missing"),
        pytest.param("v = p.scaled(a)", "v = p.scaled(a)", id="a method of that name"),
    ],
)
def test_written_out(line: str, text: str) -> None:
    module, kernel = parsed(line)
    assert cst.Module([]).code_for_node(written_out(kernel.body, module)).strip() == text


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
    assert "f(" in cst.Module([]).code_for_node(written_out(kernel.body, module))
    assert names_read(kernel, module) == {"v"}


def test_values_that_double_with_each_call_end() -> None:
    calls = "double(" * 40 + "a" + ")" * 40
    source = f"{HEAD}@triton.jit\ndef double(x):\n    return x + x\n\n@triton.jit\ndef kernel(a):\n    v = {calls}\n"
    module = parse_module(source, "k.py")
    (kernel,) = (f for f in module.of(cst.FunctionDef) if f.name.value == "kernel")
    assert "double(" in cst.Module([]).code_for_node(written_out(kernel.body, module))


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
