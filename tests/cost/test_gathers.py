"""Gathered dot operands: what counts as one, and the published residual."""

from __future__ import annotations

import math

import fit_gathers
import pytest

from kernlint.cost.gathers import GatherConstants, constants


def test_the_constant_is_that_of_the_fit() -> None:
    data = fit_gathers.rows("h100-micro-2.csv", "fma", "implicit_gemm_conv", GatherConstants(1.0, 0.0))
    assert len(data) == 46 and all(weight > 0 for _, _, weight, _ in data)
    assert fit_gathers.fit(data) == pytest.approx(constants().cycles_per_element, rel=0.15)
    errors = fit_gathers.errors(data, constants().cycles_per_element)
    assert math.sqrt(sum(error**2 for error in errors) / len(errors)) <= constants().sigma * 1.15
