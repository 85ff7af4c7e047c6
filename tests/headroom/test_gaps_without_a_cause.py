"""Gaps between a call and its achievable time that are the sum of several small things, or of none that has a name."""

from __future__ import annotations

import textwrap

import pytest

from kernlint.analysis import analysis
from kernlint.headroom.causes import OTHER
from kernlint.request import Request
from kernlint.verdict.judge import Judgement

HEAD = "import torch, triton, triton.language as tl\n"

#: The largest score of each group of neighbours, a program for each group; groups are short, as the lengths are drawn.
SHORT_ROWS = """
@triton.jit
def best(start, member, score, out, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    first, last = tl.load(start + group), tl.load(start + group + 1)
    top = tl.full([BLOCK], float("-inf"), tl.float32)
    for at in range(first, last, BLOCK):
        here = at + tl.arange(0, BLOCK)
        one = tl.load(member + here, mask=here < last, other=0)
        top = tl.maximum(top, tl.load(score + one, mask=here < last, other=float("-inf")))
    tl.store(out + group, tl.max(top, axis=0))

class ModelNew(torch.nn.Module):
    def forward(self, start, member, score):
        out = torch.empty(start.numel() - 1, device=score.device)
        best[(out.numel(),)](start, member, score, out, BLOCK=256, num_warps=4)
        return out

GROUPS, MOST = 200000, 24
def get_inputs():
    lengths = torch.randint(1, MOST, (GROUPS,))
    start = torch.zeros(GROUPS + 1, dtype=torch.int64)
    start[1:] = lengths.cumsum(0)
    member = torch.randint(0, 500000, (int(start[-1]),))
    return [start, member, torch.randn(500000)]
"""
#: The same for groups that fill the lanes of their programs.
LONG_ROWS = SHORT_ROWS.replace("(1, MOST, (GROUPS,))", "(3900, 4100, (GROUPS,))").replace("200000", "4000")

#: Rows that are picked, in a Python loop over planes none of which needs another one.
ROUNDS = """
@triton.jit
def pick(table, index, out, D: tl.constexpr):
    row, column = tl.program_id(0), tl.arange(0, D)
    one = tl.load(index + row)
    tl.store(out + row * D + column, tl.load(table + one * D + column) * 2.0)

class ModelNew(torch.nn.Module):
    def forward(self, table, index):
        planes, rows = index.shape
        out = torch.empty(planes, rows, 64, device=table.device)
        for plane in range(planes):
            pick[(rows,)](table[plane], index[plane], out[plane], D=64, num_warps=2)
        return out

def get_inputs():
    return [torch.randn(48, 9000, 64), torch.randint(0, 9000, (48, 256))]
"""
#: The same where each round goes on from the one before.
ONE_BY_ONE = ROUNDS.replace(
    "table[plane], index[plane], out[plane]",
    "table[plane] if plane == 0 else out[plane - 1], index[plane] % 256, out[plane]",
)

#: A hash of each element by a divisor that the host passes.
DIVISOR = """
@triton.jit
def buckets(x, y, n, prime, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    for _ in range(8):
        value = (value * 48271 + 11) % prime
    tl.store(y + at, value, mask=at < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        buckets[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), 2147483647, BLOCK=1024)
        return y

def get_inputs():
    return [torch.randint(0, 2147483647, (1 << 22,))]
"""
#: The same with a mask in the place of the rest.
NO_DIVISOR = DIVISOR.replace("% prime", "& prime")


def judged(source: str, reference: str | None = None) -> Judgement:
    return analysis(Request(HEAD + textwrap.dedent(source), device="h200", reference=reference)).judgement


@pytest.mark.parametrize(
    ("slow", "cause", "fine"),
    [(SHORT_ROWS, "many programs", LONG_ROWS), (DIVISOR, OTHER, NO_DIVISOR)],
    ids=["short-rows", "divisor"],
)
def test_what_takes_far_less_well_written_is_worth_it(slow: str, cause: str, fine: str) -> None:
    found = judged(slow)
    assert found.worth and found.chosen is not None and found.chosen.finding.cause is not None
    assert found.chosen.finding.cause.name == cause
    assert not judged(fine).worth


def test_rounds_that_need_no_other_are_held_against_one_launch() -> None:
    found = judged(ROUNDS).headroom
    assert found is not None and found.achievable_us < 0.3 * found.now_us
    assert "all rounds in one launch" in found.witnesses[0].form


def test_rounds_that_go_on_from_each_other_are_not() -> None:
    found = judged(ONE_BY_ONE).headroom
    assert found is not None and not any(
        "in one launch" in one.form and "as it is" in one.form for one in found.witnesses
    )


#: How alike two sets of features are, by the products of all pairs of examples.
PAIRS = """
@triton.jit
def pairs(x, y, out, n, B: tl.constexpr, D: tl.constexpr):
    i, j = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    d = tl.arange(0, D)
    a = tl.dot(tl.load(x + i[:, None] * D + d[None, :]), tl.load(x + j[None, :] * D + d[:, None]))
    b = tl.dot(tl.load(y + i[:, None] * D + d[None, :]), tl.load(y + j[None, :] * D + d[:, None]))
    total = tl.sum(tl.sum(a * b, axis=1), axis=0)
    tl.store(out + tl.program_id(0) * tl.num_programs(1) + tl.program_id(1), total)

class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        tiles = x.shape[0] // 64
        out = torch.empty(tiles * tiles, device=x.device)
        pairs[(tiles, tiles)](x, y, out, x.shape[0], B=64, D=64)
        return out.sum()
"""
PAIRS_REFERENCE = """
import torch
N = 8192

class Model(torch.nn.Module):
    def forward(self, x, y):
        return {result}

def get_inputs():
    return [torch.randn(N, 64).half(), torch.randn(N, 64).half()]
"""


@pytest.mark.parametrize(
    ("result", "worth"),
    [
        ("((x.float() @ x.float().t()) * (y.float() @ y.float().t())).sum()", True),
        # No sum of products of sums: there is no shorter way.
        ("torch.maximum(x.float() @ x.float().t(), y.float() @ y.float().t()).sum()", False),
    ],
)
def test_a_shorter_way_is_looked_for_where_a_call_is_far_from_its_bound(result: str, worth: bool) -> None:
    source = PAIRS if worth else PAIRS.replace("a * b", "tl.maximum(a, b)")
    found = judged(source, PAIRS_REFERENCE.format(result=result))
    assert found.worth is worth
    if worth:
        assert found.chosen is not None and found.chosen.is_other and found.promises["gpu"].low >= 1.25
        assert found.written is not None
