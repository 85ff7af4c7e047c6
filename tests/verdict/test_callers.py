"""The function to name where the steps that hang together stand in several."""

import pytest

from kernlint.syntax.tree import parse_module
from kernlint.verdict.callers import behind_methods, innermost_caller

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


HELPERS = """
import torch

def norm_forward(x, block):
    return launch(x, block)

def norm_backward(x, block):
    return launch(x, block)

def alone(x):
    return launch(x, 64)

def norm(x):
    return Norm.apply(x)

class Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return between(x)

    @staticmethod
    def backward(ctx, x):
        return norm_backward(x, ctx.block)

def between(x):
    return norm_forward(x, 128)
"""


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        (["norm_forward", "norm_backward", "alone", "norm", "Norm.forward", "Norm.backward"], {"norm_forward", "norm_backward"}),
        (["norm_forward", "norm_backward", "Norm.forward"], {"norm_forward"}),
        (["norm_forward", "norm_backward", "norm"], set()),
        (["Norm.forward", "Norm.missing", "Elsewhere.forward"], set()),
        ([], set()),
    ],
)  # fmt: skip
def test_helpers_are_behind_the_methods_that_are_entries_beside_them(entries, found):
    assert behind_methods(parse_module(HELPERS, "example.py"), entries) == found
