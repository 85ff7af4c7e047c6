"""KL503: running sums and recurrences computed one element at a time."""

import pytest
from support.findings import run_rule

from kernlint.workload import Loop, Scan, concrete

KERNEL = """
@triton.jit
def walk(x, y, a, n, decay):
    row = tl.program_id(0) * n
    h = {start}
    g = 0.0
    for i in {range}:
        {step}

class ModelNew(torch.nn.Module):
    def forward(self, x, a):
        y = torch.empty_like(x)
        walk[(x.shape[0],)](x, y, a, x.shape[1], 0.9)
        return y

def get_inputs():
    return [torch.randn(256, 4096), torch.randn(256, 4096)]
"""


def program(*step, start="0.0", range="range(n)"):
    return KERNEL.format(step="\n        ".join(step), start=start, range=range)


LOAD, STORE = "v = tl.load(x + row + i)", "tl.store(y + row + i, h)"


@pytest.mark.parametrize(
    ("source", "scan"),
    [
        pytest.param(program(LOAD, "h += v", STORE), "tl.cumsum", id="sum"),
        pytest.param(program(LOAD, STORE, "h = h + v"), "tl.cumsum", id="exclusive sum"),
        pytest.param(program(LOAD, "h *= v", STORE, start="1.0"), "tl.associative_scan", id="product"),
        pytest.param(program(LOAD, "h = tl.maximum(h, v)", STORE), "tl.associative_scan", id="maximum"),
        pytest.param(program(LOAD, "h = decay * h + v", STORE), "tl.associative_scan", id="constant decay"),
        pytest.param(
            program(LOAD, "h = tl.load(a + row + i) * h + v", STORE), "tl.associative_scan", id="loaded decay"
        ),
        pytest.param(
            program("v = tl.load(x + row + n - 1 - i)", "h += v", "tl.store(y + row + n - 1 - i, h)"),
            "tl.cumsum",
            id="backwards",
        ),
        pytest.param(program(LOAD, "h += v * v", STORE, range="range(0, n, 1)"), "tl.cumsum", id="sum of squares"),
    ],
)
def test_becomes_a_block_scan(source, scan):
    found = run_rule("KL503", source)
    finding = found.only()
    assert finding.symbol == "walk" and scan in finding.change.plan
    launch = found.after().launches()[0]
    (loop,) = (node for node, _ in launch.kernel.walk(Loop))
    assert concrete(loop.trip) == 2
    assert any(isinstance(node, Scan) for node in loop.body)
    assert all(access.shape == (2048,) for access in (*launch.kernel.loads(), *launch.kernel.stores()))


def test_one_element_of_several_rows():
    source = """
    @triton.jit
    def walk(x, y, n, ROWS: tl.constexpr):
        r = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)) * n
        total = tl.zeros((ROWS,), tl.float32)
        for i in range(n):
            total += tl.load(x + r + i)
            tl.store(y + r + i, total)

    class ModelNew(torch.nn.Module):
        def forward(self, x):
            y = torch.empty_like(x)
            walk[(x.shape[0] // 16,)](x, y, x.shape[1], ROWS=16)
            return y

    def get_inputs():
        return [torch.randn(256, 4096)]
    """
    found = run_rule("KL503", source)
    assert found.after().launches()[0].kernel.stores()[0].shape == (16, 128)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(program(LOAD, "h = tl.exp(h) + v", STORE), id="non-linear"),
        pytest.param(program(LOAD, "h = h * h + v", STORE), id="square of the state"),
        pytest.param(program(LOAD, "h = v / (1.0 + h)", STORE), id="division by the state"),
        pytest.param(program(LOAD, "h = h + g", "g = g + v", STORE), id="two coupled states"),
        pytest.param(program(LOAD, "h = v * 2.0", STORE), id="nothing carried"),
        pytest.param(program(LOAD, "h += v"), id="a sum without a store"),
        pytest.param(
            program("v = tl.load(x + row + i * 64)", "h += v", "tl.store(y + row + i * 64, h)", range="range(64)"),
            id="strided",
        ),
        pytest.param(program(LOAD, "h += v", STORE, range="range(4)"), id="four iterations"),
        pytest.param(program(LOAD, "if v > 0:", "    h += v", STORE), id="conditional"),
    ],
)
def test_other_loops_stay(source):
    assert not run_rule("KL503", source)


def test_time_steps_of_many_channels_stay():
    source = """
    @triton.jit
    def walk(x, y, T, D, BLOCK: tl.constexpr):
        d = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        h = tl.zeros((BLOCK,), tl.float32)
        for t in range(T):
            h += tl.load(x + t * D + d)
            tl.store(y + t * D + d, h)

    class ModelNew(torch.nn.Module):
        def forward(self, x):
            y = torch.empty_like(x)
            walk[(x.shape[1] // 128,)](x, y, x.shape[0], x.shape[1], BLOCK=128)
            return y

    def get_inputs():
        return [torch.randn(4096, 1024)]
    """
    assert not run_rule("KL503", source)


def test_a_masked_product_in_an_unrolled_while_loop_is_a_scan() -> None:
    source = """
@triton.jit
def running_product(x, y, n, STEP: tl.constexpr):
    row = tl.program_id(0) * n
    total = tl.load(x + row)
    tl.store(y + row, total)
    start = 1
    while start < n:
        for i in tl.static_range(0, STEP):
            j = start + i
            inside = j < n
            value = tl.load(x + row + j, mask=inside, other=1)
            total = tl.where(inside, total * value, total)
            tl.store(y + row + j, total, mask=inside)
        start += STEP

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        running_product[(x.shape[0],)](x, y, x.shape[1], STEP=1, num_warps=1)
        return y

def get_inputs():
    return [torch.randn(512, 4096)]
"""
    assert run_rule("KL503", source)
    assert not run_rule("KL503", source.replace("total * value, total)", "total * value, value)"))
