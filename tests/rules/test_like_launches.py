"""Proofs about launches that do the same: not asked again where nothing was found, asked of each where something was."""

from __future__ import annotations

import pytest

from kernlint.interpret.program import Program
from kernlint.rules.proofs.bounds import overruns
from kernlint.rules.proofs.like_launches import found_in
from kernlint.syntax.tree import parse_module
from kernlint.workload.access import Load

KERNEL = """
import torch
import triton
import triton.language as tl

@triton.jit
def add_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + 1.0, mask=at < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        first = add_kernel[(4,)](x, out, 256, BLOCK=64)
        second = add_kernel[(4,)](x, out, 256, BLOCK=64)
        third = add_kernel[({programs},)](x, out, 256, BLOCK=64)
        return out

def get_inputs():
    return [torch.randn(256)]
"""


def workload(programs=4, x="x"):
    source = KERNEL.format(programs=programs).replace("third = add_kernel[(4,)](x,", f"third = add_kernel[(4,)]({x},")
    (found,) = Program(parse_module(source, "k.py")).workloads()
    return found


@pytest.mark.parametrize(("finds", "asked"), [(False, 1), (True, 3)])
def test_what_is_asked(finds, asked):
    looked = []
    launches = workload().launches()
    found = list(found_in(launches, lambda launch: looked.append(launch) or ([launch] if finds else [])))
    assert len(looked) == asked
    assert found == (launches if finds else [])


@pytest.mark.parametrize(("programs", "x"), [(5, "x"), (4, "x[1:]"), (4, "out")])
def test_what_is_not_alike_is_asked_about(programs, x):
    looked = []
    list(found_in(workload(programs, x).launches(), lambda launch: looked.append(launch) or []))
    assert len(looked) == 2


def test_what_stands_beside_tells_launches_apart():
    looked = []
    list(found_in(workload().launches(), lambda launch: looked.append(launch) or [], lambda launch: launch.span))
    assert len(looked) == 3


def test_an_overrun_behind_launches_that_are_right():
    assert not overruns(workload(), Load)
    (found,) = overruns(workload(5), Load)
    assert found.reached == 319
    assert overruns(workload(x="x[1:]"), Load)[0].reached == 255
