"""The type of floats that a program makes without a word on theirs."""

from __future__ import annotations

import pytest

from kernlint.interpret.program import Program
from kernlint.syntax.tree import parse_module
from kernlint.workload import Tensor

PROGRAM = """
import torch
import triton
import triton.language as tl

{before}

@triton.jit
def k(x):
    tl.store(x, 0)

def run(counts):
    x = {made}
    k[(1,)](x)
    return x

def later(counts):
    torch.set_default_dtype(torch.float64)
    x = torch.ones(8, device="cuda")
    k[(1,)](x)
    return x
"""


def made(made: str, before: str, entry: int = 0) -> str:
    text = PROGRAM.format(made=made, before=before)
    launch = Program(parse_module(text, "k.py")).workloads()[entry].launches()[0]
    found = launch.arguments["x"]
    assert isinstance(found, Tensor)
    return str(found.dtype)


HALF = "torch.set_default_dtype(torch.float16)"


@pytest.mark.parametrize(
    ("text", "before", "expected"),
    [
        ("torch.randn(8)", "", "float32"),
        ("torch.randn(8)", HALF, "float16"),
        ("torch.tensor([1.0])", "torch.set_default_dtype(d=torch.bfloat16)", "bfloat16"),
        ("torch.arange(8) * 0.5", HALF, "float16"),
        ("torch.arange(8) / 2", HALF, "float16"),
        ("torch.where(torch.arange(8) > 2, 1.0, 0.0)", HALF, "float16"),
        ("torch.where(torch.arange(8) > 2, 1, 0)", HALF, "int64"),
        ("torch.nn.Linear(8, 8).weight", HALF, "float16"),
        ("torch.ones(8, dtype=torch.get_default_dtype())", HALF, "float16"),
        ("torch.ones(8, dtype=torch.float64)", HALF, "float64"),
        ("torch.ones(8).float()", HALF, "float32"),
        ("torch.ones(8, dtype=torch.int32)", HALF, "int32"),
    ],
)
def test_floats_have_the_type_that_was_set(text: str, before: str, expected: str) -> None:
    assert made(text, before) == expected


@pytest.mark.parametrize(
    "before",
    [
        "torch.set_default_dtype(chosen())", "if chosen():\n    torch.set_default_dtype(torch.half)",
        "torch.set_default_tensor_type('torch.cuda.HalfTensor')",
    ],
)  # fmt: skip
def test_a_type_that_is_not_known_is_none(before: str) -> None:
    assert made("torch.ones(8)", before) == "None"


def test_one_call_does_not_set_it_for_another() -> None:
    assert made("torch.ones(8)", "", 1) == "float64"
    assert made("torch.ones(8)", "", 0) == "float32"


@pytest.mark.parametrize("before", ["torch.set_default_dtype()", "torch.set_default_dtype(1, 2, 3)"])
def test_a_call_that_torch_refuses_sets_nothing(before: str) -> None:
    assert made("torch.ones(8)", before) == "float32"
