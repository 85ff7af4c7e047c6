"""KL101 to KL103 where the operands are scaled on the way: the factors go behind the loop, or nothing is changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.rewriting import assert_same_results, fix, needs_interpreter, refusal

PROGRAM = """
@triton.jit
def product(a, b, c, sa, sb, one, K, scale, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
    rows, columns, single = tl.load(sa + m), tl.load(sb + n), 0.5
    number = tl.load(one)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :])
        y = tl.load(b + (start + k)[:, None] + n[None, :] * K)
        STEP
    tl.store(c + m[:, None] * BN + n[None, :], acc)

class ModelNew(torch.nn.Module):
    def forward(self, a, b, sa, sb, one):
        assert a.dtype == b.dtype == torch.int8
        c = torch.empty(32, 64, device=a.device)
        K = a.shape[1]
        product[(1,)](a, b, c, sa, sb, one, K, 0.25, BM=32, BN=64, BK=32)
        return c

def get_inputs():
    values = [torch.randint(-90, 90, shape, dtype=torch.int8) for shape in ((32, 128), (64, 128))]
    return [*values, torch.rand(32) + 0.5, torch.rand(64) + 0.5, torch.rand(1) + 0.5]
"""
STORE = "    tl.store(c"


def program(*lines: str) -> str:
    return PROGRAM.replace("STEP", "\n        ".join(lines))


@needs_interpreter
@pytest.mark.parametrize(
    ("lines", "behind"),
    [
        pytest.param(
            ["x = x.to(tl.float32) * rows[:, None]", "y = y.to(tl.float32) * columns[None, :]", "acc += tl.dot(x, y)"],
            "acc.to(tl.float32) * rows[:, None] * columns[None, :]", id="a factor for each row and column",
        ),
        pytest.param(["xf = x * scale", "yf = y * scale", "acc += tl.dot(xf, yf)"], "* scale * scale", id="an argument"),
        pytest.param(["acc += tl.dot(x * scale, y.to(tl.float32))"], "* scale", id="in the call"),
        pytest.param(["acc = tl.dot(x.to(tl.float32) * number, y * 1.0, acc)"], "* number * 1.0", id="a number that is loaded"),
        pytest.param(["acc = acc + tl.dot(x * scale * rows[:, None], y * scale)"], "* scale * scale", id="two factors"),
    ],
)  # fmt: skip
def test_factors_wait(lines: list[str], behind: str, tmp_path: Path) -> None:
    before = program(*lines)
    made = fix(before, "KL101")
    assert made.applied, [one.reason for one in made.refused]
    (applied,) = made.applied
    assert applied.effects.numerics == "reordered"
    (line,) = [line for line in made.after.splitlines() if line.startswith("    acc = acc.to(tl.float32) *")]
    assert behind in line
    assert "dtype=tl.int32" in made.after or "tl.int32)" in made.after
    loop = made.after[made.after.index("for start") : made.after.index(line)]
    assert "scale" not in loop and "rows" not in loop and "float32" not in loop
    assert_same_results(tmp_path, before, made.after, tolerance=2e-2)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        pytest.param(["xf = x * scale", "acc += tl.dot(xf, y * 1.0) + tl.sum(xf)"], "", id="read by more than the dot"),
        pytest.param(["acc += tl.dot(x / scale, y * scale)"], "which side", id="a divisor"),
        pytest.param(["acc += tl.dot((x * scale).to(tl.float16), (y * scale).to(tl.float16))"], "", id="narrowed behind it"),
        pytest.param(["acc += tl.dot(x * scale, y * scale)", "acc *= 0.5"], "no fp32 sum", id="a sum that decays"),
        pytest.param(["acc += tl.dot(x * scale, y * scale)", "acc += 1.0"], "no fp32 sum", id="a sum of more"),
        pytest.param(["scale = scale * 1.0", "acc += tl.dot(x * scale, y * 1.0)"], "", id="a factor that is set in the loop"),
        pytest.param(["acc += tl.dot(x * (scale + 1.0), y * 1.0)"], "no number, argument or vector", id="an expression"),
        pytest.param(["acc += tl.dot(x * scale, tl.trans(tl.trans(y) * columns[:, None]))"], "", id="transposed on the way"),
        pytest.param(["acc += tl.dot(input=x * scale, other=y * scale)"], "by keyword", id="by keyword"),
    ],
)  # fmt: skip
def test_left_alone(lines: list[str], reason: str) -> None:
    source = program(*lines)
    made = fix(source, "KL101")
    assert not made.applied and made.after == made.before
    if reason:
        assert reason in refusal(source, "KL101")


def test_what_is_said_of_the_factors_goes_too() -> None:
    made = fix(
        program("# dequantise", "xf = x * scale", "yf = y * scale", "# the product", "acc += tl.dot(xf, yf)"), "KL101"
    )
    assert made.applied and "dequantise" not in made.after and "# the product" in made.after
    assert made.applied[0].effects.applicability == "safe"
