"""KL215 as a rewrite: the factor behind the loop, the sum in the tensor core."""

import importlib.util
from pathlib import Path

import pytest
from support.codemods import relative_error, rewritten

_SPEC = importlib.util.spec_from_file_location("cases", Path(__file__).parents[1] / "rules" / "test_scale_in_k_loop.py")
assert _SPEC is not None
assert _SPEC.loader is not None
_CASES = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_CASES)
HITS: dict[str, str] = _CASES.HITS


@pytest.mark.parametrize("case", HITS)
def test_the_factor_moves_behind_the_loop(case: str) -> None:
    change = rewritten("KL215", HITS[case])
    change.check()
    assert "acc += tl.dot(x, y)" in change.lines
    assert sum(line.startswith("acc *= ") for line in change.lines) == 1
    assert change.effects.numerics == "reordered"


def test_factors_keep_their_order_and_comments_move_along() -> None:
    text = HITS["two factors"].replace("acc += tl.dot", "# dequantise\n        acc += tl.dot")
    change = rewritten("KL215", text)
    assert "    # dequantise\n    acc *= s[None, :] * one\n" in change.after


@pytest.mark.slow
@pytest.mark.parametrize("case", HITS)
def test_results_stay_within_rounding(case: str, tmp_path: Path) -> None:
    sizes = {"M": 40, "N": 72, "K": 128}, {"M": 1, "N": 1, "K": 64}
    assert relative_error(rewritten("KL215", HITS[case]), tmp_path, *sizes) <= 2e-3
