"""What operators join."""

from __future__ import annotations

import libcst as cst
import pytest

from kernlint.syntax.walk import joined_by


@pytest.mark.parametrize(
    ("text", "operator", "parts"),
    [
        ("a + b * c + 1", cst.Add, ["a", "b * c", "1"]),
        ("a + (b + c)", cst.Add, ["a", "b", "c"]),
        ("x * (y + z) * 2", cst.Multiply, ["x", "(y + z)", "2"]),
        ("a - b", cst.Add, ["a - b"]),
        ("f(a + b)", cst.Add, ["f(a + b)"]),
    ],
)
def test_what_an_operator_joins(text: str, operator: type[cst.BaseBinaryOp], parts: list[str]) -> None:
    found = joined_by(cst.parse_expression(text), operator)
    assert [cst.Module([]).code_for_node(one) for one in found] == parts
