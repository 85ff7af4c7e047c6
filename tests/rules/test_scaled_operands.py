"""KL101 to KL103 where the operands are multiplied on the way: by what the product can be multiplied by as well, or not."""

from __future__ import annotations

import pytest
from support.findings import run_rule

PROGRAM = """
SCALE = 0.5

@triton.jit
def half(v):
    return v * 0.5

@triton.jit
def product(a, b, c, s, K, scale, BM: tl.constexpr = 64, BK: tl.constexpr = 64):
    m, n, k = tl.arange(0, BM), tl.arange(0, BM), tl.arange(0, BK)
    rows = tl.load(s + m)
    depth = tl.load(s + k)
    acc = tl.zeros((BM, BM), tl.float32)
    for start in range(0, K, BK):
        now = tl.load(s + start)
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] + n[None, :] * K)
        acc += tl.dot(x * scale, y * scale)
    tl.store(c + m[:, None] * BM + n[None, :], acc)

def launch(a, b, s):
    assert a.dtype == torch.int8 and b.dtype == torch.int8 and s.dtype == torch.float32
    c = torch.empty(64, 64, device=a.device)
    product[(1,)](a, b, c, s, 4096, 0.25)
    return c
"""
DOT = "tl.dot(x * scale, y * scale)"


@pytest.mark.parametrize(
    "new",
    [
        pytest.param(DOT, id="a run-time scalar"),
        pytest.param("tl.dot(1.0 * x, y * 1.0)", id="a literal of one"),
        pytest.param("tl.dot(x * scale, y.to(tl.float32))", id="one scaled, one cast"),
        pytest.param("tl.dot((x * scale).to(tl.float16), (y * scale).to(tl.float16))", id="cast after it"),
        pytest.param(
            "tl.dot(x.to(tl.float32) * rows[:, None], y * rows[None, :])", id="a factor for each row and column"
        ),
        pytest.param("tl.dot(x / scale, y * scale * scale)", id="a divisor, and two factors"),
        pytest.param("tl.dot(half(x), half(y))", id="in a helper"),
        pytest.param("tl.dot(x * scale, tl.trans(tl.trans(y) * rows[:, None]))", id="transposed on the way"),
    ],
)
def test_a_factor_can_wait(new: str) -> None:
    assert run_rule("KL101", PROGRAM.replace(DOT, new))


@pytest.mark.parametrize(
    "new",
    [
        pytest.param("tl.dot(x * depth[None, :], y * scale)", id="a factor along the contracted axis"),
        pytest.param("tl.dot(x * scale, y * depth[:, None])", id="the same of the other operand"),
        pytest.param("tl.dot(x * now, y * scale)", id="a factor of this step"),
        pytest.param("tl.dot(x * (scale * start), y * scale)", id="a factor that counts the steps"),
        pytest.param("tl.dot(scale / (x + 1.0), y * scale)", id="a dividend"),
        pytest.param("tl.dot(x * scale + 1.0, y * scale)", id="an offset"),
        pytest.param("tl.dot(x * (x * scale), y * scale)", id="a square"),
        pytest.param("tl.dot(tl.exp(x * scale), y * scale)", id="a function"),
        pytest.param("tl.dot(x * tl.sum(acc), y * scale)", id="a factor out of the accumulator"),
    ],
)
def test_a_factor_that_cannot_wait(new: str) -> None:
    assert not run_rule("KL101", PROGRAM.replace(DOT, new))


@pytest.mark.parametrize(
    ("new", "found"),
    [
        pytest.param(DOT, True, id="a run-time scalar is fp32"),
        pytest.param("tl.dot(x * rows[:, None], y * rows[None, :])", True, id="so is what is loaded"),
        pytest.param("tl.dot(x * 0.5, y * 0.5)", False, id="a literal keeps the type of the tile"),
        pytest.param("tl.dot((x * scale).to(tl.float16), (y * scale).to(tl.float16))", False, id="narrowed again"),
    ],
)
def test_half_operands(new: str, found: bool) -> None:
    program = PROGRAM.replace("torch.int8", "torch.float16").replace(DOT, new)
    assert bool(run_rule("KL103", program)) == found


def test_the_plan_moves_the_factors_behind_the_loop() -> None:
    (finding,) = run_rule("KL101", PROGRAM).findings
    assert finding.change is not None and "which no step of the loop changes" in finding.change.plan
