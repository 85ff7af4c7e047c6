"""Blocks of products that have anything inside their masks: counted by hand."""

from __future__ import annotations

import pytest

from kernlint.analysis import read_program
from kernlint.headroom.blocks import kept_share
from kernlint.request import Request

SOURCE = """
import torch, triton, triton.language as tl

@triton.jit
def masked(x, w, y, n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, {end}, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(x + m[:, None] * n + k[None, :])
        a = tl.where({mask}, a, 0.0)
        total += tl.dot(a, tl.load(w + k[:, None] * BN + c[None, :]))
    tl.store(y + m[:, None] * BN + c[None, :], total)

class ModelNew(torch.nn.Module):
    def forward(self, x, w):
        y = torch.empty(8192, 64, device=x.device)
        masked[(128,)](x, w, y, 8192, BM=64, BN=64, BK=32)
        return y

def get_inputs():
    return [torch.randn(8192, 8192), torch.randn(8192, 64)]
"""


@pytest.mark.parametrize(
    ("mask", "end", "share", "longest"),
    [
        ("k[None, :] <= m[:, None]", "n", 0.504, 1.0),  # a triangle: the last program has all of its rounds
        ("k[None, :] >= m[:, None]", "n", 0.504, 1.0),
        ("(k[None, :] <= m[:, None]) & (m[:, None] - k[None, :] < 512)", "n", 18 / 256, 18 / 256),  # a band
        ("k[None, :] < n", "n", 1.0, 1.0),  # the edge of the matrix
        ("k[None, :] <= m[:, None]", "(tl.program_id(0) + 1) * BM", 1.0, 1.0),  # what lies outside is left out already
        ("tl.load(y + k)[None, :] > 0", "n", 1.0, 1.0),  # only the data know
    ],
)
def test_blocks_with_anything_inside(mask: str, end: str, share: float, longest: float) -> None:
    (launch,) = read_program(Request(SOURCE.format(mask=mask, end=end))).workloads[0].launches()
    found = kept_share(launch)
    assert found == (pytest.approx(share, rel=0.15), pytest.approx(longest, rel=0.15))
