"""Whole small programs by kind, against ``h200-kinds.csv``, and the terms that half of them showed to be missing: tiles that are alive
while others are reduced, scaled operands of products, gaps that other loads fill, sectors that are rewritten whole."""

from __future__ import annotations

from collections.abc import Mapping

import errors
import pytest
from bench_launches import bench_module, read

from kernlint.cost.device import find_device
from kernlint.cost.dot_launch import dot_loop, kernel_time
from kernlint.cost.dot_lowering import is_synchronous
from kernlint.cost.held import held
from kernlint.interpret.program import Program
from kernlint.records import replace
from kernlint.syntax.tree import parse_module
from kernlint.workload import Launch

H200 = find_device("h200")


def launch(kernel: str, number: int = 0) -> Launch:
    """The first launch of the ``number``-th case of ``kernel``."""
    cases = [case for case in bench_module("kinds").cases() if case.params["kernel"] == kernel]
    return read(cases[number].launches[0])


def words(made: Launch) -> list[float]:
    """The words of each thread that are alive while something is reduced."""
    return [alive / 32 / made.num_warps for alive in held(made.kernel).values()]


@pytest.mark.parametrize(
    ("kernel", "number", "most"),
    [
        ("whole_row_entropy", 1, 256),
        ("norm_to_bytes", 1, 32),
        ("running_lse", 2, 32),
        ("circle_loss", 1, 64),
        ("weight_norm", 1, 32),
    ],
)
def test_tiles_that_are_alive_over_a_reduction(kernel: str, number: int, most: float) -> None:
    """Logits and their exponentials, a row and nothing of what was added to it, two masked losses of a row, doubles."""
    assert max(words(launch(kernel, number))) == most


def test_what_a_loop_carries_is_alive_once() -> None:
    made = launch("norm_gradients")
    assert max(words(made)) == 6 * 8, "two sums, the weights, and three tiles of a row"
    assert held(launch("key_value_sums").kernel) == {}


LOOPS = """
import torch
import triton
import triton.language as tl

@triton.jit
def k(x, out, n, B: tl.constexpr):
    c = tl.arange(0, B)
    kept = tl.load(x + c)
    total = 0.0
    for i in range(n):
        part = tl.load(x + i * B + c)
        {work}
    tl.store(out, total)
    {after}

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty(1024)
        k[(1,)](x, out, 16, B=1024, num_warps=4)
        return out

def get_inputs():
    return [torch.rand(16, 1024)]
"""


def of_loop(work: str, after: str = "") -> Mapping[tuple[int, int], float]:
    (workload,) = Program(parse_module(LOOPS.format(work=work, after=after), "k.py")).workloads()
    (made,) = [step for step in workload.steps if isinstance(step, Launch)]
    return held(made.kernel)


def test_a_tile_that_a_loop_uses_lives_as_long() -> None:
    assert max(of_loop("total += tl.sum(part)").values()) == 0, "what dies in its sum is added up as it comes"
    assert max(of_loop("total += tl.sum(part * kept)").values()) == 1024
    assert max(of_loop("total += tl.max(part) + tl.sum(part * kept)").values()) == 2048


def test_a_name_that_nothing_uses_after_its_loop_is_dead() -> None:
    assert max(of_loop("total += tl.sum(part)").values()) == 0
    assert max(of_loop("total += tl.sum(part)", "tl.store(out + c, part)").values()) == 1024


def test_a_kernel_that_is_not_followed_holds_nothing_known() -> None:
    assert held(replace(launch("weight_norm").kernel, read=None)) == {}


def test_a_scaled_operand_reaches_the_tensor_cores_as_a_cast_one() -> None:
    loop = dot_loop(launch("upcast_linear", 1))
    assert loop is not None
    (step,) = loop.steps
    assert step.b.k_major is False and step.b.work > 0
    assert 0.7 < kernel_time(launch("upcast_linear", 1), H200).us / 478.5 < 1.4, "0.43 before"


def test_bytes_one_at_a_time_are_not_copied_ahead() -> None:
    loop = dot_loop(launch("four_bit_linear"))
    assert loop is not None
    (step,) = loop.steps
    assert is_synchronous(step.b, "none") and not is_synchronous(step.a, "none")


def test_gaps_that_other_loads_fill_are_read_once() -> None:
    case = next(c for c in bench_module("kinds").cases() if c.params["kernel"] == "halve" and c.params["S"] == 2048)
    total = sum(kernel_time(read(one), H200).us for one in case.launches)
    assert 0.8 < total / 317.6 < 1.4, "1.75 before"


def test_whole_sectors_that_are_rewritten_stay_in_l1() -> None:
    for number, us in enumerate((12.59, 156.67)):
        assert 0.7 < kernel_time(launch("warped_rows", number), H200).us / us < 1.4, "3.9 and 4.7 before"


def test_whole_programs_within_half_again() -> None:
    found = [row.error for row in errors.rows("h200-kinds.csv", 3)]
    assert sum(abs(error) < 0.405 for error in found) > 0.8 * len(found)
