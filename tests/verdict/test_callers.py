"""The function to name where the steps that hang together stand in several."""

import pytest

from kernlint.syntax.tree import parse_module
from kernlint.verdict.callers import innermost_caller

SOURCE = """
import helpers

def first(x):
    return launch(x)

def second(x):
    return launch(first(x))

def aside(x):
    return first(x)

class Model:
    def forward(self, x):
        return self.inner(x) + aside(x)

    def inner(self, x):
        return second(x)

def again(x):
    return again(x - 1)
"""


@pytest.mark.parametrize(
    ("functions", "found"),
    [
        ({"first", "second"}, "second"),
        ({"first"}, "first"),
        ({"second", "aside"}, "Model.forward"),
        ({"second", "Model.inner"}, "Model.inner"),
        ({"first", "helpers.other"}, "elsewhere"),
        ({"again", "first"}, "elsewhere"),
    ],
)
def test_the_innermost_function_that_calls_them_all(functions: set[str], found: str) -> None:
    assert innermost_caller(parse_module(SOURCE, "example.py"), functions, "elsewhere") == found


@pytest.mark.parametrize("source", ["", "x = 1", "class C: pass", "def f(): pass"])
def test_modules_without_calls(source: str) -> None:
    assert innermost_caller(parse_module(source, "example.py"), {"f", "g"}, "entry") == "entry"
