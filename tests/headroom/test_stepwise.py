"""Kernels whose rounds need each other: what they could take is what they take without waste."""

from __future__ import annotations

import pytest

from kernlint.analysis import analysis
from kernlint.headroom.graph import graph_of
from kernlint.headroom.groups import group_of
from kernlint.headroom.serial import is_stepwise
from kernlint.request import Request

PROGRAM = """
import torch, triton, triton.language as tl

@triton.jit
def rounds(x, y, table, n, N: tl.constexpr, ROUNDS: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, N)
    {body}

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y, table = torch.empty_like(x), torch.empty_like(x)
        rounds[(x.shape[0],)](x, y, table, x.shape[1], N=256, ROUNDS={rounds}, num_warps={warps})
        return y

def get_inputs():
    return [torch.randn(16384, 256)]
"""
#: The threshold beyond which elements of a row sum up to one.
BISECTION = """
    a = tl.load(x + row * n + i)
    low, high = tl.min(a) - 1.0, tl.max(a)
    for _ in range(ROUNDS):
        middle = (low + high) * 0.5
        above = tl.sum(tl.maximum(a - middle, 0.0)) > 1.0
        low, high = tl.where(above, middle, low), tl.where(above, high, middle)
    tl.store(y + row * n + i, tl.maximum(a - low, 0.0))
"""
#: Rows of a matrix taken from one another in turn.
ELIMINATION = """
    a = tl.load(x + row * n + i)
    for k in range(ROUNDS):
        pivot = tl.sum(tl.where(i == k, a, 0.0))
        a = tl.where(i > k, a - pivot * a, a)
    tl.store(y + row * n + i, a)
"""
#: A table of which each row is made of the one before, as of edit distances.
TABLE = """
    best = tl.zeros((N,), tl.float32)
    for k in range(ROUNDS):
        for j in range(4):
            at = table + row * n + j
            up = tl.load(at + i * 0, mask=i < k, other=0.0)
            best = tl.maximum(best, up + 1.0)
            tl.store(at + i * 0, best)
    tl.store(y + row * n + i, best)
"""
#: Each round reads what is its own.
MAXIMUM = """
    best = tl.full((N,), float("-inf"), tl.float32)
    total = 0.0
    for k in range(ROUNDS):
        a = tl.load(x + (row + k) * n + i)
        best = tl.maximum(best, a)
        total += tl.sum(a)
    tl.store(y + row * n + i, best * total)
"""
#: Each element is changed in its place once.
IN_PLACE = """
    total = 0.0
    for k in range(ROUNDS):
        at = table + (row * ROUNDS + k) * n + i
        a = tl.load(at)
        total += 1.0
        tl.store(at, a + total)
"""


def judged(body: str, rounds: int = 24, warps: int = 4):
    source = PROGRAM.format(body=body.strip(), rounds=rounds, warps=warps)
    return analysis(Request(source, device="h200")).judgement


@pytest.mark.parametrize(
    ("body", "rounds", "stepwise"),
    [
        (BISECTION, 24, True), (ELIMINATION, 24, True), (TABLE, 24, True), (BISECTION, 2, False),
        (MAXIMUM, 24, False), (IN_PLACE, 24, False),
    ],
)  # fmt: skip
def test_rounds_that_go_on_from_one_another_are_no_stream(body: str, rounds: int, stepwise: bool) -> None:
    (launch,) = judged(body, rounds).workload.launches()
    assert is_stepwise(launch) is stepwise


def test_what_goes_step_by_step_is_held_against_itself_with_fewer_warps() -> None:
    headroom = judged(BISECTION, warps=16).headroom
    assert headroom is not None
    (cause,) = [one for one in headroom.causes if one.name == "exchange"]
    assert "16 warps" in cause.evidence
    assert headroom.achievable_us == pytest.approx(headroom.now_us - cause.alone_us, rel=0.05)
    assert headroom.ratio > 1.5


def test_warps_that_suit_their_tile_are_no_cause() -> None:
    judgement = judged(BISECTION, warps=1)
    assert not judgement.worth


@pytest.mark.parametrize(
    ("body", "megabytes"),
    [
        ("y[0] = 2.0 * x[0]\n        y[1] = x[1] + y[0]", 8),
        ("y[1] = 2.0 * x[1]\n        y[1] += x[0]", 4),  # the other half stays as it was
        ("y[:] = 0.0\n        y[1] = x[1]\n        y.mul_(2.0)", 8),
    ],
)
def test_parts_of_a_result_are_all_written(body: str, megabytes: int) -> None:
    text = f"""
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        {body}
        return y

def get_inputs():
    return [torch.randn(2, 1 << 20)]
"""
    source = PROGRAM.format(body="tl.store(y + i, tl.load(x + i))", rounds=1, warps=4)
    reference = analysis(Request(source, reference=text)).judgement.workload.reference
    assert reference is not None
    graph = graph_of(reference)
    group = group_of(graph, graph.nodes)
    assert [use.bytes / 2**20 for use in group.writes] == [megabytes]
