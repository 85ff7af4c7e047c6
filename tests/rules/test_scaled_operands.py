"""KL101 to KL103 where the operands are multiplied on the way: by what the product can be multiplied by as well, or not."""

from __future__ import annotations

import pytest
from support.findings import run_rule

from kernlint.workload import Compute

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
        pytest.param("tl.dot(x * (x * scale), y * scale)", id="a square"),
        pytest.param("tl.dot(tl.exp(x * scale), y * scale)", id="a function"),
        pytest.param("tl.dot(x * tl.sum(acc), y * scale)", id="a factor out of the accumulator"),
    ],
)
def test_a_factor_that_cannot_wait(new: str) -> None:
    assert not run_rule("KL101", PROGRAM.replace(DOT, new))


@pytest.mark.parametrize(
    "new",
    [
        pytest.param("tl.dot(x.to(tl.float16) - rows[:, None], y.to(tl.float16))", id="one for each row"),
        pytest.param("tl.dot(x.to(tl.float32), y.to(tl.float32) + rows[None, :])", id="one for each column"),
        pytest.param("tl.dot((x.to(tl.int32) - n[:, None]).to(tl.float16), y.to(tl.float16))", id="of integers"),
        pytest.param("tl.dot((x - n[:, None]).to(tl.float16), y.to(tl.float16))", id="that widens them"),
        pytest.param("tl.dot(x * scale + 1.0, y * scale)", id="behind a factor"),
        pytest.param("tl.dot((x.to(tl.float32) - 3) * rows[:, None], y - 5.0 * scale)", id="of both"),
    ],
)
def test_an_offset_is_made_good_by_sums(new: str) -> None:
    (finding,) = run_rule("KL101", PROGRAM.replace(DOT, new)).findings
    assert finding.change is not None and "z sum_k b" in finding.change.plan


@pytest.mark.parametrize(
    ("new", "dtype"),
    [
        pytest.param("tl.dot(x.to(tl.float16) - depth[None, :], y.to(tl.float16))", "int8", id="along K"),
        pytest.param("tl.dot(x.to(tl.float16) - now, y.to(tl.float16))", "int8", id="of this step"),
        pytest.param("tl.dot(rows[:, None] - x.to(tl.float16), y.to(tl.float16))", "int8", id="less the tile"),
        pytest.param("tl.dot((x - rows[:, None].to(tl.int8)).to(tl.float16), y.to(tl.float16))", "int8", id="wraps"),
        pytest.param("tl.dot(x.to(tl.float32) - rows[:, None], y.to(tl.float32))", "float16", id="sums of floats"),
    ],
)
def test_an_offset_that_no_sums_make_good(new: str, dtype: str) -> None:
    program = PROGRAM.replace(DOT, new).replace("torch.int8", f"torch.{dtype}")
    assert not run_rule("KL101", program) and not run_rule("KL103", program)


def test_sums_of_the_other_operand_are_part_of_the_price() -> None:
    counts = []
    for moved in (" - rows[:, None]", " * rows[:, None]"):
        found = run_rule("KL101", PROGRAM.replace(DOT, f"tl.dot(x.to(tl.float16){moved}, y.to(tl.float16))"))
        (finding,), (context,) = found.findings, found.contexts
        assert finding.change is not None and finding.change.variant is not None
        (launch,) = context.after(finding.change.variant).launches()
        work = [one for one in launch.kernel.nodes(Compute) if isinstance(one, Compute) and one.kind == "arith"]
        counts.append(sum(one.elements for one in work if one.dtype.name == "int32"))
    assert counts[0] == counts[1] + 64 * 64


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
