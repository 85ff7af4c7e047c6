"""Which change comes first: structure before tuning, unless tuning alone goes much further."""

from __future__ import annotations

import pytest

from kernlint.analysis import analysis
from kernlint.request import Request

PROGRAM = """
import torch
import triton
import triton.language as tl

@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    k = 0
    while k < K:
        at = k + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + at[None, :])
        y = tl.load(b + n[None, :] * K + at[:, None])
        acc += tl.dot(x, y)
        k += BK
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16))

M, N, K = 256, 256, 262144

class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        c = torch.empty(M, N, device=a.device, dtype=a.dtype)
        product[(M // 128, N // 128)](a, b, c, M, N, K, BM=128, BN=128, BK=64, num_warps=8)
        return c

def get_inputs():
    return [torch.randn(M, K, dtype=torch.float16), torch.randn(N, K, dtype=torch.float16)]
"""


@pytest.mark.parametrize(
    ("sizes", "rule"),
    [
        pytest.param({}, "KL203", id="four programs walk a very long sum"),
        pytest.param({"M": 4096, "N": 4096, "K": 4096}, "KL210", id="the grid is full"),
    ],
)
def test_structure_comes_first_unless_it_is_a_small_part(sizes: dict[str, int], rule: str) -> None:
    verdict = analysis(Request(PROGRAM, path="k.py", overrides=sizes)).verdict
    found = {finding.rule.code for finding in verdict.details.findings}
    assert "KL210" in found
    assert verdict.details.rule is not None and verdict.details.rule.code == rule


@pytest.mark.parametrize(
    ("tile", "worth"),
    [
        pytest.param(
            "BM=128, BN=256, BK=64, num_warps=8", False, id="a tile as good as the best, as far as the model can tell"
        ),
        pytest.param("BM=128, BN=128, BK=64, num_warps=8", False, id="another one"),
        pytest.param("BM=64, BN=64, BK=64, num_warps=4", True, id="a tile that is surely slower"),
        pytest.param("BM=16, BN=32, BK=32, num_warps=2", True, id="a tiny tile"),
    ],
)
def test_another_tile_must_be_sure_to_gain(tile: str, worth: bool) -> None:
    loop = "for k in range(0, K, BK):"
    source = PROGRAM.replace("    k = 0\n    while k < K:", f"    {loop}").replace("        k += BK\n", "")
    source = source.replace(
        "M // 128, N // 128", "M // {}, N // {}".format(*(part.split("=")[1] for part in tile.split(", ")[:2]))
    )
    source = source.replace("BM=128, BN=128, BK=64, num_warps=8", tile)
    assert loop in source and tile in source
    verdict = analysis(Request(source, path="k.py", device="h200", overrides={"M": 4096, "N": 4096, "K": 4096})).verdict
    assert verdict.worth_optimizing is worth
    gain = verdict.details.estimate.gpu
    assert gain is not None and gain.low is not None and (gain.low >= 1.0 or not worth)
