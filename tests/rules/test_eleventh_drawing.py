"""What rules said of repositories of an eleventh drawing, and should not have: each kind of it, and what is like it and is told."""

from __future__ import annotations

import pytest

from tests.rules.test_eighth_drawing import told

REDEFINED = """
    @triton.jit
    def kernel(x, y, n, k: tl.constexpr, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i, mask=i < n) * k, mask=i < n)

    def scaled(x):
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), 2, B=1024)
        return y

    {between}

    @triton.jit
    def kernel(x, y, n, m, k: tl.constexpr, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i, mask=i < n) * k + m, mask=i < n)
"""


@pytest.mark.parametrize(
    ("between", "level"),
    [
        pytest.param("assert scaled(torch.ones(9, device='cuda'))[0] == 2", "info", id="called before"),
        pytest.param("", "error", id="called only after"),
        pytest.param("def test():\n        return scaled", "error", id="named in a function"),
    ],
)
def test_a_kernel_that_is_defined_again(between: str, level: str) -> None:
    assert [one.severity for one in told("KL703", REDEFINED.format(between=between))] == [level]


UNSIGNED = """
    @triton.jit
    def kernel(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        q = tl.load(x + i, mask=i < n)
        scale = {function}(q.to({type}))
        tl.store(y + i, (q - 8).to(tl.float32) * scale, mask=i < n)

    def run(x):
        assert x.dtype == torch.uint8
        y = torch.empty_like(x, dtype=torch.float32)
        kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), B=1024)
        return y
"""


@pytest.mark.parametrize(
    ("function", "of", "level"),
    [
        pytest.param("tl.math.uint2float_rn", "tl.uint32", "info", id="a name of releases before 3.0"),
        pytest.param("tl.math.rsqrt", "tl.float32", "warning", id="a name of any release"),
    ],
)
def test_a_difference_in_a_kernel_for_old_releases(function: str, of: str, level: str) -> None:
    assert [one.severity for one in told("KL723", UNSIGNED.format(function=function, type=of))] == [level]


WRITTEN = """
    BLOCK = 48

    @triton.jit
    def kernel(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

    def tune(x):
        {write}

    def run(x):
        {call}
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), B=BLOCK)
        return y
"""


@pytest.mark.parametrize(
    ("write", "call", "found"),
    [
        pytest.param("global BLOCK; BLOCK = 64", "pass", 0, id="another function sets it"),
        pytest.param("BLOCK = 64", "pass", 1, id="a variable of its own"),
        pytest.param("global BLOCK; BLOCK = 64", "tune(x)", 0, id="the call sets it"),
        pytest.param("global BLOCK; BLOCK = 96", "tune(x)", 1, id="the call sets it wrongly"),
    ],
)
def test_a_number_that_a_function_sets_for_all(write: str, call: str, found: int) -> None:
    assert len(told("KL705", WRITTEN.format(write=write, call=call))) == found
