"""KL104: fp32 products whose ieee precision the source itself asks for; deliberate choices stay silent."""

from __future__ import annotations

import pytest
from support.findings import run_rule

PROGRAM = """
@triton.jit
def product(a, b, c, K, P: tl.constexpr = "ieee", BM: tl.constexpr = 64, BK: tl.constexpr = 32):
    m, n, k = tl.arange(0, BM), tl.arange(0, BM), tl.arange(0, BK)
    acc = tl.zeros((BM, BM), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] + n[None, :] * K)
        acc = tl.dot(x, y, acc, input_precision="ieee")
    tl.store(c + m[:, None] * BM + n[None, :], acc)

def launch(a, b):
    assert a.dtype == torch.float32 and b.dtype == torch.float32
    c = torch.empty(64, 64, device=a.device)
    product[(1,)](a, b, c, 4096)
    return c
"""
DOT = 'tl.dot(x, y, acc, input_precision="ieee")'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(DOT, DOT, id="literal"),
        pytest.param(DOT, "tl.dot(x, y, acc, allow_tf32=False)", id="the older spelling"),
        pytest.param(DOT, "tl.dot(x, y, acc, input_precision=P)", id="default of the signature"),
        pytest.param(DOT, 'tl.dot(x, y, acc, "ieee")', id="by position"),
        pytest.param(DOT, f"{DOT}  # exact on purpose", id="a comment changes nothing"),
        pytest.param("x = tl.load", "left = x = tl.load", id="a second name"),
    ],
)
def test_found(old: str, new: str) -> None:
    assert run_rule("KL104", PROGRAM.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(DOT, 'tl.dot(x, y, acc, input_precision="tf32x3")', id="three tensor-core dots"),
        pytest.param(DOT, "tl.dot(x, y, acc)", id="default precision"),
        pytest.param("assert a.dtype == torch.float32 and b.dtype == torch.float32", "pass", id="types not known"),
        pytest.param("a.dtype == torch.float32", "a.dtype == torch.float16", id="one narrow operand"),
        pytest.param("y = tl.load(b", "y = 2.0 * tl.load(b", id="an operand that the kernel computes"),
        pytest.param("x = tl.load", "x = tl.sum(acc) + tl.load", id="an operand out of a recurrence"),
    ],
)
def test_silent(old: str, new: str) -> None:
    assert not run_rule("KL104", PROGRAM.replace(old, new))


@pytest.mark.parametrize(
    ("constant", "found"),
    [
        pytest.param("EXACT = tl.constexpr(False)", True, id="a constexpr of a literal"),
        pytest.param("EXACT: tl.constexpr = False", True, id="annotated"),
        pytest.param('EXACT = os.environ.get("EXACT") != "1"', False, id="somebody's decision"),
        pytest.param("EXACT = tl.constexpr(torch.get_default_dtype() is None)", False, id="computed"),
        pytest.param("EXACT = tl.constexpr(False)\nEXACT = tl.constexpr(tuned())", False, id="bound twice"),
        pytest.param("EXACT = tl.constexpr(True)", False, id="allowed"),
    ],
)
def test_a_constant_of_the_module_is_written_down(constant: str, found: bool) -> None:
    program = f"{constant}\n{PROGRAM}".replace(DOT, "tl.dot(x, y, acc, allow_tf32=EXACT)")
    assert bool(run_rule("KL104", program)) == found


def test_a_precision_that_the_caller_chooses_is_theirs() -> None:
    chosen = PROGRAM.replace(DOT, "tl.dot(x, y, acc, input_precision=P)")
    chosen = chosen.replace("def launch(a, b)", 'def launch(a, b, precision="ieee")').replace(
        "4096)", "4096, P=precision)"
    )
    assert not run_rule("KL104", chosen)
    assert run_rule("KL104", chosen.replace("P=precision", 'P="ieee"'))


@pytest.mark.parametrize(("precision", "unit"), [("ieee", "outside the tensor cores"), ("tf32", "tf32 rate")])
def test_what_widened_int8_runs_on(precision: str, unit: str) -> None:
    """Nobody is told of tensor cores that ``ieee`` does not use."""
    program = PROGRAM.replace("float32 and", "int8 and").replace("b.dtype == torch.float32", "b.dtype == torch.int8")
    dot = f'tl.dot(x.to(tl.float32), y.to(tl.float32), acc, input_precision="{precision}")'
    change = run_rule("KL101", program.replace(DOT, dot)).only().change
    assert change is not None and unit in change.bottleneck
