"""KL511: squared distances by differences, which norms and a matrix product give as well."""

import pytest
from support.findings import run_rule

COLUMNS = """
@triton.jit
def square(v):
    return v * v

@triton.jit
def squared_distance(p, q):
    gap = p - q
    return gap * gap

@triton.jit
def nearest(x, c, out, N, C, D, BN: tl.constexpr, BC: tl.constexpr):
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    best = tl.full((BN,), float("inf"), tl.float32)
    for start in range(0, C, BC):
        j = start + tl.arange(0, BC)
        acc = tl.zeros((BN, BC), tl.float32)
        for d in range(D):
            a = tl.load(x + n * D + d, mask=n < N, other=0.0).to(tl.float32)
            b = tl.load(c + j * D + d, mask=j < C, other=0.0).to(tl.float32)
            diff = a[:, None] - b[None, :]
            acc += diff * diff
        acc = tl.where((j < C)[None, :], acc, float("inf"))
        best = tl.minimum(best, tl.min(acc, axis=1))
    tl.store(out + n, best, mask=n < N)

N, C, D = 16384, 512, 96

class ModelNew(torch.nn.Module):
    def forward(self, x, c):
        out = torch.empty(N, device=x.device, dtype=torch.float32)
        nearest[(triton.cdiv(N, 64),)](x, c, out, N, C, D, BN=64, BC=32)
        return out

def get_inputs():
    return [torch.randn(N, D, dtype=torch.float16), torch.randn(C, D, dtype=torch.float16)]
"""
DIFF, ADD = "diff = a[:, None] - b[None, :]", "acc += diff * diff"

TILES = """
@triton.jit
def rbf(x, c, out, C, D, gamma, BN: tl.constexpr, BC: tl.constexpr, BD: tl.constexpr):
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    j = tl.program_id(1) * BC + tl.arange(0, BC)
    acc = tl.zeros((BN, BC), tl.float32)
    for start in range(0, D, BD):
        d = start + tl.arange(0, BD)
        a = tl.load(x + n[:, None] * D + d[None, :])
        b = tl.load(c + j[:, None] * D + d[None, :])
        diff = a[:, None, :] - b[None, :, :]
        acc += tl.sum(diff * diff, axis=2)
    tl.store(out + n[:, None] * C + j[None, :], tl.exp(-gamma * acc))

N, C, D = 8192, 1024, 128

class ModelNew(torch.nn.Module):
    def forward(self, x, c):
        out = torch.empty(N, C, device=x.device, dtype=torch.float32)
        rbf[(N // 32, C // 64)](x, c, out, C, D, 0.5, BN=32, BC=64, BD=16, num_warps=4)
        return out

def get_inputs():
    return [torch.randn(N, D), torch.randn(C, D)]
"""
TILE_DIFF, TILE_ADD = "diff = a[:, None, :] - b[None, :, :]", "acc += tl.sum(diff * diff, axis=2)"


def edited(source, *edits):
    for old, new in edits:
        assert old in source, old
        source = source.replace(old, new)
    return source


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param([], id="as written"),
        pytest.param([("diff", "gap_to")], id="renamed"),
        pytest.param([(ADD, "acc = acc + diff * diff")], id="the sum spelled out"),
        pytest.param([(ADD, "acc = diff * diff + acc")], id="the sum the other way round"),
        pytest.param([(ADD, "sq = diff * diff\n            acc += sq")], id="the square named"),
        pytest.param([(ADD, "acc += square(diff)")], id="a helper for the square"),
        pytest.param([(ADD, "acc += square(v=a[:, None] - b[None, :])"), (DIFF, "pass")], id="a helper by keyword"),
        pytest.param([(ADD, "acc += squared_distance(a[:, None], b[None, :])"), (DIFF, "pass")], id="a helper for all of it"),
        pytest.param(
            [(ADD, "acc += (a[:, None] - b[None, :]) * (a[:, None] - b[None, :])"), (DIFF, "pass")], id="written twice"
        ),
        pytest.param([(DIFF, "diff = b[None, :] - a[:, None]")], id="the other sign"),
        pytest.param([(DIFF, "diff = (a[:, None] - b[None, :]).to(tl.float32)")], id="a cast of the difference"),
        pytest.param([("range(D)", "tl.range(0, D)")], id="tl.range"),
        pytest.param([("x + n * D + d", "x + d * N + n")], id="points along the lanes"),
        pytest.param([("float16", "bfloat16")], id="bf16"),
    ],
)  # fmt: skip
def test_differences_one_coordinate_at_a_time(edits):
    found = run_rule("KL511", edited(COLUMNS, *edits))
    assert "64 rows to 32 rows" in found.only().message
    assert found.promised() > 1.2


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param([], id="as written"),
        pytest.param([("axis=2", "2")], id="axis by position"),
        pytest.param([(TILE_ADD, "acc += (diff * diff).sum(axis=2)")], id="a method"),
        pytest.param(
            [("@triton.jit\ndef rbf", "AXIS = tl.constexpr(2)\n\n@triton.jit\ndef rbf"), (TILE_ADD, "acc += (diff * diff).sum(AXIS)")],
            id="a method with a named axis",
        ),
        pytest.param(
            [("@triton.jit\ndef rbf", "import triton.language as lang\n\n@triton.jit\ndef rbf"),
             (TILE_ADD, "acc += lang.sum(diff * diff, 2)")], id="another name for the language",
        ),
        pytest.param([(TILE_ADD, "sq = diff * diff\n        acc = acc + tl.sum(sq, axis=2)")], id="the square named"),
        pytest.param(
            [("b = tl.load(c + j[:, None] * D + d[None, :])", "b = tl.load(c + j[None, :] * D + d[:, None])"),
             (TILE_DIFF, "diff = a[:, :, None] - b[None, :, :]"), ("axis=2", "axis=1")], id="the middle axis",
        ),
        pytest.param([("torch.randn(N, D), torch.randn(C, D)", "torch.randn(N, D).half(), torch.randn(C, D).half()")], id="fp16"),
        pytest.param([("tl.exp(-gamma * acc)", "tl.sqrt(acc)")], id="distances"),
        pytest.param([("BD=16", "BD=32"), ("BC=64", "BC=32"), ("C // 64", "C // 32")], id="another tile"),
    ],
)  # fmt: skip
def test_differences_in_three_dimensions(edits):
    found = run_rule("KL511", edited(TILES, *edits))
    assert found.only().symbol == "rbf"
    assert found.promised() > 1.2


def test_the_advice_says_what_it_costs():
    change = run_rule("KL511", TILES).only().change
    assert change is not None and "digits" in change.plan and "tf32x3" in change.plan
    change = run_rule("KL511", COLUMNS).only().change
    assert change is not None and "tf32x3" not in change.plan and "minimum" in change.plan


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param([(ADD, "acc += tl.abs(diff)")], id="absolute differences"),
        pytest.param([(ADD, "acc += diff")], id="differences"),
        pytest.param([(ADD, "acc += diff * diff * diff")], id="cubes"),
        pytest.param([(ADD, "acc += diff * tl.abs(diff)")], id="signed squares"),
        pytest.param([(ADD, "acc -= diff * diff")], id="subtracted"),
        pytest.param([(ADD, "acc = tl.maximum(acc, diff * diff)")], id="the largest coordinate"),
        pytest.param([(ADD, "acc = acc * 0.5 + diff * diff")], id="a recurrence"),
        pytest.param([(ADD, "acc += diff * acc")], id="times the sum itself"),
        pytest.param([(DIFF, "diff = a[:, None] + b[None, :]")], id="squares of sums"),
        pytest.param([(DIFF, "diff = a[:, None] * b[None, :]")], id="squares of products"),
        pytest.param([(ADD, "acc += diff / (1.0 + diff * diff)")], id="a kernel of another shape"),
        pytest.param([(ADD, "acc += tl.where(diff > 1.0, diff, diff * diff)")], id="huber"),
        pytest.param([(ADD, "acc += tl.minimum(diff * diff, 1.0)")], id="clipped squares"),
        pytest.param([(ADD, "acc += (a[:, None] - b[None, :]) * (b[None, :] - a[:, None])"), (DIFF, "pass")], id="minus the square"),
        pytest.param([(ADD, "acc += tl.exp(-diff * diff)")], id="a kernel for each coordinate"),
        pytest.param([("D = 16384, 512, 96", "D = 16384, 512, 3")], id="three dimensions"),
        pytest.param([("BC=32", "BC=8")], id="eight columns"),
        pytest.param([("c + j * D + d", "c + j")], id="one coordinate for all"),
        pytest.param([("torch.float16)", "torch.int32)")], id="integers"),
    ],
)  # fmt: skip
def test_other_loops_stay(edits):
    assert not run_rule("KL511", edited(COLUMNS, *edits))


@pytest.mark.parametrize(
    "edits",
    [
        pytest.param([(TILE_ADD, "acc += tl.sum(tl.abs(diff), axis=2)")], id="absolute differences"),
        pytest.param([(TILE_ADD, "acc = tl.maximum(acc, tl.max(diff * diff, axis=2))")], id="the largest coordinate"),
        pytest.param([(TILE_DIFF, "diff = a[:, None, :] * b[None, :, :]")], id="squares of products"),
        pytest.param([(TILE_DIFF, "diff = a[:, None, :] + b[None, :, :]")], id="squares of sums"),
        pytest.param([(TILE_ADD, "acc += tl.sum(diff, axis=2)")], id="differences"),
        pytest.param([(TILE_ADD, "acc += tl.sum(diff * (diff + 1.0), axis=2)")], id="something else of it"),
        pytest.param([(TILE_ADD, "acc += tl.sum(a[:, None, :] * b[None, :, :], axis=2)")], id="a product"),
        pytest.param([(TILE_ADD, "acc += tl.dot(a, tl.trans(b))")], id="a dot"),
        pytest.param([(TILE_ADD, "acc += tl.sum(tl.exp(-diff * diff), axis=2)")], id="a kernel for each coordinate"),
        pytest.param([("BN=32", "BN=1"), ("N // 32", "N")], id="one row"),
        pytest.param([("b[None, :, :]", "a[None, :, :]")], id="one tile with itself"),
    ],
)  # fmt: skip
def test_other_sums_stay(edits):
    assert not run_rule("KL511", edited(TILES, *edits))


def test_open_sizes_are_found_without_a_number():
    source = COLUMNS.split("N, C, D = ")[0] + (
        "def run(x: torch.Tensor, c: torch.Tensor):\n    N, D = x.shape\n    C = c.shape[0]\n"
        "    assert x.dtype == torch.float16 and c.dtype == torch.float16\n"
        "    out = torch.empty(N, device=x.device, dtype=torch.float32)\n"
        "    nearest[(triton.cdiv(N, 64),)](x, c, out, N, C, D, BN=64, BC=32)\n    return out\n"
    )
    assert run_rule("KL511", source).only().change is not None
