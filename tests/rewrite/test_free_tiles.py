"""A tile is changed only where nothing else in the program depends on it."""

from __future__ import annotations

import re
import textwrap

import pytest

from kernlint.fix import Fixed, fix_source
from kernlint.request import Request
from kernlint.rules.registry import find_rule

_PRODUCT = """
import torch
import triton
import triton.language as tl

GROUP = 32


@triton.jit
def product(a, b, s, c, M, N, K, GROUP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        x = tl.load(a + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * N + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        scale = tl.load(s + SCALE, mask=n < N, other=0.0)
        acc = tl.dot(x, y * scale[None, :], acc)
    tl.store(c + m[:, None] * N + n[None, :], acc.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


class ModelNew(torch.nn.Module):
    def forward(self, a, b, s):
        assert a.dtype == b.dtype == s.dtype == torch.float16
        M, K = a.shape
        N = b.shape[1]
        c = torch.empty(M, N, device=a.device, dtype=torch.float16)
        BM, BN, BK = 16, 16, 32
        # more
        product[(triton.cdiv(M, BM), triton.cdiv(N, BN))](a, b, s, c, M, N, K, GROUP=GROUP, BM=BM, BN=BN, BK=BK)
        return c


def get_inputs():
    return [
        torch.randn(2048, 4096, dtype=torch.float16),
        torch.randn(4096, 2048, dtype=torch.float16),
        torch.randn(4096 // GROUP, 2048, dtype=torch.float16),
    ]
"""

PER_GROUP = _PRODUCT.replace("SCALE", "(start // GROUP) * N + n")
PER_ELEMENT = _PRODUCT.replace(
    "s + SCALE, mask=n < N", "s + (k[:, None] // GROUP) * N + n[None, :], mask=n[None, :] < N"
)
PER_ELEMENT = PER_ELEMENT.replace("scale[None, :]", "scale")


def fixed(source: str, **options: object) -> Fixed:
    return fix_source(Request(source, device="h100"), rules=["KL201"], **options)  # type: ignore[arg-type]


def tile(source: str) -> tuple[int, ...]:
    found = re.search(r"BM, BN, BK = (\d+), (\d+), (\d+)", source)
    assert found is not None
    return tuple(map(int, found.groups()))


@pytest.mark.parametrize("size", ["32", "min(128, GROUP)", "GROUP"])
def test_one_scale_a_step_binds_the_step_to_the_group(size: str) -> None:
    before = PER_GROUP.replace("= 16, 16, 32", f"= 16, 16, {size}")
    result = fixed(before)
    assert [one.effects.applicability for one in result.applied] == ["safe"], result.refused
    assert "GROUP = 32\n" in result.after and re.search(rf"BM, BN, BK = \d+, \d+, {re.escape(size)}\n", result.after)
    assert "BM, BN, BK = 16, 16" not in result.after


def test_a_scale_for_each_element_leaves_the_step_free() -> None:
    result = fixed(PER_ELEMENT)
    assert [one.effects.applicability for one in result.applied] == ["safe"], result.refused
    assert tile(result.after)[2] > 32


def test_a_buffer_made_with_the_tile_binds_it() -> None:
    """Its rows are the tiles: with fewer of them somebody reads rows that nobody wrote."""
    source = PER_ELEMENT.replace("# more", "rows = torch.zeros(triton.cdiv(M, BM), device=a.device)").replace(
        "return c\n", "return c * rows.sum()\n", 1
    )
    result = fixed(source)
    assert tile(result.after)[0] == 16 or not result.applied


def test_an_argument_that_follows_the_tile_is_not_proven() -> None:
    source = PER_ELEMENT.replace("N, K, GROUP: tl", "N, K, steps, GROUP: tl").replace(
        "M, N, K, GROUP=", "M, N, K, K // BK, GROUP="
    )
    source = source.replace("y * scale", "y * scale * steps")
    result = fixed(source)
    assert not result.applied
    assert result.refused and all(one.unsafe and "steps" in one.reason for one in result.refused)


def test_a_row_of_scales_for_each_tile_of_rows_binds_the_tile() -> None:
    source = PER_ELEMENT.replace("s + (k[:, None] // GROUP) * N + n[None, :]", "s + tl.program_id(0) * N + n[None, :]")
    result = fixed(source)
    assert tile(result.after)[0] == 16


def test_a_reduction_over_the_tile_is_not_proven_to_be_free_of_it() -> None:
    source = PER_ELEMENT.replace("acc.to(tl.float16)", "(acc / tl.sum(acc, 1)[:, None]).to(tl.float16)")
    result = fixed(source)
    assert not result.applied and any("reduction" in one.reason for one in result.refused)


_STEP = "acc = tl.dot(x, y, acc)"
_STORED = "acc.to(tl.float16)"


@pytest.mark.parametrize(
    ("step", "stored", "free"),
    [
        (_STEP, _STORED, True),
        ("acc += tl.dot(x, y)", "tl.maximum(acc * 2.0, 0.0).to(tl.float16)", True),
        ("acc = acc * 0.5 + tl.dot(x, y)", _STORED, False),
        ("acc += tl.dot(x, y) + 1.0", _STORED, False),
        ("acc = (acc + tl.dot(x, y)).to(tl.float16).to(tl.float32)", _STORED, False),
        (_STEP, "(acc + tl.program_id(0) * 100).to(tl.float16)", False),
        (_STEP, "(acc / tl.cdiv(K, BK)).to(tl.float16)", False),
        (_STEP, "(acc * BK).to(tl.float16)", False),
        (_STEP, "(acc + (m % BM)[:, None]).to(tl.float16)", False),
        (_STEP, "tl.where(tl.program_id(0) == tl.program_id(1), acc, 0.0).to(tl.float16)", False),
    ],
)
def test_what_is_stored_does_not_depend_on_the_tile(step: str, stored: str, free: bool) -> None:
    source = textwrap.dedent(find_rule("KL201").bad).replace(_STEP, step).replace(_STORED, stored)
    result = fix_source(Request(source, path="k.py", device="h100-sxm"), rules=["KL201"], unsafe=False)
    assert bool(result.applied) == free, result.refused
    assert free or "may depend on the tile" in " ".join(one.reason for one in result.refused)
