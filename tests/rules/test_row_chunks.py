"""KL202: rows that are reduced in chunks narrower than the threads are; chunks that mean something are left alone."""

import textwrap

import pytest
from support.findings import run_rule

from kernlint.workload import Loop

LAUNCH = """

R, C, B = 4096, 32768, 128

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        sums = torch.empty(R, device=x.device)
        by_rows[(R,)](x, y, sums, x.stride(0), C, WIDTH=B)
        return y, sums

def get_inputs():
    return [torch.randn(R, C, dtype=torch.float16)]
"""


def kernel(body: str) -> str:
    head = "\n@triton.jit\ndef by_rows(x, y, sums, stride, columns, WIDTH: tl.constexpr):\n"
    return head + textwrap.indent(textwrap.dedent(body), "    ") + LAUNCH


SQUARES = kernel(
    """
    row = tl.program_id(0)
    total = 0.0
    for first in range(0, columns, WIDTH):
        at = first + tl.arange(0, WIDTH)
        v = tl.load(x + row * stride + at, mask=at < columns, other=0.0).to(tl.float32)
        total += tl.sum(v * v, axis=0)
    scale = tl.rsqrt(total / columns + 1e-6)
    for first in range(0, columns, WIDTH):
        at = first + tl.arange(0, WIDTH)
        v = tl.load(x + row * stride + at, mask=at < columns, other=0.0).to(tl.float32)
        tl.store(y + row * stride + at, v * scale, mask=at < columns)
    """
)

EXTREMA = kernel(
    """
    row, lanes = tl.program_id(0), tl.arange(0, WIDTH)
    high, low = -float("inf"), float("inf")
    for i in range(tl.cdiv(columns, WIDTH)):
        v = tl.load(x + row * stride + i * WIDTH + lanes, mask=i * WIDTH + lanes < columns, other=0.0)
        top = tl.max(v, axis=0)
        high = tl.maximum(high, top)
        low = tl.minimum(tl.min(v, axis=0), low)
    tl.store(sums + row, high - low)
    """
).replace(
    "row, lanes = tl.program_id(0), tl.arange(0, WIDTH)", "row = tl.program_id(0)\n    lanes = tl.arange(0, WIDTH)"
)

LOG_SUM = kernel(
    """
    row = tl.program_id(0)
    m = -float("inf")
    z = 0.0
    col = 0
    while col < columns:
        at = col + tl.arange(0, WIDTH)
        s = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf")).to(tl.float32)
        n = tl.maximum(m, tl.max(s, axis=0))
        z = z * tl.exp(m - n) + tl.sum(tl.exp(s - n), axis=0)
        m = n
        col += WIDTH
    tl.store(sums + row, m + tl.log(z))
    """
)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(SQUARES, id="squares and a second pass"),
        pytest.param(EXTREMA, id="extrema of numbered chunks"),
        pytest.param(LOG_SUM, id="online softmax in a while"),
        pytest.param(SQUARES.replace("total +=", "total = total +"), id="written out"),
        pytest.param(SQUARES.replace("WIDTH", "K"), id="another name"),
        pytest.param(
            SQUARES.replace("C, B = 4096, 32768,", "C, B = 4096, 32896,"), id="rows that chunks do not divide"
        ),
        pytest.param(LOG_SUM.replace("col += WIDTH", "col = col + WIDTH"), id="counter written out"),
        pytest.param(SQUARES.replace(", mask=at < columns, other=0.0", ""), id="rows that chunks divide"),
    ],
)
def test_narrow_chunks(source):
    found = run_rule("KL202", source)
    assert (found.only().symbol, found.only().kernel) == ("ModelNew.forward", "by_rows")
    before, after = found.contexts[0].workload.launches()[0], found.after().launches()[0]
    assert after.grid == before.grid
    trips = [[node.trip for node, _ in launch.kernel.walk(Loop)] for launch in (before, after)]
    assert all(8 * now <= then for then, now in zip(*trips))


def quantised(store: str) -> str:
    return kernel(
        f"""
        row = tl.program_id(0)
        top = 0.0
        for first in range(0, columns, WIDTH):
            at = first + tl.arange(0, WIDTH)
            v = tl.load(x + row * stride + at, mask=at < columns, other=0.0)
            scale = tl.max(tl.abs(v), axis=0)
            {store}
            top = tl.maximum(top, scale)
        tl.store(sums + row, top)
        """
    )


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(quantised("tl.store(y + row * stride + at, v / scale, mask=at < columns)"), id="a scale for each chunk"),
        pytest.param(quantised("tl.store(y + row * stride + first // WIDTH, scale)"), id="a result for each chunk"),
        pytest.param(SQUARES.replace("tl.sum(v * v, axis=0)", "tl.sum(v, axis=0) * tl.sum(v, axis=0)"), id="squares of sums"),
        pytest.param(SQUARES.replace("tl.sum(v * v", "tl.sum(v / tl.max(v, axis=0)"), id="relative to the chunk's maximum"),
        pytest.param(LOG_SUM.replace("(s - n)", "(s - tl.max(s, axis=0) - n)"), id="shifted by the chunk's maximum"),
        pytest.param(LOG_SUM.replace("m = n", "m = n + 1.0"), id="a maximum that is none"),
        pytest.param(SQUARES.replace("total / columns", "total / (columns // WIDTH)"), id="the mean over chunks"),
        pytest.param(SQUARES.replace("v * v", "v * v * (first + 1)"), id="weighted by the chunk"),
        pytest.param(SQUARES.replace("v * v", "v * v * tl.arange(0, WIDTH)"), id="weighted by the lane in the chunk"),
        pytest.param(SQUARES.replace("total += tl.sum(v * v", "total += tl.max(v * v"), id="the sum of maxima"),
        pytest.param(
            SQUARES.replace("v * v", "tl.full((WIDTH,), 1.0, tl.float32)").replace("32768,", "32896,"), id="a count of lanes"
        ),
        pytest.param(EXTREMA.replace("C, B = 4096, 32768,", "C, B = 4096, 32896,"), id="lanes that are filled up with zeros"),
        pytest.param(
            SQUARES.replace("v * v, axis=0)", "v * v, axis=0)\n        tl.store(sums + row, total)"), id="looked at on the way"
        ),
        pytest.param(SQUARES.replace("tl.sum(v * v, axis=0)", "tl.sum(v * v * total, axis=0)"), id="relative to the sum so far"),
        pytest.param(SQUARES.replace("+ at, mask", "+ tl.arange(0, WIDTH), mask"), id="the same lanes each time"),
        pytest.param(SQUARES.replace("range(0, columns, WIDTH)", "range(0, columns, 2 * WIDTH)"), id="every other chunk"),
        pytest.param(SQUARES.replace("B = 4096, 32768, 128", "B = 4096, 32768, 2048"), id="wide chunks"),
        pytest.param(SQUARES.replace("C, B = 4096, 32768,", "C, B = 4096, 128,"), id="one chunk a row"),
        pytest.param(SQUARES.replace("WIDTH=B", "WIDTH=128 * (C // 32768)"), id="a width that follows the row"),
    ],
)  # fmt: skip
def test_chunks_that_mean_something_or_are_wide(source):
    assert not run_rule("KL202", source)
