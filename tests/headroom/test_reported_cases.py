"""Slow programs that people reported, rebuilt with their mended versions: what is slow is worth it, what is mended is not.

The files are small copies of reports to public trackers; how much the mended version gains was measured on an H100."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlint import analyze

REPORTED = Path(__file__).parents[2] / "fixtures" / "reported" / "cases"

#: The measured speedup of the mended version, and a word of what the plan must say.
SLOW = {
    "02-token-quant-few-programs": (10.96, "programs"),
    "04-latent-expand-serial-chunks": (14.39, "programs"),
    "06-requant-grid-geometry": (13.72, "programs"),
    "08-expert-fill-one-program": (16.28, "programs"),
    "10-column-sum-strided": (3.42, "neighbours"),
    "12-rmsnorm-two-pass": (6.95, "kernel"),
}


def verdict(case: str, version: str):  # type: ignore[no-untyped-def]
    folder = REPORTED / case
    return analyze(
        (folder / f"{version}.py").read_text(),
        path=f"{version}.py",
        reference=(folder / "reference.py").read_text(),
        device="h100-sxm",
    )


@pytest.mark.parametrize("case", SLOW)
def test_what_was_reported_as_slow(case: str) -> None:
    found = verdict(case, "bad")
    measured, word = SLOW[case]
    assert found.worth_optimizing
    assert word in found.optimisation_method + found.modification_plan
    assert found.details.estimate.gpu.speedup > measured / 3


@pytest.mark.parametrize(
    "case",
    # What is mended in the last of SLOW keeps a forward and a backward pass in one call, which could be merged.
    list(SLOW)[:-1],
)
def test_what_was_mended(case: str) -> None:
    found = verdict(case, "good")
    assert not found.worth_optimizing
    assert "Correct first" not in found.reason
