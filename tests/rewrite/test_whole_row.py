"""Rows swept by several loops, held in one tile instead."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from support.rewriting import assert_same_results, fixed, needs_interpreter, refusal

from kernlint.rules.registry import find_rule

PROGRAM = """
ROWS, N = {sizes}

@triton.jit
def sweep(src, gain, dst, width, eps, TILE: tl.constexpr):
    row = tl.program_id(0)
    src += row * width
    dst += row * width
    lanes = tl.arange(0, TILE)
{body}


class ModelNew(torch.nn.Module):
    def forward(self, x, gain):
        y = torch.empty_like(x)
        columns = x.shape[1]
        sweep[(ROWS,)](x, gain, y, columns, 1e-5, TILE=256, num_warps=4)
        return y


def get_inputs():
    return [torch.randn(ROWS, N{dtype}), torch.randn(N)]
"""
LARGE = "8192, 8192"
SMALL = ["2, 1000", "1, 1", "3, 512"]


def program(body: str, dtype: str = "") -> str:
    text = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    result = PROGRAM
    for name, value in {"sizes": LARGE, "body": text, "dtype": dtype}.items():
        result = result.replace("{" + name + "}", value)
    return result


NORM = """
    # mean
    total = tl.zeros([TILE], dtype=tl.float32)
    for begin in range(0, width, TILE):
        at = begin + lanes
        v = tl.load(src + at, mask=at < width, other=0.0)
        total += v
    mean = tl.sum(total, axis=0) / width
    # variance
    squares = tl.zeros([TILE], dtype=tl.float32)
    for begin in range(0, width, TILE):
        at = begin + lanes
        v = tl.load(src + at, mask=at < width, other=0.0)
        d = tl.where(at < width, v - mean, 0.0)
        squares += d * d
    scale = tl.rsqrt(tl.sum(squares, axis=0) / width + eps)
    for begin in range(0, width, TILE):
        at = begin + lanes
        g = tl.load(gain + at, mask=at < width, other=0.0)
        v = tl.load(src + at, mask=at < width, other=0.0)
        tl.store(dst + at, (v - mean) * scale * g, mask=at < width)  # done
    """
SOFTMAX = """
    high = -float("inf")
    for k in range(0, width, TILE):
        ok = k + lanes < width
        piece = tl.load(src + k + lanes, mask=ok, other=-float("inf"))
        high = tl.maximum(high, tl.max(piece, axis=0))
    norm = 0.0
    for k in range(0, width, TILE):
        ok = k + lanes < width
        e = tl.exp(tl.load(src + (k + lanes), mask=ok, other=-float("inf")).to(tl.float32) - high)
        norm += tl.sum(e, axis=0)
    for j in range(0, width, TILE):
        inside = j + lanes < width
        e = tl.exp(tl.load(src + j + lanes, mask=inside, other=0.0).to(tl.float32) - high)
        tl.store(dst + j + lanes, e / norm, mask=inside)
    """
ONLINE = """
    high = -float("inf")
    norm = 0.0
    for k in range(0, width, TILE):
        piece = tl.load(src + k + lanes, mask=k + lanes < width, other=-float("inf"))
        top = tl.maximum(high, tl.max(piece, axis=0))
        norm = norm * tl.exp(high - top) + tl.sum(tl.exp(piece - top), axis=0)
        high = top
    for k in range(0, width, TILE):
        piece = tl.load(src + k + lanes, mask=k + lanes < width, other=-float("inf"))
        tl.store(dst + k + lanes, tl.exp(piece - high) / norm, mask=k + lanes < width)
    """
HALF = ", dtype=torch.float16"
CASES = [
    pytest.param(NORM, "", id="norm"),
    pytest.param(SOFTMAX, "", id="softmax, scalars"),
    pytest.param(SOFTMAX, HALF, id="softmax, half precision"),
    pytest.param(ONLINE, "", id="online softmax"),
]


@pytest.mark.parametrize(("body", "dtype"), CASES)
def test_the_row_is_loaded_once(body: str, dtype: str) -> None:
    after = fixed(program(body, dtype), "KL505")
    assert "for " not in after and after.count("tl.load(src") == 1
    assert "TILE=triton.next_power_of_2(columns)" in after


@needs_interpreter
@pytest.mark.slow
@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize(("body", "dtype"), CASES)
def test_same_results(tmp_path: Path, body: str, dtype: str, size: str) -> None:
    source = program(body, dtype)
    after = fixed(source, "KL505")
    tolerance = 2e-3 if dtype else 1e-5
    assert_same_results(tmp_path, source.replace(LARGE, size), after.replace(LARGE, size), tolerance)


def test_text() -> None:
    after = fixed(find_rule("KL505").bad, "KL505", header=False)
    assert (
        """
    row = tl.program_id(0) * N
    cols = tl.arange(0, BLOCK)
    x_row = tl.load(x + row + cols, mask=cols < N, other=float("-inf"))
    top = x_row
    high = tl.max(top, axis=0)
    total = tl.exp(x_row - high)
    norm = tl.sum(total, axis=0)
    tl.store(y + row + cols, tl.exp(x_row - high) / norm, mask=cols < N)
"""
        in after
    )


def test_accesses_without_a_mask_are_left_alone() -> None:
    body = NORM.replace("tl.load(gain + at, mask=at < width, other=0.0)", "tl.load(gain + at)")
    assert "no mask" in refusal(program(body), "KL505")
