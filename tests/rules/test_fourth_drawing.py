"""What rules said of packages that nobody had looked at, and should not have: each kind of it, and what is like it and is told."""

import pytest

from tests.support.values import severities

BUTTERFLY = """
    @triton.jit
    def stage(x, half, BLOCK: tl.constexpr):
        lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        first = {first}
        a = tl.load(x + first)
        b = tl.load(x + first + 16)
        tl.store(x + first, a + b)
        tl.store(x + first + 16, a - b)

    def run(x: torch.Tensor):
        stage[(8,)](x, 16, BLOCK=64)
"""


def test_halves_that_a_quotient_keeps_apart() -> None:
    apart = BUTTERFLY.format(first="(lane // 16) * 32 + lane % 16")
    assert severities("KL758", apart) == []
    assert severities("KL758", BUTTERFLY.format(first="lane")) == ["error"]


BITS = """
    @triton.jit
    def keep(x, y, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        mask = i < n
        v = tl.load(x + i, mask=mask, other=0).to(tl.int32)
        tl.store(y + i, v, mask={mask})
"""


@pytest.mark.parametrize(
    ("mask", "expected"),
    [("mask & v != 0", ["info"]), ("mask & v == 0", ["error"]), ("mask & v < 3", ["error"]), ("mask & (v != 0)", [])],
)
def test_a_mask_and_any_bit(mask: str, expected: list[str]) -> None:
    assert severities("KL744", BITS.format(mask=mask)) == expected


@pytest.mark.parametrize(("rows", "expected"), [(16, "info"), (32, "warning")])
def test_a_sum_of_few_values(rows: int, expected: str) -> None:
    source = f"""
    @triton.jit
    def total(x, o, N: tl.constexpr):
        i = tl.arange(0, {rows})[:, None] * N + tl.arange(0, N)[None, :]
        tl.store(o + tl.arange(0, N), tl.sum(tl.load(x + i), axis=0))

    def run():
        x = torch.randn({rows}, 64, device="cuda", dtype=torch.float16)
        o = torch.empty(64, device="cuda")
        total[(1,)](x, o, N=64)
        return o
    """
    assert severities("KL778", source) == [expected]


@pytest.mark.parametrize(
    ("made", "shape", "expected"),
    [("torch.empty(elements(), device='cuda')", "1", []), ("torch.empty(4, 8, device='cuda').t()", "32", ["error"])],
)
def test_a_view_of_what_has_an_unknown_shape(made: str, shape: str, expected: list[str]) -> None:
    source = f"""
    from elsewhere import elements

    @triton.jit
    def fill(x):
        tl.store(x, 1.0)

    def run():
        out = {made}
        fill[(1,)](out)
        return out.view({shape})
    """
    assert severities("KL795", source) == expected
