"""Which change comes first: structure before tuning, unless tuning alone goes much further."""

from __future__ import annotations

import pytest

from kernlint.analysis import analysis

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
    verdict = analysis(PROGRAM, path="k.py", overrides=sizes).verdict
    found = {finding.rule.code for finding in verdict.details.findings}
    assert "KL210" in found
    assert verdict.details.rule is not None and verdict.details.rule.code == rule
