"""Warps that share a sum put its parts together through shared memory, which fewer of them need not."""

import textwrap

import pytest
from support.findings import HEADER

from kernlint.analysis import best_change, read_program
from kernlint.request import Request

#: The mean of the rows of a bag, by one program.
BAG = """
@triton.jit
def bag(table, index, out, D: tl.constexpr, L: tl.constexpr):
    rows = tl.load(index + tl.program_id(0) * L + tl.arange(0, L))
    d = tl.arange(0, D)
    x = tl.load(table + rows[:, None] * D + d[None, :]).to(tl.float32)
    tl.store(out + tl.program_id(0) * D + d, tl.sum(x, axis=0) / L)

class ModelNew(torch.nn.Module):
    def forward(self, table, index):
        out = torch.empty(index.shape[0], 128, device=table.device)
        bag[(index.shape[0],)](table, index, out, D=128, L=32, num_warps=WARPS)
        return out

def get_inputs():
    return [torch.randn(1000000, 128, dtype=torch.float16), torch.randint(0, 1000000, (16384, 32))]
"""


def change(source):
    return best_change(read_program(Request(HEADER + textwrap.dedent(source), device="h200")), "gpu")


#: Factors of small matrices, column by column in registers.
FACTORS = """
@triton.jit
def factors(x, out, n, BLOCK: tl.constexpr):
    i, j = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    at = tl.program_id(0) * n * n + i * n + j
    a = tl.load(x + at, mask=(i < n) & (j < n), other=0.0)
    for k in range(n):
        column = tl.sum(tl.where(j == k, a, 0.0), axis=1)
        row = tl.sum(tl.where(i == k, a, 0.0), axis=0)
        a = tl.where((i > k) & (j > k), a - column[:, None] * row[None, :], a)
    tl.store(out + at, a, mask=(i < n) & (j < n))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        factors[(x.shape[0],)](x, out, 16, BLOCK=16, num_warps=WARPS)
        return out

def get_inputs():
    return [torch.randn(65536, 16, 16)]
"""


@pytest.mark.parametrize(("source", "most"), [(BAG.replace("WARPS", "4"), 2), (FACTORS.replace("WARPS", "8"), 2)])
def test_fewer_warps_are_advised_and_written(source: str, most: int) -> None:
    judgement = change(source)
    assert judgement.worth and judgement.chosen is not None
    assert judgement.chosen.finding.rule.name == "exchange"
    made = next(way for way in judgement.chosen.local_ways() if way.automatic)
    assert made.rewriting is not None
    (edit,) = made.rewriting.edits
    assert int(edit.text.rpartition("=")[2]) <= most


@pytest.mark.parametrize(
    "source",
    [
        BAG.replace("WARPS", "1"),
        FACTORS.replace("WARPS", "1"),
        BAG.replace("tl.sum(x, axis=0) / L", "tl.load(table + d)").replace("WARPS", "4"),
    ],
)
def test_where_nothing_is_exchanged_nothing_is_said(source: str) -> None:
    judgement = change(source)
    assert judgement.headroom is not None
    assert "exchange" not in {cause.name for cause in judgement.headroom.causes}


def test_a_tuner_chooses_its_warps() -> None:
    tuned = BAG.replace(
        "@triton.jit",
        "@triton.autotune([triton.Config({}, num_warps=4), triton.Config({}, num_warps=8)], key=[])\n@triton.jit",
    )
    chosen = change(tuned.replace(", num_warps=WARPS", "")).chosen
    assert chosen is None or not any(way.automatic for way in chosen.local_ways())
