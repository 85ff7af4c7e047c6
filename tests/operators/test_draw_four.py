"""Draw four: which draws are made by a quarter of the runs."""

from __future__ import annotations

import textwrap

import pytest
from support.findings import run_rule

from kernlint.rules.registry import find_rule

BAD = textwrap.dedent(find_rule("KL513").bad)
OFFSETS, DRAW = "offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", "tl.rand(seed, offs)"
TILES = ("triton.Config({'BLOCK': 1024})", "triton.Config({'BLOCK': 2})")


def edited(*edits: tuple[str, str]) -> str:
    source = BAD
    for old, new in edits:
        assert old in source, old
        source = source.replace(old, new)
    return source


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param([("* BLOCK + tl", "* n + tl")], id="rows that begin anywhere"),
        pytest.param([("tl.arange(0, BLOCK)", "tl.arange(0, BLOCK) * 2")], id="every other one"),
        pytest.param([(OFFSETS, OFFSETS + "\n    row = tl.load(x + offs, mask=offs < n).to(tl.int32)"),
                      (DRAW, "tl.rand(seed, row)")], id="loaded offsets"),
        pytest.param([(DRAW, "tl.rand(seed + offs, offs)")], id="seeds of each lane"),
        pytest.param([("return y", "dropout[(1,)](x, y, 2, 0.1, 7, BLOCK=2)\n        return y")], id="rows of two as well"),
        pytest.param([("@triton.jit", f"@triton.autotune(configs=[{', '.join(TILES)}], key=['n'])\n@triton.jit"),
                      (", BLOCK=1024)", ")")], id="rows of two if they are faster"),
    ],
)  # fmt: skip
def test_silent(edits: list[tuple[str, str]]) -> None:
    assert not run_rule("KL513", edited(*edits)).findings
