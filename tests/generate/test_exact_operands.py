"""A conversion is left out of an operand only where it holds every element of what is converted."""

from __future__ import annotations

import pytest

from kernlint.generate.calls.exact import without_exact
from kernlint.generate.values import Value
from kernlint.workload import dtype as dt


@pytest.mark.parametrize(
    ("before", "after", "left_out"),
    [
        ("int8", "float16", True),
        ("int8", "bfloat16", True),
        ("int8", "float8_e4m3fn", False),
        ("int32", "float32", False),
        ("float16", "float32", True),
        ("float16", "bfloat16", False),
        ("float32", "float16", False),
    ],
)
def test_a_conversion_that_loses_nothing(before: str, after: str, left_out: bool) -> None:
    given, wanted = dt.find(before), dt.find(after)
    assert given is not None and wanted is not None
    value = Value("input", (4,), given, (), name="x")
    cast = Value("cast", (4,), wanted, (value.view,), name="x")
    assert (without_exact(cast.view).value is value) is left_out
