"""What tensors of integers hold in the mean, as far as launches are told."""

import pytest

from kernlint.interpret.program import Program
from kernlint.syntax.tree import parse_module
from kernlint.workload import Tensor
from kernlint.workload.steps import Expected

PROGRAM = """
import torch
import triton
import triton.language as tl

N = 100

@triton.jit
def k(x):
    tl.store(x, 0)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        k[(1,)]({given})
        return x

def get_inputs():
    lens = torch.randint({drawn})
    ends = torch.zeros(N + 1, dtype=torch.int64)
    ends[1:] = torch.cumsum(lens, 0)
    return [{made}]
"""


def expected(made: str, given: str = "x", drawn: str = "0, 21, (N,)") -> Expected:
    (workload,) = Program(parse_module(PROGRAM.format(made=made, given=given, drawn=drawn), "k.py")).workloads()
    (launch,) = workload.launches()
    found = launch.arguments["x"]
    assert isinstance(found, Tensor)
    return found.storage.expected


@pytest.mark.parametrize(
    "drawn", ["0, 21, (N,)", "21, (N,)", "low=0, high=21, size=(N,)", "0, high=21, size=[N]", "high=21, size=(N,)"]
)
def test_a_draw_is_its_middle_in_the_mean(drawn: str) -> None:
    assert expected("lens", drawn=drawn) == Expected(10.0)


@pytest.mark.parametrize(
    "made", ["ends", "ends.int()", "ends[5:50]", "lens.cumsum(0)", "torch.cat([torch.zeros(1), lens.cumsum(0)])"]
)
def test_a_running_sum_rises_by_what_it_adds(made: str) -> None:
    assert expected(made) == Expected(step=10.0)


def test_the_difference_of_neighbours_is_what_was_added() -> None:
    assert expected("ends", "x[1:] - x[:-1]") == Expected(10.0)
    assert expected("ends", "torch.diff(x)") == Expected(10.0)
    assert expected("ends", "x[2:] - x[:-2]") == Expected(20.0)


def test_a_copy_of_every_other_pointer_rises_twice_as_fast() -> None:
    assert expected("ends", "x[::2].contiguous()") == Expected(step=20.0)


@pytest.mark.parametrize("made", ["lens * 2", "ends.flip(0)", "lens.view(10, 10).cumsum(0)", "torch.randn(N)"])
def test_what_is_not_followed_is_not_known(made: str) -> None:
    assert expected(made) == Expected()


@pytest.mark.parametrize("drawn", ["", "(N,)", "0, some_limit(), (N,)", "0, torch.tensor(3), (N,)", "None, None, (N,)"])
def test_hostile_draws_tell_nothing(drawn: str) -> None:
    assert expected("lens if torch.is_tensor(lens) else torch.ones(N)", drawn=drawn).mean is None
