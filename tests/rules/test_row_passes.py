"""KL504 and KL505: rows that are read again for what one pass, or one tile, could do."""

import pytest
from support.findings import run_rule

KERNEL = """
@triton.jit
def rows(x, y, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0) * N
    cols = tl.arange(0, BLOCK)
    {body}

R, C, B = 512, 65536, 1024

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rows[(R,)](x, y, C, 1e-5, BLOCK=B)
        return y

def get_inputs():
    return [torch.randn(R, C)]
"""
LOAD = "v = tl.load(x + row + s + cols, mask=s + cols < N, other=0.0)"
MEAN = f"t = tl.zeros((BLOCK,), tl.float32)\nfor s in range(0, N, BLOCK):\n    {LOAD}\n    t += v\nmean = tl.sum(t, axis=0) / N\n"
SCALAR_MEAN = f"t = 0.0\nfor s in range(0, N, BLOCK):\n    {LOAD}\n    t += tl.sum(v, axis=0)\nmean = t / N\n"
SQUARES = (
    f"q = tl.zeros((BLOCK,), tl.float32)\nfor s in range(0, N, BLOCK):\n    {LOAD}\n"
    "    d = tl.where(s + cols < N, v - mean, 0.0)\n    q += d * d\nvar = tl.sum(q, axis=0) / N\n"
)
POWER = (
    f"q = 0.0\nfor s in range(0, N, BLOCK):\n    {LOAD}\n    d = tl.where(s + cols < N, (v - mean) * (v - mean), 0.0)\n"
    "    q += tl.sum(d, axis=0)\nvar = q / N\n"
)
NORMALISE = (
    f"for s in range(0, N, BLOCK):\n    {LOAD}\n    tl.store(y + row + s + cols, (v - mean) * tl.rsqrt(var + eps), mask=s + cols < N)\n"
    ""
)
KEEP = "tl.store(y + tl.program_id(0), var)\n"


def program(body):
    return KERNEL.replace("{body}", ("\n" + " " * 4).join(body.strip("\n").split("\n")))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(MEAN + SQUARES + KEEP, id="lanes"),
        pytest.param(SCALAR_MEAN + POWER + KEEP, id="sums in the loop"),
        pytest.param(MEAN + SQUARES + NORMALISE, id="layer norm of long rows"),
    ],
)
def test_two_pass_variance(body):
    found = run_rule("KL504", program(body))
    assert found.only().symbol == "rows" and found.only().severity == "warning"
    assert found.promised() > 1.2


def test_a_row_of_one_tile_is_a_hint_only():
    assert run_rule("KL504", program(MEAN + SQUARES + KEEP), C=1024).only().severity == "info"


MAXIMUM = (
    f"t = tl.full((BLOCK,), 0.0, tl.float32)\nfor s in range(0, N, BLOCK):\n"
    f"    {LOAD}\n    t = tl.maximum(t, v)\nmean = tl.max(t, axis=0)\n"
)
ABSOLUTE = (
    f"q = tl.zeros((BLOCK,), tl.float32)\nfor s in range(0, N, BLOCK):\n    {LOAD}\n"
    "    q += tl.abs(v - mean)\nvar = tl.sum(q, axis=0) / N\n"
)
SHIFTED = SQUARES.replace("x + row + s", "x + row + N + s")
PLAIN = f"q = tl.zeros((BLOCK,), tl.float32)\nfor s in range(0, N, BLOCK):\n    {LOAD}\n    q += v * v\nvar = tl.sum(q, axis=0) / N\n"
ONE = (
    f"t = tl.zeros((BLOCK,), tl.float32)\nq = t\nfor s in range(0, N, BLOCK):\n    {LOAD}\n"
    "    t += v\n    q += v * v\nvar = tl.sum(q, axis=0) - tl.sum(t, axis=0)\n"
)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(MAXIMUM + SQUARES + KEEP, id="deviation from the maximum"),
        pytest.param(MEAN + ABSOLUTE + KEEP, id="mean absolute deviation"),
        pytest.param(MEAN + SHIFTED + KEEP, id="another row"),
        pytest.param(MEAN + PLAIN + KEEP, id="squares that do not need the mean"),
        pytest.param(ONE + KEEP, id="one pass"),
    ],
)
def test_no_two_pass_variance(body):
    assert not run_rule("KL504", program(body))


@pytest.mark.parametrize(
    ("body", "columns"),
    [
        pytest.param(MEAN + SQUARES + NORMALISE, 8192, id="layer norm"),
        pytest.param(MEAN + SQUARES + NORMALISE, 5000, id="layer norm with a tail"),
        pytest.param(MAXIMUM + NORMALISE.replace("var", "mean"), 4096, id="maximum, then write"),
    ],
)
def test_row_that_fits_is_kept(body, columns):
    found = run_rule("KL505", program(body), C=columns)
    assert found.only().symbol == "rows"
    assert f"one tile of {8192 if columns > 4096 else 4096:,} holds it" in found.only().evidence[1].text
    assert found.promised() > 1.1


@pytest.mark.parametrize(
    ("body", "columns"),
    [
        pytest.param(MEAN + SQUARES + NORMALISE, 65536, id="long rows"),
        pytest.param(MEAN + SQUARES + NORMALISE, 1024, id="one tile already"),
        pytest.param(MEAN + SQUARES + KEEP, 8192, id="a variance alone is KL504's"),
        pytest.param(MEAN + "tl.store(y + tl.program_id(0), mean)\n", 8192, id="one pass"),
    ],
)
def test_row_stays_in_loops(body, columns):
    assert not run_rule("KL505", program(body), C=columns)


#: Each lane walks down the channels of its pixel, twice.
CHANNELS = """
@triton.jit
def rms(x, y, C, HW, BLOCK: tl.constexpr):
    image = tl.program_id(1) * C * HW
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for c in range(C):
        v = tl.load(x + image + c * HW + pixel)
        total += v * v
    scale = tl.rsqrt(total / C + 1e-5)
    for c in range(C):
        v = tl.load(x + image + c * {step} + pixel)
        tl.store(y + image + c * HW + pixel, v * scale)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rms[(128, 16)](x, y, {channels}, 16384, BLOCK=128)
        return y

def get_inputs():
    return [torch.randn(16, {channels}, 128, 128)]
"""


def test_lanes_that_walk_down_columns_hold_a_tile_of_both():
    found = run_rule("KL505", CHANNELS.format(step="HW", channels=64)).only()
    assert "the same 64 x 128 tile of `x` in 2 loops" in found.message
    assert "Add an axis of 64 to the tile of 128" in found.change.plan


def test_columns_that_overlap_or_do_not_fit_are_no_tile():
    assert not run_rule("KL505", CHANNELS.format(step="64", channels=64))
    assert not run_rule("KL505", CHANNELS.format(step="HW", channels=4096))
