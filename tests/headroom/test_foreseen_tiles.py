"""Tiles of a product's well-written version that are left out by what is foreseen of them: the fastest is not among them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kernlint import analyze
from kernlint.headroom import witness

PAIRS = Path(__file__).parents[2] / "fixtures/pairs"


@pytest.mark.parametrize(
    "pair", ["gemm-fp16-upcast-fp32", "gemm-int8-upcast-copy", "gemm-skinny-splitk", "gemm-small-tile"]
)
def test_the_fastest_tile_is_priced(pair: str, monkeypatch: pytest.MonkeyPatch) -> None:
    met: list[tuple[list[Any], list[Any], Any]] = []
    promising = witness._promising

    def noting(candidates: list[Any], group: Any, device: Any) -> list[Any]:
        kept = promising(candidates, group, device)
        met.append((candidates, kept, device))
        return kept

    monkeypatch.setattr(witness, "_promising", noting)
    before, reference = ((PAIRS / pair / name).read_text() for name in ("before.py", "reference.py"))
    analyze(before, path="before.py", reference=reference)
    assert any(len(kept) < len(candidates) for candidates, kept, _ in met)
    for candidates, kept, device in filter(lambda one: one[0], met):
        least, kept_least = (min(witness.price(steps, device)[0] for steps, _ in some) for some in (candidates, kept))
        assert kept_least == pytest.approx(least, rel=1e-9)
