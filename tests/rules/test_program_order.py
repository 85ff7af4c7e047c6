"""KL205: the order in which programs visit tiles, where it matters and where it does not."""

import pytest
from support.findings import run_rule

from kernlint.rules.tiling.program_order import program_order, tiles_of_wave
from kernlint.workload import Launch, ProgramId, concrete

SOURCE = """
@triton.jit
def project(h, w, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    {order}
    rows, columns, k = m * BM + tl.arange(0, BM), n * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(h + rows[:, None] * K + (start + k)[None, :], mask=rows[:, None] < M, other=0.0)
        y = tl.load(w + columns[None, :] * K + (start + k)[:, None], mask=columns[None, :] < N, other=0.0)
        acc = tl.dot(x, y, acc)
    at = rows[:, None] * N + columns[None, :]
    tl.store(out + at, acc.to(tl.float16), mask=(rows[:, None] < M) & (columns[None, :] < N))

M, N, K = 8192, 32768, 4096

class ModelNew(torch.nn.Module):
    def forward(self, h, w):
        out = torch.empty(M, N, device=h.device, dtype=torch.float16)
        rows, columns = triton.cdiv(M, 128), triton.cdiv(N, 128)
        project[{grid}](h, w, out, M, N, K, BM=128, BN=128, BK=64, num_warps=8, num_stages=3)
        return out

def get_inputs():
    return [torch.randn(M, K, dtype=torch.float16), torch.randn(N, K, dtype=torch.float16)]
"""
ROW_MAJOR = "pid, width = tl.program_id(0), tl.cdiv(N, BN)\n    m, n = pid // width, pid % width"
COLUMN_MAJOR = "pid, height = tl.program_id(0), tl.cdiv(M, BM)\n    m, n = pid % height, pid // height"
TWO_D = "n, m = tl.program_id(0), tl.program_id(1)"
HELPER = "m, n = place(tl.program_id(0), tl.cdiv(N, BN))"
GROUPED = """pid, width, height = tl.program_id(0), tl.cdiv(N, BN), tl.cdiv(M, BM)
    group = pid // (8 * width)
    size = min(height - group * 8, 8)
    m, n = group * 8 + pid % (8 * width) % size, pid % (8 * width) // size"""
SWIZZLED = """pid, width, height = tl.program_id(0), tl.cdiv(N, BN), tl.cdiv(M, BM)
    m, n = tl.swizzle2d(pid // width, pid % width, height, width, 8)"""


def source(order: str = ROW_MAJOR, grid: str = "(rows * columns,)") -> str:
    text = SOURCE.format(order=order, grid=grid)
    if "place(" in order:
        text = text.replace("@triton.jit", "@triton.jit\ndef place(p, w):\n    return p // w, p % w\n\n@triton.jit", 1)
    return text


def places(launch: Launch) -> list[tuple[float, float]]:
    """The first addresses of both operands in each program, in launch order."""
    loads = launch.kernel.loads()
    extents = [concrete(extent) for extent in launch.grid]
    result = []
    for program in range(launch.programs):
        values = {atom: 0.0 for load in loads for atom in load.offset.atoms()}
        values |= {ProgramId(0): program % extents[0], ProgramId(1): program // extents[0]}
        values = {atom: value for atom, value in values.items() if type(atom).__name__ != "Opaque"}
        result.append(tuple(load.offset.evaluate(values) for load in loads))
    return result


@pytest.mark.parametrize(
    ("text", "swept"),
    [
        pytest.param(source(), "w", id="row by row"),
        pytest.param(source(TWO_D, "(columns, rows)"), "w", id="two grid axes"),
        pytest.param(source(HELPER), "w", id="split in a helper"),
    ],
)  # fmt: skip
def test_order_that_sweeps_an_operand(text, swept):
    found = run_rule("KL205", text)
    assert found.only().symbol == "project"
    assert f"`{swept}`" in found.only().message
    before, after = found.contexts[0].workload.launches()[0], found.after().launches()[0]
    old, new = places(before), places(after)
    assert sorted(old) == sorted(new)
    wave = 264
    strips = [sum(len(set(one)) for one in zip(*order[:wave])) for order in (old, new)]
    assert strips[1] < 0.5 * strips[0]


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        pytest.param(source(GROUPED), {}, id="grouped"),
        pytest.param(source(SWIZZLED), {}, id="tl.swizzle2d"),
        pytest.param(source(), {"M": 128}, id="one row of tiles"),
        pytest.param(source(), {"M": 2048, "N": 4096, "K": 2048}, id="operands fit the L2"),
        pytest.param(source(), {"M": 1024, "N": 2048, "K": 32768}, id="one wave"),
        pytest.param(source(TWO_D, "(rows, columns)").replace("n, m = tl", "m, n = tl"), {"M": 512}, id="four rows, walked first"),
        pytest.param(
            source()
            .replace("def get_inputs", "def unused")
            .replace("M, N, K = 8192, 32768, 4096", "")
            .replace("self, h, w):", "self, h, w):\n        (M, K), N = h.shape, w.shape[0]"),
            {}, id="open sizes",
        ),
    ],
)  # fmt: skip
def test_order_that_does_not_matter(text, sizes):
    assert not run_rule("KL205", text, **sizes)


@pytest.mark.parametrize(
    ("order", "grid", "fast"),
    [
        pytest.param(ROW_MAJOR, "(rows * columns,)", "w", id="row by row"),
        pytest.param(COLUMN_MAJOR, "(rows * columns,)", "h", id="column by column"),
        pytest.param(TWO_D, "(columns, rows)", "w", id="two grid axes"),
        pytest.param(
            "m, n = tl.program_id(0), tl.program_id(1)", "(rows, columns)", "h", id="two grid axes, rows first"
        ),
    ],
)
def test_which_operand_neighbouring_programs_move(order, grid, fast):
    launch = run_rule("KL205", source(order, grid)).contexts[0].workload.launches()[0]
    found = program_order(launch, launch.kernel.dots()[0])
    assert found is not None
    assert found.fast_load.base == fast
    assert {found.slow_extent, found.fast_extent} == {64, 256}


def test_strips_of_a_wave():
    found = run_rule("KL205", source())
    launch = found.contexts[0].workload.launches()[0]
    order = program_order(launch, launch.kernel.dots()[0])
    assert order is not None
    assert tiles_of_wave(order, 132) == (1, 132)
    # The tutorial's picture: 8 rows, and as many columns as the wave has left.
    assert tiles_of_wave(order, 128, 8) == (8, 16)
    assert tiles_of_wave(order, 10**9, 8) == (64, 256)
