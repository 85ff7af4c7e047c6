"""Configurations are added to a tuner without asking only where they come out as the present ones."""

from __future__ import annotations

import pytest

from kernlint.fix import fix_source
from kernlint.request import Request

_SOURCE = """
import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BM": 32, "BN": 32, "BK": 32}, num_warps=2),
        triton.Config({"BM": 32, "BN": 32, "BK": 32}, num_warps=4),
    ],
    key=["M", "N", "K"],
)
@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    # first
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        acc += tl.dot(x, y)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(torch.nn.Module):
    def forward(self, a, b):
        M, K = a.shape
        N = b.shape[1]
        c = torch.empty(M, N, device=a.device)
        product[lambda meta: (triton.cdiv(M, meta["BM"]), triton.cdiv(N, meta["BN"]))](a, b, c, M, N, K)
        return c


def get_inputs():
    return [torch.randn(4096, 4096).half(), torch.randn(4096, 4096).half()]
"""


@pytest.mark.parametrize(
    ("old", "new", "safe"),
    [
        ("# first", "pass", True),
        ("acc += tl.dot(x, y)", "acc = acc * 0.5 + tl.dot(x, y)", False),
        (" & (k[None, :] < K)", "", False),
        ("# first", "tl.static_assert(BK == 32)", False),
    ],
)
def test_what_depends_on_the_tile(old: str, new: str, safe: bool) -> None:
    assert old in _SOURCE
    result = fix_source(Request(_SOURCE.replace(old, new), device="h100"), rules=["KL222"])
    assert [one.effects.applicability for one in result.applied] == ["safe"] * safe, result.refused
    assert safe or any("not proven" in one.reason for one in result.refused)
