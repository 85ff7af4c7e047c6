"""Kernels of which several constexprs are open: what is found of them may not rest on two that were assumed to be equal."""

import pytest

from tests.support.values import severities

IN_PLACE = """
    @triton.jit
    def shift(x, n, TILE: tl.constexpr, PART: tl.constexpr, SCALED: tl.constexpr):
        i = tl.program_id(0) * TILE + tl.arange(0, {part})
        left = tl.load(x + i - 1, mask=(i > 0) & (i < n), other=0.0)
        if SCALED:
            left = left * PART
        tl.store(x + i, left, mask=i < n)

    def run(x, **settings):
        shift[(triton.cdiv(x.numel(), 64),)](x, x.numel(), **settings)
"""
ON_ROWS = """
    @triton.jit
    def copy(x, y, M, ROWS: tl.constexpr, COLUMNS: tl.constexpr, SCALED: tl.constexpr):
        m = tl.arange(0, ROWS)
        n = tl.arange(0, {columns})
        p = m[:, None] * {columns} + n[None, :]
        v = tl.load(x + p, mask=m < M, other=0.0)
        tl.store(y + p, v * COLUMNS if SCALED else v, mask=m[:, None] < M)
"""
UNMASKED = """
    @triton.jit
    def copy(x, y, n, TILE: tl.constexpr, PART: tl.constexpr, SCALED: tl.constexpr):
        i = tl.program_id(0) * TILE + tl.arange(0, TILE)
        v = tl.load(x + i, mask=i < n, other=0.0)
        tl.store(y + tl.program_id(0) * {part} + tl.arange(0, TILE), v * PART if SCALED else v)
"""


@pytest.mark.parametrize(
    ("code", "source", "expected"),
    [
        ("KL760", IN_PLACE.format(part="TILE"), ["error"]),
        ("KL760", IN_PLACE.format(part="PART"), []),
        ("KL743", ON_ROWS.format(columns="ROWS"), ["warning"]),
        ("KL743", ON_ROWS.format(columns="COLUMNS"), ["info"]),
        ("KL736", UNMASKED.format(part="TILE"), ["warning"]),
        ("KL736", UNMASKED.format(part="PART"), []),
    ],
)
def test_what_rests_on_two_open_constexprs(code: str, source: str, expected: list[str]) -> None:
    assert severities(code, source) == expected


def test_tiles_of_given_sizes() -> None:
    """What a launch gives is read as given."""
    source = IN_PLACE.format(part="PART")
    assert severities("KL760", source + "\n    def go(x): run(x, TILE=64, PART=64, SCALED=False)\n") == ["error"]
    assert severities("KL760", source + "\n    def go(x): run(x, TILE=64, PART=32, SCALED=False)\n") == []
