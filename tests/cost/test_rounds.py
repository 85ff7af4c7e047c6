"""Rounds of a Python loop that work on parts of their own find nothing of these in L2; what they share they do find."""

import pytest

from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate
from kernlint.cost.rounds import touched_by_others
from kernlint.interpret.program import Program
from kernlint.syntax.tree import parse_module
from kernlint.workload import Repeat, Workload

PROGRAM = """
import torch
import triton
import triton.language as tl

@triton.jit
def scale(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)

@triton.jit
def pick(table, ids, y, D: tl.constexpr):
    row, d = tl.load(ids + tl.program_id(0)), tl.arange(0, D)
    tl.store(y + tl.program_id(0) * D + d, tl.load(table + row * D + d))

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = torch.nn.Parameter(torch.randn({rounds}, {size}))
        self.several = torch.nn.ParameterList([torch.nn.Parameter(torch.randn({size})) for _ in range({rounds})])

    def forward(self, x, ids):
        out = torch.empty({size}, device=x.device)
        for r in range({rounds}):
            {body}
        return out

def get_inputs():
    return [torch.randn({rounds}, {size}), torch.randint(0, {size} // 64, (4096,), dtype=torch.int32)]
"""


def workload(body: str, rounds: int = 64, size: int = 2**21) -> Workload:
    text = PROGRAM.format(body=body, rounds=rounds, size=size)
    (found,) = Program(parse_module(text, "k.py")).workloads()
    return found


def round_us(body: str, rounds: int = 64, size: int = 2**21) -> float:
    """Device time of a round on the H200."""
    found = estimate(workload(body, rounds, size), find_device("h200-sxm")).gpu_us
    assert found is not None
    return found / rounds


def others(body: str) -> dict[int, float]:
    (loop,) = (step for step in workload(body).steps if isinstance(step, Repeat))
    return touched_by_others(loop, 64, dict.fromkeys(range(64), 2.0**22))


SHARED = f"scale[(2048,)](x, out, {2**21}, BLOCK=1024)"
OWN = [
    SHARED.replace("(x,", "(x[r],"), SHARED.replace("(x,", "(self.tables[r],"), SHARED.replace("(x,", "(self.tables[r].view(-1),"),
    SHARED.replace("(x,", "(self.several[r],"), "torch.mul(x[r], 2, out=out)",
]  # fmt: skip


@pytest.mark.parametrize("body", OWN)
def test_parts_of_their_own_come_from_memory(body: str) -> None:
    assert others(body)
    # Two parts of 8 MB stay in L2, 64 do not.
    assert round_us(body) > 1.05 * round_us(body, rounds=2)


def test_what_rounds_share_stays_in_l2() -> None:
    assert not others(SHARED) and round_us(SHARED) == pytest.approx(round_us(SHARED, rounds=4))


def test_a_second_reader_in_the_round_finds_what_the_first_left() -> None:
    second = round_us(f"{OWN[0]}; {OWN[0]}") - round_us(OWN[0])
    assert second == pytest.approx(round_us(OWN[0], rounds=2))


def test_rows_picked_from_a_table_of_the_round() -> None:
    pick = "pick[(4096,)]({table}, ids, out, D=64)"
    own, shared = (round_us(pick.format(table=table)) for table in ("self.tables[r]", "self.tables[0]"))
    assert own > 1.02 * shared
    assert round_us(pick.format(table="self.tables[r]"), rounds=4) == pytest.approx(shared, rel=0.05)


def test_windows_that_overlap_are_as_far_apart_as_they_begin() -> None:
    (far,) = others("scale[(1024,)](x.view(-1)[r * 16:], out, 1048576, BLOCK=1024)").values()
    assert far == 16 * 4 * 63


@pytest.mark.parametrize(
    "body", ["pass", "out.zero_()", "scale[(1024,)](x[ids[0]], out, 1048576, BLOCK=1024)", "x = x * 2", "torch.empty_like(x)"]
)  # fmt: skip
def test_hostile_rounds_end_in_an_answer(body: str) -> None:
    found = workload(body)
    assert not any(touched_by_others(s, 64, {}) for s in found.steps if isinstance(s, Repeat))
    assert estimate(found, find_device("h100-sxm")).gpu_us is not None or found.symbols
