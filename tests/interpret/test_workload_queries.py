"""What is asked of a workload, its launches and tensors by name or memory, and workloads with their steps changed."""

from __future__ import annotations

import pytest

from kernlint.analysis import read_program
from kernlint.request import Request
from kernlint.workload import Access, Atomic, Launch, Load, Store, Symbol, Tensor, TorchOp, Workload
from kernlint.workload import dtype as dt
from kernlint.workload.expr import Expr
from kernlint.workload.tensor import Storage

SOURCE = """
import torch
import triton
import triton.language as tl

@triton.jit
def scale(x, y, n, ROUNDS: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for r in range(ROUNDS):
        v = tl.load(x + r * BLOCK + i)
        tl.store(y + r * BLOCK + i, v * 2.0)
    tl.store(x + i, 0.0)

class ModelNew(torch.nn.Module):
    def forward(self, a):
        b = torch.empty_like(a)
        scale[(1,)](a, b, 1024, ROUNDS=4, BLOCK=256)
        return b + 1

def get_inputs():
    return [torch.randn(1024)]
"""


@pytest.fixture(scope="module")
def workload() -> Workload:
    return read_program(Request(SOURCE)).workloads[0]


def test_accesses_to_a_memory(workload: Workload) -> None:
    (launch,) = workload.launches()
    a, b = (launch.arguments[name] for name in "xy")
    assert isinstance(a, Tensor) and isinstance(b, Tensor)
    assert launch.bound_to(a.storage.id) == ["x"] and launch.bound_to(-5) == []
    assert [type(one) for one in launch.accesses(a.storage.id, Access)] == [Load, Store]
    assert launch.accesses(b.storage.id, (Load, Atomic)) == []
    assert [len(loops) for _, loops in launch.walk(a.storage.id, Access)] == [1, 0]


def test_what_an_access_touches_is_called_as_the_source_calls_it(workload: Workload) -> None:
    (launch,) = workload.launches()
    assert (launch.name_of("x"), launch.name_of("n"), launch.name_of("nothing")) == ("a", "n", "nothing")


def test_steps_are_changed_those_of_the_first_call_where_that_is_asked_for(workload: Workload) -> None:
    both = workload.mapped(lambda step: step)
    assert both.steps == workload.steps
    without = workload.mapped(lambda step: None if isinstance(step, Launch) else step)
    assert not without.launches() and all(isinstance(step, TorchOp) for step in without.steps)
    first = Workload("f", "k.py", workload.steps, first_steps=workload.steps)
    assert first.mapped(lambda step: None).first_steps == workload.steps
    assert first.mapped(lambda step: None, first=True).first_steps == ()


@pytest.mark.parametrize(
    ("shape", "extents", "numel"),
    [((2, 3), (2, 3), 6), ((), (), 1), ((2, Expr.atom(Symbol("n"))), None, None), (None, None, None)],
)
def test_extents_are_numbers_or_unknown(shape, extents, numel) -> None:
    tensor = Tensor("x", dt.FLOAT32, shape, None, Storage(1, "input"))
    assert (tensor.extents, tensor.numel) == (extents, numel)
