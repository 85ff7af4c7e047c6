"""Draw four: which draws are made by a quarter of the runs, as text, and which stay."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from support.findings import run_rule
from support.rewriting import assert_same_results, fixed, needs_interpreter, refusal

from kernlint.rules.registry import find_rule

BAD = textwrap.dedent(find_rule("KL513").bad)
OFFSETS, DRAW = "offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", "tl.rand(seed, offs)"
BACKWARD = """
@triton.jit
def backward(dy, dx, n, p, seed, TILE: tl.constexpr):
    at = tl.program_id(0) * TILE + tl.arange(0, TILE)
    keep = tl.rand(seed, at) >= p
    tl.store(dx + at, tl.where(keep, tl.load(dy + at, mask=at < n), 0.0), mask=at < n)

"""
TILES = ("triton.Config({'BLOCK': 1024})", "triton.Config({'BLOCK': 2})")
#: A launch of it with two elements a program.
LAUNCHED = ("return y", "backward[(1,)](x, y, 2, 0.1, 7, TILE=2)\n        return y")
#: The words of each element picked one by one.
PICKED = """r0, r1, r2, r3 = tl.rand4x(seed, offs // 4)
    word = offs % 4
    keep = tl.where(word == 0, r0, tl.where(word == 1, r1, tl.where(word == 2, r2, r3)))"""


def edited(*edits: tuple[str, str]) -> str:
    source = BAD
    for old, new in edits:
        assert old in source, old
        source = source.replace(old, new)
    return source


def test_as_a_person_would_write_it() -> None:
    after = fixed(BAD, "KL513")
    assert "    counters = tl.program_id(0) * BLOCK // 4 + tl.arange(0, BLOCK // 4)\n" in after
    assert "    r0, r1, r2, r3 = tl.rand4x(seed, counters)\n" in after
    assert "    keep = tl.reshape(tl.join(tl.join(r0, r2), tl.join(r1, r3)), (BLOCK,)) >= p\n" in after


@pytest.mark.parametrize(
    ("edits", "wanted"),
    [
        pytest.param([(OFFSETS, "base = tl.program_id(0) * BLOCK\n    offs = base + tl.arange(0, BLOCK)")],
                     "base // 4 +", id="a base of its own"),
        pytest.param([(OFFSETS, "offs = tl.arange(0, BLOCK) + BLOCK * tl.program_id(0)")],
                     "BLOCK * tl.program_id(0) // 4", id="turned round"),
        pytest.param([(OFFSETS, OFFSETS.replace("(0) *", "(0).to(tl.int64) *"))], "(0).to(tl.int64) * BLOCK // 4", id="wide offsets"),
        pytest.param([(DRAW, "tl.rand(seed, offs, n_rounds=7)")], "tl.rand4x(seed, counters, n_rounds=7)", id="fewer rounds"),
        pytest.param([(DRAW, "tl.randint(seed, offs)")], "tl.randint4x(seed, counters)", id="integers"),
        pytest.param([(DRAW, "tl.randn(seed, offs)")], "tl.randn4x(seed, counters)", id="normal numbers"),
        pytest.param([("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, r0=0")], "r0_2, r1, r2, r3", id="a name that is taken"),
    ],
)  # fmt: skip
def test_written_otherwise(edits: list[tuple[str, str]], wanted: str) -> None:
    assert wanted in fixed(edited(*edits), "KL513")


@pytest.mark.parametrize(
    ("edits", "reason"),
    [
        pytest.param([("class ModelNew", BACKWARD.replace("* TILE", "* 30") + "class ModelNew")],
                     "multiple of four", id="the draw of another kernel stays"),
        pytest.param([(DRAW, "tl.rand(offset=offs, seed=seed)")], "a seed and offsets", id="by name"),
        pytest.param([("class ModelNew", BACKWARD.replace("(seed, at)", "(*seed)") + "class ModelNew")],
                     "a seed and offsets", id="unpacked"),
        pytest.param([("class ModelNew", BACKWARD.replace("    at =", "    for i in range(1):\n        at =") + "class ModelNew")],
                     "another branch", id="offsets of a loop"),
        pytest.param([(OFFSETS, "pid = tl.program_id(0)\n    offs = pid * BLOCK + tl.arange(0, BLOCK)\n    pid = pid * 1")],
                     "changes between", id="a base that changes"),
        pytest.param([("class ModelNew", BACKWARD + "class ModelNew")], "another draw", id="a kernel that nothing followed launches"),
        pytest.param([("class ModelNew", BACKWARD + "class ModelNew"), LAUNCHED], "another draw", id="a kernel with rows of two"),
        pytest.param([("class ModelNew", BACKWARD.replace("rand(seed, at)", "philox(seed, at, 0, 0, 0)[0]") + "class ModelNew")],
                     "by itself", id="words of Philox"),
        pytest.param([("class ModelNew", BACKWARD.replace("tl.rand(seed, at)", "getattr(tl, 'rand')(seed, at)") + "class ModelNew")],
                     "another name", id="a draw by its name as a text"),
        pytest.param([("class ModelNew", "draw = tl.rand\n\nclass ModelNew")], "another name", id="a draw that has a second name"),
        pytest.param([("class ModelNew", BACKWARD.replace("tl.rand(seed, at)", "tl.rand4x(seed, at)[0]") + "class ModelNew")],
                     "by itself", id="the first of four"),
    ],
)  # fmt: skip
def test_refused(edits: list[tuple[str, str]], reason: str) -> None:
    assert reason in refusal(edited(*edits), "KL513")


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


@needs_interpreter
def test_elements_get_their_word_in_every_tile(tmp_path: Path) -> None:
    """A forward and a backward pass with tiles of their own draw the same numbers again."""
    small = "get_inputs():\n    return [torch.randn(13, 9)]"
    launch = "        return y\n"
    both = launch.replace("y", "y, dx").replace("        return", (
        "        dx = torch.empty_like(x)\n"
        "        backward[(triton.cdiv(x.numel(), 16),)](x, dx, x.numel(), 0.1, 7, TILE=512)\n"
        "        return"
    ))  # fmt: skip
    program = edited(("class ModelNew", BACKWARD + "class ModelNew"), (launch, both))
    after = fixed(program, "KL513")
    picked = program.replace("keep = " + DRAW, PICKED).replace("keep = tl.rand(seed, at)", PICKED.replace("offs", "at"))
    assert after.count("tl.rand4x") == picked.count("tl.rand4x") == 2
    inputs = program[program.index("get_inputs") :].strip()
    assert_same_results(
        tmp_path,
        *(text.replace(inputs, small).replace("1024", "32").replace("512", "16") for text in (picked, after)),
        tolerance=0.0,
    )
