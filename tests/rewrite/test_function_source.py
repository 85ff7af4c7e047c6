"""What binds and reads the names of a function."""

from __future__ import annotations

import libcst as cst
import pytest

from kernlint.rewrite.function import FunctionSource
from kernlint.rewrite.source import Source
from kernlint.syntax.tree import parse_module

SOURCE = """
def launch(x, path):
    n = x.numel()
    (a, b), c = x.shape, x.dtype
    for i in range(n):
        a += i
    if (m := n // 2) > 1:
        x.fill_(m)
    with open(path) as f:
        f.write(x.n, n=n)
    n = m
"""


@pytest.mark.parametrize(
    ("name", "bound", "read"),
    [("n", 2, 3), ("a", 2, 0), ("c", 1, 0), ("i", 1, 1), ("m", 1, 2), ("f", 1, 1), ("x", 0, 5)],
)
def test_counts_what_binds_and_what_reads_a_variable(name: str, bound: int, read: int) -> None:
    module = parse_module(SOURCE, "launch.py")
    function = FunctionSource(Source(module), module.of(cst.FunctionDef)[0], {})
    assert (len(function.bindings(name)), len(function.reads(name))) == (bound, read)


def test_a_variable_bound_inside_an_expression_has_no_one_value() -> None:
    module = parse_module(SOURCE, "launch.py")
    function = FunctionSource(Source(module), module.of(cst.FunctionDef)[0], {})
    assert function.definition("m") is None
    assert function.definition("c") is None
