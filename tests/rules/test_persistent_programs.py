"""KL203 on persistent kernels: programs that work through their share of more items than there are programs."""

import pytest
from support.findings import run_rule

from kernlint.rules.tiling.persistent import shares

TILES = """
FEW = 24

@triton.jit
def project(x, w, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    across = tl.cdiv(N, BN)
    k = tl.arange(0, BK)
    for tile in range(tl.program_id(0), tl.cdiv(M, BM) * across, tl.num_programs(0)):
        m = tile // across * BM + tl.arange(0, BM)
        n = tile % across * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for start in range(0, K, BK):
            a = tl.load(x + m[:, None] * K + (start + k)[None, :], mask=m[:, None] < M, other=0.0)
            b = tl.load(w + n[None, :] * K + (start + k)[:, None], mask=n[None, :] < N, other=0.0)
            acc = tl.dot(a, b, acc)
        tl.store(y + m[:, None] * N + n[None, :], acc.to(tl.bfloat16), mask=(m[:, None] < M) & (n[None, :] < N))

class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        y = torch.empty(x.shape[0], w.shape[0], device=x.device, dtype=x.dtype)
        project[(FEW,)](x, w, y, x.shape[0], w.shape[0], x.shape[1], BM=128, BN=64, BK=64, num_warps=4, num_stages=3)
        return y

def get_inputs():
    return [torch.randn(2048, 1024, dtype=torch.bfloat16), torch.randn(2048, 1024, dtype=torch.bfloat16)]
"""

ROWS = """
@triton.jit
def normalise(x, y, rows, D: tl.constexpr):
    c = tl.arange(0, D)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        v = tl.load(x + row * D + c)
        tl.store(y + row * D + c, v / tl.sqrt(tl.sum(v * v, axis=0) / D + 1e-6))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        normalise[(16,)](x, y, x.shape[0], D=1024)
        return y

def get_inputs():
    return [torch.randn(16384, 1024)]
"""

RUNS = ROWS.replace(
    "for row in range(tl.program_id(0), rows, tl.num_programs(0)):",
    "run = tl.cdiv(rows, tl.num_programs(0))\n"
    "    first = tl.program_id(0) * run\n"
    "    for row in range(first, tl.minimum(first + run, rows)):",
)

BLOCKS = """
@triton.jit
def scale(x, y, n, s, P: tl.constexpr, B: tl.constexpr):
    lanes = tl.arange(0, B)
    for start in range(tl.program_id(0) * B, n, P * B):
        i = start + lanes
        tl.store(y + i, tl.load(x + i, mask=i < n) * s, mask=i < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scale[(48,)](x, y, x.numel(), 2.0, P=48, B=1024)
        return y

def get_inputs():
    return [torch.randn(1 << 24)]
"""

HELPER = TILES.replace(
    "@triton.jit\ndef project",
    '''@triton.jit
def place(tile, across):
    """Row and column of a tile."""
    return tile // across, tile % across

@triton.jit
def project''',
).replace(
    "m = tile // across * BM + tl.arange(0, BM)\n        n = tile % across * BN + tl.arange(0, BN)",
    "i, j = place(tile, across)\n        m = i * BM + tl.arange(0, BM)\n        n = j * BN + tl.arange(0, BN)",
)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(TILES, id="tiles"),
        pytest.param(TILES.replace("FEW = 24", "FEW = 24  # one for each cluster"), id="a comment"),
        pytest.param(TILES.replace("project[(FEW,)]", "project[(min(FEW, 10 ** 6),)]"), id="at most as many"),
        pytest.param(TILES.replace("tile", "t0"), id="another name"),
        pytest.param(HELPER, id="a helper finds the tile"),
        pytest.param(ROWS, id="rows"),
        pytest.param(RUNS, id="runs of rows"),
        pytest.param(BLOCKS, id="blocks, the number of programs as a constexpr"),
    ],
)
def test_few_programs_for_many_items(source: str) -> None:
    found = run_rule("KL203", source)
    change = found.only().change
    assert change is not None
    assert "in place of" in change.method


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(TILES.replace("FEW = 24", "FEW = 132"), id="one for each SM"),
        pytest.param(TILES.replace("FEW = 24", "FEW = 128"), id="nearly one for each SM"),
        pytest.param(ROWS.replace("(16384, 1024)", "(16, 1024)"), id="no more rows than programs"),
        pytest.param(ROWS.replace("(16384, 1024)", "(20, 1024)"), id="hardly more rows than programs"),
        pytest.param(ROWS.replace("(16,)", "(1024,)"), id="more programs than SMs"),
        pytest.param(
            ROWS.replace("y + row * D + c, v", "y + row * D + c + tl.program_id(0), v"),
            id="the program moves the result",
        ),
        pytest.param(
            ROWS.replace("v / tl.sqrt", "v * tl.load(x + tl.program_id(0)) / tl.sqrt"), id="a value for each program"
        ),
        pytest.param(
            ROWS.replace("    for row", "    while tl.atomic_cas(y, 0, 1) == 1:\n        pass\n    for row"),
            id="a lock",
        ),
        pytest.param(
            ROWS.replace("rows, tl.num_programs(0)):", "rows, 8):").replace("(16,)", "(8,)").replace("16384", "8"),
            id="one row each",
        ),
        pytest.param(
            ROWS.replace("range(tl.program_id(0), rows, tl.num_programs(0))", "range(0, rows)"), id="each does all rows"
        ),
    ],
)
def test_silent(source: str) -> None:
    assert not run_rule("KL203", source)


@pytest.mark.parametrize("source", [ROWS, RUNS, BLOCKS])
def test_what_more_programs_promise(source: str) -> None:
    found = run_rule("KL203", source)
    share = shares(found.contexts[0].workload.launches()[0])
    assert share is not None and share.items == 16384
    assert found.promised() > 2
