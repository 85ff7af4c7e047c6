"""Loops over the tiles of a row: pipelined, and reduced once."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from support.rewriting import HEADER, assert_same_results, fixed, needs_interpreter, refusal

from kernlint.fix import fix_source
from kernlint.request import Request
from kernlint.rules.registry import find_rule

PROGRAM = """
ROWS, N = {sizes}

@triton.jit
def reduce_rows(src, dst, n, TILE: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, TILE)
{body}
    tl.store(dst + row, result)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(ROWS)
        reduce_rows[(ROWS,)](x, y, N, TILE=256)
        return y


def get_inputs():
    return [torch.randn(ROWS, N{dtype})]
"""
LARGE = "8, 1 << 20"
SMALL = ["2, 1000", "1, 1", "3, 512"]


def program(body: str, dtype: str = "") -> str:
    text = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    result = PROGRAM
    for name, value in {"sizes": LARGE, "body": text, "dtype": dtype}.items():
        result = result.replace("{" + name + "}", value)
    return result


CASES = [
    pytest.param(
        """
        # so far
        result = 0.0
        for at in range(0, n, TILE):
            v = tl.load(src + row * n + at + lanes, mask=at + lanes < n, other=0.0)
            result += tl.sum(v * v, axis=0)
        """, "", id="sum",
    ),
    pytest.param(
        """
        total = 3.0
        for at in range(0, n, TILE):
            part = tl.sum(tl.load(src + row * n + at + lanes, mask=at + lanes < n, other=0.0), axis=0)
            total = total + part
        result = total
        """, "", id="a sum that starts elsewhere, with a name for the part",
    ),
    pytest.param(
        """
        result = -float("inf")
        for at in range(0, n, TILE):
            v = tl.load(src + row * n + at + lanes, mask=at + lanes < n, other=float("-inf"))
            result = tl.maximum(result, tl.max(v, axis=0))
        """, "", id="maximum",
    ),
    pytest.param(
        """
        result = 0.0
        for at in range(0, n, TILE):
            v = tl.load(src + row * n + at + lanes, mask=at + lanes < n, other=0.0)
            result += tl.sum(v.to(tl.float32), axis=0)
        """, ", dtype=torch.float16", id="half precision",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "dtype"), CASES)
def test_the_reduction_stands_behind_the_loop(body: str, dtype: str) -> None:
    after = fixed(program(body, dtype), "KL209")
    loop = after.split("for at")[1].split("\n    t")[0].split("\n    r")[0]
    assert "tl.sum" not in loop and "tl.max(" not in loop


@needs_interpreter
@pytest.mark.slow
@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize(("body", "dtype"), CASES)
def test_same_results(tmp_path: Path, body: str, dtype: str, size: str) -> None:
    source = program(body, dtype)
    after = fixed(source, "KL209")
    assert_same_results(tmp_path, source.replace(LARGE, size), after.replace(LARGE, size), 1e-4)


TILES = """
        result, last, other = 0.0, 0.0, 0.0
        for at in range(0, n, TILE):
            v = tl.load(src + row * n + at + lanes, mask=at + lanes < n, other=0.0)
            STEP
        tl.store(dst + row + n, last + other)
"""


@pytest.mark.parametrize(
    "step",
    [
        "result += tl.sum(v, axis=0); last = result",
        "other = result + tl.sum(v, axis=0); result = other",
        "other = result = result + tl.sum(v, axis=0)",
        "part = tl.sum(v, axis=0); result += part; last = part",
        "result += tl.sum(v, axis=0) * 2.0",
        "result = tl.maximum(result, tl.sum(v, axis=0))",
    ],
)
def test_what_a_round_looks_at_stays_in_the_loop(step: str) -> None:
    source = HEADER + program(TILES.replace("STEP", step))
    assert fix_source(Request(source, device="h100-sxm"), rules=("KL209",)).after == source
    plain = source.replace(step, "result += tl.sum(v, axis=0)")
    assert fix_source(Request(plain, device="h100-sxm"), rules=("KL209",)).after != plain


_SUM = """
@triton.jit
def k(x, o, n, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    s = {seed}
    for j in range(0, n, B):
        s += tl.sum(tl.load(x + row * n + j + c, mask=j + c < n, other=0), axis=0)
    tl.store(o + row, s)

def run(x):
    o = torch.zeros(x.shape[0], dtype=torch.float64)
    k[(x.shape[0],)](x, o, x.shape[1], B=32)
    return o

def get_inputs():
    return [{given}]
"""


@pytest.mark.parametrize(
    ("seed", "given", "tile"),
    [
        ("0.0", "torch.randn(512, 4096)", "float32"),
        ("0.0", "torch.zeros(512, 4096, dtype=torch.int32)", "float32"),
        ("tl.zeros((), tl.float32)", "torch.zeros(512, 4096, dtype=torch.int32)", "float32"),
        ("0", "torch.zeros(512, 4096, dtype=torch.int32)", "int32"),
        ("tl.zeros((), tl.int64)", "torch.zeros(512, 4096, dtype=torch.int32)", "int64"),
        ("tl.zeros((), tl.int64)", "torch.zeros(512, 4096, dtype=torch.int8)", "int64"),
    ],
)
def test_the_tile_has_the_type_of_the_sum(seed: str, given: str, tile: str) -> None:
    """A sum of floats stays one, whatever is added to it; one of integers stays exact."""
    assert f"= tl.zeros([B], dtype=tl.{tile})" in fixed(_SUM.format(seed=seed, given=given), "KL209")


def test_a_sum_that_begins_as_an_integer_is_right_for_integers_alone() -> None:
    source = _SUM.format(seed="0", given="torch.randn(512, 4096)")
    assert refusal(source, "KL209") == "`s` begins as an integer"


def test_text_of_a_sum() -> None:
    after = fixed(find_rule("KL209").bad, "KL209", header=False)
    assert (
        """
    partial = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        partial += tl.load(x + row * columns + start + lanes)
    total = tl.sum(partial, axis=0)
    tl.store(y + row, total)
"""
        in after
    )


def test_text_of_a_pipelined_loop() -> None:
    after = fixed(find_rule("KL208").bad, "KL208", header=False)
    assert "in tl.range(0, columns, BLOCK, num_stages=3):" in after
