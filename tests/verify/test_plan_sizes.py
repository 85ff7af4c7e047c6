"""The sizes that a plan tries where the given ones take the interpreter too long."""

from __future__ import annotations

import pytest

from kernlint.request import Request
from kernlint.verify.plan import Plan, make_plan

_SOURCE = """
import torch
import triton
import triton.language as tl

M, N = {sizes}

@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        double[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y

def get_inputs():
    return [torch.randn(M, N)]
"""


@pytest.mark.parametrize(("sizes", "alone"), [("8192, 8192", {"M as given", "N as given"}), ("64, 64", set())])
def test_each_size_is_tried_as_given_where_all_of_them_are_too_much(sizes: str, alone: set[str]) -> None:
    source = _SOURCE.format(sizes=sizes)
    plan = make_plan(Request(source), fixed=source.replace("* 2", "+ 0.0"))
    assert isinstance(plan, Plan)
    cases = {case.name: case.sizes for case in plan.odd if case.name.endswith("as given")}
    assert cases.keys() == alone
    assert all(case[name.split()[0]] == 8192 and min(case.values()) < 1024 for name, case in cases.items())
