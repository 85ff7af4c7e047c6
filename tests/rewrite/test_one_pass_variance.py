"""Mean and variance in one pass."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from support.rewriting import assert_same_results, fixed, needs_interpreter, refusal

from kernlint.rules.registry import find_rule

PROGRAM = """
ROWS, N = {sizes}

@triton.jit
def moments(src, mean_ptr, var_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    src += row * n
    lanes = tl.arange(0, BLOCK)
{body}
    tl.store(mean_ptr + row, mean)
    tl.store(var_ptr + row, variance)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        mean = torch.empty(ROWS)
        variance = torch.empty(ROWS)
        moments[(ROWS,)](x, mean, variance, N, BLOCK=256)
        return mean, variance


def get_inputs():
    return [torch.randn(ROWS, N{dtype}) + 3.0]
"""
LARGE = "512, 131072"
SMALL = ["2, 1000", "1, 1", "3, 512"]
HALF = ", dtype=torch.float16"


def program(body: str, dtype: str = "") -> str:
    text = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    result = PROGRAM
    for name, value in {"sizes": LARGE, "body": text, "dtype": dtype}.items():
        result = result.replace("{" + name + "}", value)
    return result


VECTOR = """
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for begin in range(0, n, BLOCK):
        at = begin + lanes
        total = total + tl.load(src + at, mask=at < n, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n
    # spread around it
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for other in range(0, n, BLOCK):
        where = other + lanes
        v = tl.load(src + where, mask=where < n, other=0.0).to(tl.float32)
        squares += tl.where(where < n, (v - mean) * (v - mean), 0.0)
    variance = tl.sum(squares, axis=0) / n
    """
SCALAR = """
    total = 0.0
    for begin in range(0, n, BLOCK):
        ok = begin + lanes < n
        v = tl.load(src + begin + lanes, mask=ok, other=0.0)
        total += tl.sum(v, axis=0)
    mean = total / n
    squares = 0.0
    for begin in range(0, n, BLOCK):
        ok = begin + lanes < n
        v = tl.load(src + begin + lanes, mask=ok, other=0.0)
        d = tl.where(ok, v - mean, 0.0)
        squares += tl.sum(d * d, axis=0)
    variance = squares / n
    """
UNMASKED = """
    total = tl.zeros([BLOCK], dtype=tl.float32)
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for begin in range(0, n, BLOCK):
        total += tl.load(src + begin + lanes)
    mean = tl.sum(total, axis=0) / n
    for begin in range(0, n, BLOCK):
        d = tl.load(src + begin + lanes) - mean
        squares += d * d
    variance = tl.sum(squares, axis=0) / n
    """
CASES = [
    pytest.param(VECTOR, "", SMALL, id="a tile of sums"),
    pytest.param(VECTOR, HALF, SMALL, id="half precision"),
    pytest.param(SCALAR, "", SMALL, id="a scalar per iteration"),
    pytest.param(UNMASKED, "", ["2, 1024", "1, 256"], id="without masks"),
]


@pytest.mark.parametrize(("body", "dtype", "sizes"), CASES)
def test_one_loop_is_left(body: str, dtype: str, sizes: list[str]) -> None:
    after = fixed(program(body, dtype), "KL504")
    assert after.count("for ") == 1 and after.count("tl.load(") == 1


@needs_interpreter
@pytest.mark.slow
@pytest.mark.parametrize(("body", "dtype", "sizes"), CASES)
def test_same_results(tmp_path: Path, body: str, dtype: str, sizes: list[str]) -> None:
    source = program(body, dtype)
    after = fixed(source, "KL504")
    for size in sizes:
        assert_same_results(tmp_path, source.replace(LARGE, size), after.replace(LARGE, size), 1e-5)


def test_text() -> None:
    after = fixed(find_rule("KL504").bad, "KL504", header=False)
    assert (
        """
    for start in range(0, N, BLOCK):
        value = tl.load(x + row * N + start + cols, mask=start + cols < N, other=0.0)
        steps += 1.0
        delta = value - lane_mean
        new_mean = lane_mean + delta * (1.0 / steps)
        m2 = tl.where(start + cols < N, m2 + delta * (value - new_mean), m2)
        lane_mean = tl.where(start + cols < N, new_mean, lane_mean)
        count += (start + cols < N).to(tl.float32)
    mean = tl.sum(lane_mean * count, axis=0) / N
    deviation = lane_mean - mean
    squares = m2 + count * deviation * deviation
    tl.store(out + row, tl.sum(squares, axis=0) / N)
"""
        in after
    )


def test_masked_lanes_that_count_are_left_alone() -> None:
    body = SCALAR.replace("tl.where(ok, v - mean, 0.0)", "v - mean")
    assert "leaves out" in refusal(program(body), "KL504")
