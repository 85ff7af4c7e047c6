"""A reference's get_inputs also tells the arguments of the one public function of a kernel file."""

from __future__ import annotations

from kernlint.interpret.program import Program
from kernlint.syntax.tree import parse_module
from kernlint.workload import Workload, concrete

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

def kernel_function(x, scale=1.0):
    y = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
"""
REFERENCE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2

def get_inputs():
    return [torch.randn(64, 1024)]
"""


def workloads(kernel: str, reference: str = REFERENCE) -> list[Workload]:
    return Program(parse_module(kernel, "kernel.py"), parse_module(reference, "reference.py")).workloads()


def test_sizes_of_the_reference_reach_the_function() -> None:
    (workload,) = workloads(KERNEL)
    assert workload.launches()[0].programs == 64
    assert workload.reference is not None


def test_types_that_the_function_refuses_stay_open() -> None:
    check = "    if x.dtype != torch.bfloat16:\n        raise TypeError\n    y = torch.empty_like(x)\n"
    (workload,) = workloads(KERNEL.replace("    y = torch.empty_like(x)\n", check))
    (launch,) = workload.launches()
    assert launch.programs == 64
    tensor = launch.tensor("x")
    assert tensor is not None and [concrete(s) for s in tensor.shape or ()] == [64, 1024]


def test_a_function_with_other_parameters_is_left_alone() -> None:
    (workload,) = workloads(KERNEL.replace("(x, scale=1.0)", "(x, weight)"))
    assert workload.launches()[0].programs is None
