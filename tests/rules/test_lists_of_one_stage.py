"""KL204 on autotuned kernels: lists of configurations none of which pipelines the loop of dots."""

import pytest
from support.findings import run_rule
from support.fixes import fixed

ONE = 'triton.Config({"BM": 128, "BN": 128, "BK": 64}, num_warps=8, num_stages=1)'
TWO = 'triton.Config({"BM": 64, "BN": 128, "BK": 64}, num_warps=4, num_stages=1)'
KERNEL = """
@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(a + m[:, None] * K + (start + k)[None, :], mask=m[:, None] < M, other=0.0)
        y = tl.load(b + (start + k)[:, None] * N + n[None, :], mask=n[None, :] < N, other=0.0)
        acc = tl.dot(x, y, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        M, K = a.shape
        c = torch.empty(M, b.shape[1], device=a.device, dtype=a.dtype)
        grid = lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(b.shape[1], meta["BN"]))
        product[grid](a, b, c, M, b.shape[1], K)
        return c

def get_inputs():
    return [torch.randn(4096, 2048, dtype=torch.float16), torch.randn(2048, 4096, dtype=torch.float16)]
"""


def tuned(*configurations: str, more: str = "") -> str:
    listed = ",\n        ".join(configurations)
    head = f'@triton.autotune(\n    configs=[\n        {listed},\n    ],\n    key=["M", "N", "K"],{more}\n)'
    return KERNEL.replace("@triton.jit", f"{head}\n@triton.jit", 1)


#: Two products of one operand, as in a gated layer.
GATED = (
    tuned(ONE, TWO)
    .replace("a, b, c, M", "a, b, g, c, M")
    .replace("acc = tl.zeros((BM, BN), tl.float32)", "acc = tl.zeros((BM, BN), tl.float32)\n    gate = acc")
    .replace(
        "acc = tl.dot(x, y, acc)",
        "z = tl.load(g + (start + k)[:, None] * N + n[None, :], mask=n[None, :] < N, other=0.0)\n"
        "        acc += tl.dot(x, y)\n        gate += tl.dot(x, z)",
    )
    .replace("acc.to(", "(acc * tl.sigmoid(gate)).to(")
    .replace("def forward(self, a, b)", "def forward(self, a, b, g)")
    .replace("dtype=torch.float16)]", "dtype=torch.float16), torch.randn(2048, 4096, dtype=torch.float16)]")
)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(tuned(ONE, TWO), id="two tiles"),
        pytest.param(tuned(ONE, f"{TWO}  # small"), id="a comment"),
        pytest.param(tuned(ONE, TWO).replace("BM", "BLOCK_M"), id="other names"),
        pytest.param(tuned(ONE, TWO).replace("range(0, K, BK)", "tl.range(0, K, BK)"), id="tl.range"),
        pytest.param(GATED, id="two products of one operand"),
        pytest.param(
            tuned('*[triton.Config({"BM": m, "BN": 128, "BK": 64}, num_warps=4, num_stages=1) for m in (64, 128)]'),
            id="made by a comprehension",
        ),
    ],
)
def test_found(source: str) -> None:
    change = run_rule("KL204", source).only().change
    assert change is not None
    assert "num_stages=3" in change.plan or "num_stages=4" in change.plan


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(tuned(ONE, TWO.replace("num_stages=1", "num_stages=3")), id="one configuration pipelines"),
        pytest.param(tuned(ONE, TWO).replace("num_stages=1", "num_stages=2"), id="all pipeline"),
        pytest.param(
            tuned(ONE, TWO).replace("range(0, K, BK)", "tl.range(0, K, BK, num_stages=3)"), id="the loop does"
        ),
        pytest.param(tuned(ONE, TWO, more='\n    prune_configs_by={"early_config_prune": pick},'), id="pruned"),
        pytest.param(tuned(ONE, TWO).replace("2048", "64"), id="one step along K"),
        pytest.param(tuned(ONE, TWO).replace("4096, 2048", "M, K_").replace("2048, 4096", "K_, 64"), id="no sizes"),
        pytest.param(
            tuned(ONE, TWO).replace('"BK": 64}', '"BK": 64, "waves_per_eu": 2}'), id="options of AMD's back end"
        ),
        pytest.param(
            tuned(ONE, TWO).replace("acc = tl.dot(x, y, acc)", "acc += tl.sum(x, 1)[:, None] * tl.sum(y, 0)[None, :]"),
            id="no product",
        ),
        pytest.param(
            tuned(ONE, TWO)
            .replace("for start in range(0, K, BK):", "start = 0\n    while start < K:")
            .replace("acc = tl.dot(x, y, acc)", "acc = tl.dot(x, y, acc)\n        start += BK"),
            id="a while loop",
        ),
    ],
)
def test_silent(source: str) -> None:
    assert not run_rule("KL204", source)


def test_the_list_ends_with_its_own_tiles_and_more_stages() -> None:
    code = fixed(f"import torch\nimport triton\nimport triton.language as tl\n{tuned(ONE, TWO)}", "KL204").after
    assert ONE in code and TWO in code
    added = [line for line in code.splitlines() if "triton.Config" in line and "num_stages=1" not in line]
    assert 1 <= len(added) <= 3
    assert all('"BM": 128, "BN": 128' in line or '"BM": 64, "BN": 128' in line for line in added)
