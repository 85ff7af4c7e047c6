"""KL604: timing code on the path of every call."""

from __future__ import annotations

import pytest
from support.findings import run_rule

PROGRAM = """
@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

CHOICE = {}

def measured(x, y, n, block):
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    start.record()
    double[(triton.cdiv(n, block),)](x, y, n, BLOCK=block)
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y, n = torch.empty_like(x), x.numel()
        times = [measured(x, y, n, block) for block in (512, 1024)]
        double[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)
        return y

def get_inputs():
    return [torch.randn(1024, 1024)]
"""
LINE = "        times = [measured(x, y, n, block) for block in (512, 1024)]\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(LINE, LINE, id="in a helper"),
        pytest.param("torch.cuda.Event", "Event", id="aliased import"),
        pytest.param(LINE, f"        if n > 1000:\n    {LINE}", id="behind a condition on sizes that holds"),
        pytest.param(
            LINE,
            "        triton.testing.do_bench(lambda: double[(triton.cdiv(n, 512),)](x, y, n, BLOCK=512))\n",
            id="do_bench",
        ),
    ],
)
def test_found(old: str, new: str) -> None:
    assert run_rule("KL604", "from torch.cuda import Event\n" + PROGRAM.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(LINE, "", id="no timing"),
        pytest.param(LINE, f"        if n not in CHOICE:\n    {LINE}", id="behind a cache"),
        pytest.param(LINE, f"        if self.choice is None:\n    {LINE}", id="once per object"),
        pytest.param("def measured", "@functools.lru_cache\ndef measured", id="cached helper"),
        pytest.param("        return y\n", "        return times\n", id="a benchmark, which returns times"),
        pytest.param("start.elapsed_time(end)", "0.0", id="events without a question"),
    ],
)
def test_silent(old: str, new: str) -> None:
    assert not run_rule("KL604", "import functools\n" + PROGRAM.replace(old, new))
