"""KL503: running sums and recurrences computed one element at a time."""

import pytest
from support.findings import run_rule

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
    assert "in blocks of 2048" in finding.change.plan and "2 iterations instead of 4,096" in finding.change.plan
    assert found.promised() > 2


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
    assert "in blocks of 128" in run_rule("KL503", source).only().change.plan


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(program(LOAD, "h = tl.exp(h) + v", STORE), id="non-linear"),
        pytest.param(program(LOAD, "h = h * h + v", STORE), id="square of the state"),
        pytest.param(program(LOAD, "h = v / (1.0 + h)", STORE), id="division by the state"),
        pytest.param(program(LOAD, "h = h + g", "g = g + h * v", STORE), id="two states that wait for each other"),
        pytest.param(program(LOAD, "t = h * h", "h = t + v", STORE), id="the square under another name"),
        pytest.param(program(LOAD, "t = h > 0.0", "h = h + tl.where(t, v, 0.0)", STORE), id="the state decides"),
        pytest.param(program(LOAD, "h = tl.load(a + row + h.to(tl.int32)) + v", STORE), id="the state is an address"),
        pytest.param(program(LOAD, "h = (h + v).to(tl.int32) * 1.0", STORE), id="rounded in each iteration"),
        pytest.param(program(LOAD, "h = tl.maximum(h, v) + v", STORE), id="an extremum that moves"),
        pytest.param(program(LOAD, "h, g = g, h + v", STORE), id="two states in turn"),
        pytest.param(program(LOAD, "h = v * 2.0", STORE), id="nothing carried"),
        pytest.param(program(LOAD, "h += v"), id="a sum that nobody stores"),
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
    # What the mask leaves out is replaced: a recurrence with other coefficients in those lanes.
    replaced = run_rule("KL503", source.replace("total * value, total)", "total * value, value)")).only()
    assert "linear recurrence `total`" in replaced.message
    assert not run_rule("KL503", source.replace("total * value, total)", "total * total, value)"))


RESULT = """
@triton.jit
def walk(x, y, a, n, decay):
    row = tl.program_id(0) * n
    h = {start}
    g = 0.0
    for i in range(n):
        {step}
    tl.store(y + tl.program_id(0), {result})

class ModelNew(torch.nn.Module):
    def forward(self, x, a):
        y = torch.empty(x.shape[0], device=x.device)
        walk[(x.shape[0],)](x, y, a, x.shape[1], 0.9, num_warps=1)
        return y

def get_inputs():
    return [torch.randn(8192, 256), torch.randn(8192, 256)]
"""


def result(*step: str, result: str = "g", start: str = "0.0") -> str:
    return RESULT.format(step="\n        ".join(step), result=result, start=start)


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        pytest.param(program(LOAD, "h = h + g", "g = g + v", STORE), ("running sums `g` and `h`",), id="a sum of sums"),
        pytest.param(
            result(LOAD, "g += (1.0 - tl.exp(-v)) * h", "h *= tl.exp(-v)", start="1.0"),
            ("running product `h`", "running sum `g`"),
            id="a product that weights a sum",
        ),
        pytest.param(
            result(LOAD, "w = v * h", "g = g + w", "h = h - w", start="1.0"),
            ("running product `h`",),
            id="what is left",
        ),
        pytest.param(
            result(
                LOAD, "m = tl.maximum(h, v)", "g = g * tl.exp(h - m) + tl.exp(v - m)", "h = m", result="h + tl.log(g)"
            ),
            ("running extremum `h`", "linear recurrence `g`"),
            id="an online softmax",
        ),
        pytest.param(
            result(LOAD, "c = tl.load(a + row + i)", "g = c * g + (1.0 - c) * v"), ("recurrence `g`",), id="blended"
        ),
        pytest.param(
            program(LOAD, "h = v + decay * (g - v) + 0.9 * h", "g = v", STORE),
            ("linear recurrence `h`",),
            id="the element before",
        ),
        pytest.param(
            result("g += tl.load(x + row + j)", "j += 1").replace("g = 0.0", "g = 0.0\n    j = 0"),
            ("running sum `g` one",),
            id="a counter",
        ),
        pytest.param(result(LOAD, "g += v * tl.load(a + row + i)"), ("running sum `g`",), id="a dot product"),
        pytest.param(
            result("g += tl.load(x + row + i * 3 % n) * tl.load(a + row + i)"), ("running sum",), id="one of two"
        ),
    ],
)
def test_carried_values_that_need_each_other_in_turn(source: str, kinds: tuple[str, ...]) -> None:
    found = run_rule("KL503", source)
    assert all(kind in found.only().message for kind in kinds)
    assert found.promised() > 1.3


def test_colours_beside_each_other_are_read_as_one_row() -> None:
    source = result("c = x + (row + i) * 3", "g += tl.load(c) * 0.3 + tl.load(c + 1) * 0.6 + tl.load(c + 2) * 0.1")
    source = source.replace("torch.randn(8192, 256), ", "torch.randn(8192, 256, 3), ")
    assert run_rule("KL503", source)
    assert not run_rule("KL503", source.replace("* 3\n", "* 8\n").replace("256, 3)", "256, 8)"))
