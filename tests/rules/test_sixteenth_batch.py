"""What an author found debatable or wrong in repositories of the earlier drawings: each kind of it, and what is like it and stays."""

from __future__ import annotations

import pytest

from tests.rules.test_eighth_drawing import told

FILL = """
@triton.jit
def fill({parameters}, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store({pointer} + i, 0.0, mask=i < n)

def run(x):
    {launch}
    return x

run(torch.empty(4096, device="cuda"))
"""
METHOD = FILL.replace("{parameters}", "self, x, stride, n").replace("{pointer}", "x")


@pytest.mark.parametrize(
    ("launch", "expected"),
    [
        pytest.param("fill[(64,)](x, x.stride(0), x.numel(), B=64)", ["KL703"], id="one is missing"),
        pytest.param("fill[(64,)](0, x, x.stride(0), x.numel(), 2, 64, B=64)", ["KL703"], id="one too many"),
        pytest.param("fill[(64,)](0, x.stride(0), x, x.numel(), B=64)", ["KL729"], id="in other places"),
        pytest.param("fill[(64,)](0, x, x.stride(0), x.numel(), B=64)", [], id="as they are"),
    ],
)
def test_what_arguments_are_that_do_not_bind(launch: str, expected: list[str]) -> None:
    source = METHOD.format(launch=launch)
    assert [one.code for code in ("KL703", "KL729") for one in told(code, source)] == expected


@pytest.mark.parametrize(
    ("launch", "level"),
    [
        pytest.param("fill.warmup(x, x.numel(), B=64, grid=(1,))", "info", id="compiled"),
        pytest.param("fill.run(x, x.numel(), B=64, grid=(1,), warmup=False)", "warning", id="run"),
        pytest.param(
            "fill.warmup(x, x.numel(), B=64, grid=(1,))\n    fill[(1,)](x, x.numel(), B=64)",
            "info warning",
            id="and run",
        ),
    ],
)
def test_a_grid_that_a_kernel_is_only_compiled_with(launch: str, level: str) -> None:
    source = FILL.format(parameters="x, n", pointer="x", launch=launch)
    assert sorted(one.severity for one in told("KL751", source)) == level.split()


@pytest.mark.parametrize(("parameter", "kept"), [("x", ["KL701"]), ("x, y", ["KL701", "KL703"])])
def test_what_fails_whatever_the_arguments_is_still_told(parameter: str, kept: list[str]) -> None:
    source = FILL.format(parameters=f"{parameter}, n", pointer="x", launch="fill[(64,)](x, x.numel(), B=64)")
    source = source.replace("0.0", "tl.zeroes([B], tl.float32)")
    assert sorted(one.code for code in ("KL701", "KL703") for one in told(code, source)) == kept


COMPARED = """
    import time
    from elsewhere import record

    @triton.jit
    def copy(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

    def compare(a):
        assert a.shape == (8192, 4096) and a.dtype == torch.float32
        y = torch.empty_like(a)
        copy[(32768,)](a, y, a.numel(), B=1024)
        record(y)
        begin = {clock}
        z = a * torch.rsqrt(a.pow(2).mean(-1, keepdim=True) + 1e-6)
        torch.cuda.synchronize()
        print({clock} - begin)
        record(z)
        {end}
"""


@pytest.mark.parametrize(
    ("clock", "end", "level"),
    [
        pytest.param("time.time()", "", "info", id="a measurement"),
        pytest.param("time.perf_counter()", "", "info", id="by another clock"),
        pytest.param("time.time()", "return z", "warning", id="of what is wanted"),
        pytest.param("0.0", "", "warning", id="no measurement"),
    ],
)
def test_torch_calls_that_are_measured(clock: str, end: str, level: str) -> None:
    source = COMPARED.format(clock=clock, end=end)
    assert {one.severity for one in told("KL404", source)} == {level}
