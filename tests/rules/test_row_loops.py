"""KL208 and KL209: loops over rows that wait for loads or reduce to a scalar each time; right or wrong by sizes."""

import pytest
from support.findings import run_rule

from kernlint.workload import Loop, Reduce

ROWS = """
@triton.jit
def statistic(x, y, columns, BLOCK: tl.constexpr):
    row, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    {start}
    for first in {range}:
        value = tl.load(x + row * columns + first + lanes, mask=first + lanes < columns, other=0.0)
        {step}
    tl.store(y + row, {end})

R, C, B = 8, 1048576, 4096

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty(R, device=x.device)
        statistic[(R,)](x, y, C, BLOCK=B, num_warps=8 if B > 1024 else 4)
        return y

def get_inputs():
    return [torch.randn(R, C)]
"""


def vector(loop: str = "range(0, columns, BLOCK)", step: str = "acc += value") -> str:
    return ROWS.format(
        start="acc = tl.zeros((BLOCK,), tl.float32)", range=loop, step=step, end="tl.sum(acc, axis=0)"
    )  # fmt: skip


def scalar(step: str = "total += tl.sum(value, axis=0)", end: str = "total") -> str:
    return ROWS.format(start="total = 0.0", range="range(0, columns, BLOCK)", step=step, end=end)


@pytest.mark.parametrize(
    ("source", "sizes"),
    [
        pytest.param(vector(), {}, id="eight rows"),
        pytest.param(vector(step="acc = tl.maximum(acc, tl.abs(value))"), {}, id="maximum"),
    ],
)
def test_loop_that_waits(source, sizes):
    found = run_rule("KL208", source, **sizes)
    assert found.only().symbol == "statistic"
    loops = [node for node, _ in found.after().launches()[0].kernel.walk(Loop)]
    assert [loop.num_stages for loop in loops] == [3]


@pytest.mark.parametrize(
    ("source", "sizes"),
    [
        pytest.param(vector(), {"R": 4096, "C": 16384}, id="rows that fill the card"),
        pytest.param(vector(), {"C": 4096}, id="one iteration"),
        pytest.param(vector(), {"B": 256}, id="small blocks get slower"),
        pytest.param(vector("tl.range(0, columns, BLOCK, num_stages=3)"), {}, id="already pipelined"),
        pytest.param(vector("tl.static_range(0, 16384, BLOCK)"), {}, id="unrolled"),
        pytest.param(vector(step="acc += tl.load(x + value.to(tl.int32))"), {}, id="the next address is loaded"),
        pytest.param(
            vector(step="tl.store(x + row * columns + first + lanes, value * 2)"), {}, id="writes what it reads"
        ),
        pytest.param(vector().replace("def get_inputs", "def unused"), {"R": 1000}, id="too many programs"),
    ],
)
def test_loop_better_left_alone(source, sizes):
    assert not run_rule("KL208", source, **sizes)


SMALL = {"R": 64, "C": 131072, "B": 256}


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(scalar(), id="sum"),
        pytest.param(scalar("total = total + tl.sum(value * value, axis=0)"), id="sum of squares"),
        pytest.param(scalar("total = tl.maximum(total, tl.max(value, axis=0))"), id="maximum"),
        pytest.param(scalar("part = tl.sum(value, axis=0)\n        total += part"), id="sum with a name"),
    ],
)
def test_reduction_in_each_iteration(source):
    found = run_rule("KL209", source, **SMALL)
    assert found.only().symbol == "statistic"
    nodes = [(type(node), bool(loops)) for node, loops in found.after().launches()[0].kernel.walk(Reduce)]
    assert nodes == [(Reduce, False)]


@pytest.mark.parametrize(
    ("source", "sizes"),
    [
        pytest.param(vector(), SMALL, id="already once"),
        pytest.param(scalar(), {"R": 4096, "C": 4096, "B": 4096}, id="one iteration"),
        pytest.param(scalar(), {}, id="large blocks of few programs"),
        pytest.param(scalar("total += tl.sum(value, axis=0)\n        tl.store(y + row, total)"), SMALL, id="stored each time"),
        pytest.param(
            scalar("new = tl.maximum(total, tl.max(value, axis=0))\n        total = new + tl.sum(tl.exp(value - new), axis=0)"),
            SMALL, id="online softmax",
        ),
        pytest.param(
            scalar(
                "total += tl.sum(value, axis=0)\n        value = value - total\n"
                "        tl.store(x + row * columns + first + lanes, value)"
            ),
            SMALL, id="used on the tile",
        ),
        pytest.param(scalar("total = total * 0.5 + tl.sum(value, axis=0)"), SMALL, id="decayed sum"),
        pytest.param(scalar("total = tl.sum(value, axis=0)"), SMALL, id="only the last"),
        pytest.param(scalar("total += tl.max(value, axis=0)"), SMALL, id="sum of maxima"),
        pytest.param(scalar("total -= tl.sum(value, axis=0)"), SMALL, id="another operation"),
    ],
)  # fmt: skip
def test_reduction_that_is_needed(source, sizes):
    assert not run_rule("KL209", source, **sizes)


@pytest.mark.parametrize(
    ("dtype", "sizes"),
    [
        # Measured with three stages on an H100 (h100-row-stages.csv): 0.77x, 0.94x, 0.84x, 1.00x, 0.47x, 1.03x.
        pytest.param("float32", {"C": 524188, "B": 2048}, id="rows that are not aligned"),
        pytest.param("float32", {"C": 524188, "B": 4096, "W": 4}, id="large blocks of them"),
        pytest.param("float32", {"C": 524188, "B": 4096, "W": 8}, id="more warps"),
        pytest.param("bfloat16", {"C": 524188, "B": 4096, "W": 4}, id="elements that no copy takes one by one"),
        pytest.param("float32", {"C": 524288, "B": 256, "W": 4}, id="small blocks"),
        pytest.param("float32", {"C": 524288, "B": 4096, "W": 8}, id="loads that are in flight anyway"),
    ],
)
def test_pipelining_that_was_measured_to_gain_nothing(dtype, sizes):
    step = "acc += value.to(tl.float32)\n        other += value.to(tl.float32) * value.to(tl.float32)"
    source = vector(step=step).replace("acc = tl.zeros", "other = tl.zeros((BLOCK,), tl.float32)\n    acc = tl.zeros")
    source = source.replace("tl.sum(acc, axis=0)", "tl.sum(acc, axis=0) + tl.sum(other, axis=0)")
    source = source.replace("R, C, B = 8, 1048576, 4096", "R, C, B, W = 8, 1048576, 4096, 4")
    source = source.replace("num_warps=8 if B > 1024 else 4", "num_warps=W").replace(
        "randn(R, C)", f"randn(R, C, dtype=torch.{dtype})"
    )
    assert not run_rule("KL208", source, **sizes).findings
