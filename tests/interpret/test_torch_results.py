"""Shapes, types and strides of what torch functions return, against what torch 2.13 itself returned on a CPU.

``data/torch_results.json`` holds expressions on ``x``, a [4, 6, 8] tensor of fp16, spelt in the ways that the functions allow.
Where torch is installed, the table itself is checked.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

from kernlint.interpret.program import Program
from kernlint.syntax.tree import parse_module
from kernlint.workload import Launch, Tensor, concrete

ROWS = json.loads((Path(__file__).parent / "data" / "torch_results.json").read_text())

PROGRAM = """
import torch
import torch.nn.functional as F
import triton
import triton.language as tl

@triton.jit
def k(x):
    tl.store(x, 0.0)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = {expression}
        k[(1,)](y)
        return y

def get_inputs():
    return [torch.randn(4, 6, 8, dtype=torch.float16)]
"""


def followed(expression: str) -> Tensor | None:
    (workload,) = Program(parse_module(PROGRAM.format(expression=expression), "k.py")).workloads()
    launches = [step for step in workload.steps if isinstance(step, Launch)]
    found = launches[0].arguments.get("x")
    return found if isinstance(found, Tensor) else None


def numbers(values: Any) -> list[int] | None:
    found = [concrete(value) for value in values or ()]
    return None if values is None or None in found else [int(value) for value in found if value is not None]


@pytest.mark.parametrize("row", ROWS, ids=[row["expression"] for row in ROWS])
def test_result(row: dict[str, Any]) -> None:
    tensor = followed(row["expression"])
    if tensor is None:
        pytest.skip("not followed")
    shape, strides = numbers(tensor.shape), numbers(tensor.strides)
    assert shape in (row["shape"], None)
    assert tensor.dtype is None or tensor.dtype.name == row["dtype"]
    if shape is not None and strides is not None:
        # The stride of an axis of one element, or of a tensor without any, means nothing.
        assert [s for s, n in zip(strides, shape) if n > 1] == [s for s, n in zip(row["strides"], shape) if n > 1]


def test_most_are_known() -> None:
    """What is not known cannot be wrong: nearly all of the table is known in full."""
    known = 0
    for row in ROWS:
        tensor = followed(row["expression"])
        if tensor is not None and tensor.dtype is not None and numbers(tensor.strides) is not None:
            known += 1
    assert known >= 0.98 * len(ROWS), known / len(ROWS)


def test_torch_says_so() -> None:
    torch = pytest.importorskip("torch")
    names = {"torch": torch, "F": torch.nn.functional}
    for row in ROWS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(row["expression"], {**names, "x": torch.randn(4, 6, 8, dtype=torch.float16)})
        assert list(result.shape) == row["shape"], row
        assert str(result.dtype) == f"torch.{row['dtype']}", row
        assert [s for s, n in zip(result.stride(), result.shape) if n > 1] == [
            s for s, n in zip(row["strides"], row["shape"]) if n > 1
        ], row
