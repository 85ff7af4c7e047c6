"""KL201: another tile is advised only where the launch would still compute the same elements."""

import textwrap

import pytest
from support.findings import run_rule

from kernlint.cost.device import find_device
from kernlint.operators import product_tiles
from kernlint.request import Request
from kernlint.rules.finding import Variant
from kernlint.rules.proofs.shared_memory import overflowing
from kernlint.rules.registry import find_rule
from kernlint.workload import Load

BAD = textwrap.dedent(find_rule("KL201").bad)
GRID = '(4096 // meta["BM"], 4096 // meta["BN"])'
assert GRID in BAD


@pytest.mark.parametrize(
    "grid",
    [
        pytest.param("(256, 256)", id="written out"),
        pytest.param('(4096 // 16, 4096 // meta["BN"])', id="rows of another constant"),
        pytest.param('(4096 // meta["BM"], 4096 // 16)', id="columns of another constant"),
    ],
)
def test_a_grid_that_does_not_follow_the_tile(grid: str) -> None:
    assert not run_rule("KL201", BAD.replace(GRID, grid))


def test_a_tile_that_would_leave_rows_out() -> None:
    # 4000 is a multiple of 32 and of no larger power of two, and nothing masks the tail.
    source = BAD.replace("4096", "4000").replace("BM=16, BN=16", "BM=32, BN=32")
    assert not run_rule("KL201", source)


def test_masks_let_the_tile_be_any() -> None:
    source = BAD.replace("4096", "4000").replace(
        "(start + k)[None, :])", "(start + k)[None, :], mask=(m < 4000)[:, None], other=0)"
    )
    source = source.replace(
        "+ n[None, :])\n        acc", "+ n[None, :], mask=(n < 4000)[None, :], other=0)\n        acc"
    )
    source = source.replace(
        "acc.to(tl.float16))", "acc.to(tl.float16), mask=(m < 4000)[:, None] & (n < 4000)[None, :])"
    )
    source = source.replace(
        '4000 // meta["BM"], 4000 // meta["BN"]', 'triton.cdiv(4000, meta["BM"]), triton.cdiv(4000, meta["BN"])'
    )
    assert run_rule("KL201", source)


@pytest.mark.parametrize("rule", ["KL201", "KL204"])
def test_what_is_advised_fits_shared_memory(rule: str) -> None:
    from kernlint.fix import fix_source

    source = textwrap.dedent(find_rule(rule).bad).replace("BK=32", "BK=128").replace("BK=64", "BK=128")
    after = fix_source(Request(source, path="k.py"), rules=[rule]).after
    assert not run_rule("KL207", after)


SKINNY = textwrap.dedent(find_rule("KL203").bad).replace("[(8,)]", '[lambda meta: (triton.cdiv(1024, meta["BN"]),)]')
SKINNY = SKINNY.replace(", BM=16, BN=128, BK=64", ", BM=16")
SKINNY = SKINNY.replace("@triton.jit", "@triton.autotune(configs=CONFIGS, key=['N', 'K'])\n@triton.jit", 1)


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        pytest.param("(128, 64)", True, id="8 or 16 programs"),
        pytest.param("(128, 4)", False, id="a configuration that fills the device"),
    ],
)
def test_configurations_that_all_leave_the_device_idle(rows: str, found: bool) -> None:
    configs = f"CONFIGS = [triton.Config({{'BN': n, 'BK': 64}}) for n in {rows}]"
    findings = run_rule("KL203", f"{configs}\n{SKINNY}").findings
    assert bool(findings) == found
    if findings:
        assert "at most 16 programs" in findings[0].message


OPEN = (
    textwrap.dedent(find_rule("KL204").bad)
    .split("def get_inputs")[0]
    .replace("c, 4096, 4096", "c, b.shape[1], b.shape[0]")
)


@pytest.mark.parametrize("option", ["waves_per_eu=2", "matrix_instr_nonkdim=16", "kpack=2"])
def test_one_stage_on_amd_is_no_remark(option: str) -> None:
    assert [f.severity for f in run_rule("KL204", OPEN).findings] == ["info"]
    assert not run_rule("KL204", OPEN.replace("num_stages=1", f"num_stages=1, {option}"))


#: A helper that launches one kernel for products of several sizes.
SHARED = """
@triton.jit
def matmul(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :], mask=(m < M)[:, None], other=0.0)
        y = tl.load(b + (start + k)[:, None] * N + n[None, :], mask=(n < N)[None, :], other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m < M)[:, None] & (n < N)[None, :])

def product(a, b):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), device=a.device, dtype=torch.float16)
    matmul[(triton.cdiv(M, 16), triton.cdiv(N, 16))](a, b, c, M, N, K, BM=16, BN=16, BK=32)
    return c

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = [torch.randn(4096, n, dtype=torch.float16) for n in WIDTHS]

    def forward(self, a):
        return [product(a, weight) for weight in self.weights]

def get_inputs():
    return [torch.randn(4096, 4096, dtype=torch.float16)]
"""


@pytest.mark.parametrize("widths", [(16, 4096, 2048), (4096, 2048, 16)], ids=["small first", "small last"])
def test_a_launch_of_one_column_of_tiles_does_not_hide_what_sets_the_tile_of_others(widths: tuple[int, ...]) -> None:
    found = run_rule("KL201", SHARED.replace("WIDTHS", repr(widths)))
    assert {finding.span for finding in found.findings} and len({f.span for f in found.findings}) == 1
    assert found.contexts[0].gpu_us(found.findings[0].change.variant) < found.contexts[0].gpu_us(Variant())


def test_a_place_of_many_sizes_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []
    search = product_tiles.searched_tiles
    monkeypatch.setattr(
        product_tiles, "searched_tiles", lambda *args, **kwargs: searched.append(1) or search(*args, **kwargs)
    )
    widths = tuple(range(512, 512 * 13, 512))
    found = run_rule("KL201", SHARED.replace("WIDTHS", repr(widths)))
    assert found.findings and len(searched) == 1


#: A product with weights of four bits, whose packed words are what the loop loads.
PACKED = """
@triton.jit
def packed(x, w, y, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n, k = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        a = tl.load(x + m[:, None] * K + (start + k)[None, :])
        words = tl.load(w + ((start + k) // 8)[:, None] * N + n[None, :])
        b = ((words >> (k % 8 * 4)[:, None]) & 15).to(tl.float16)
        acc = tl.dot(a, b, acc)
    tl.store(y + m[:, None] * N + n[None, :], acc.to(tl.float16))

class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        y = torch.empty(4096, 4096, device=x.device, dtype=torch.float16)
        BM, BN = 32, 32
        packed[(4096 // BM, 4096 // BN)](x, w, y, 4096, 4096, BM=BM, BN=BN, BK=32, num_warps=4)
        return y

def get_inputs():
    return [torch.randn(4096, 4096).half(), torch.randint(0, 2**31 - 1, (512, 4096), dtype=torch.int32)]
"""


def test_words_that_an_operand_is_made_of_have_to_fit_too() -> None:
    """They are buffered ahead like operands: such a tile of 256x128x64 with four stages had 247 KB."""
    found = run_rule("KL201", PACKED, device="h200-sxm")
    launch = found.after().launches()[0]
    loaded = [node for node in launch.kernel.nodes(Load) if len(node.shape) == 2]
    assert len(loaded) == 2 and launch.num_stages * sum(load.bytes for load in loaded) <= 232448
    assert not overflowing(launch, find_device("h200-sxm"), computed=True)
