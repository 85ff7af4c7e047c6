"""Shapes and types of what NumPy's functions return, against what NumPy 2 returned; where it is installed, the table itself is checked."""

from __future__ import annotations

from typing import Any

import pytest

from kernlint.interpret.program import Program
from kernlint.interpret.recorded.agreement import _alike
from kernlint.syntax.tree import parse_module
from kernlint.workload import Launch, Repeat, Tensor

PROGRAM = """
import math
import numpy as np
import torch
import triton
import triton.language as tl

@triton.jit
def k(x):
    tl.store(x, 0.0)

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        f = np.linspace(0.0, 1.0, 12).reshape(3, 4)
        s = f.astype(np.float32)
        i = np.arange(6)
        y = {expression}
        self.register_buffer("table", torch.from_numpy(y))

    def forward(self):
        k[(1,)](self.table)
        return self.table
"""

#: By expression on f, doubles [3, 4], s, the same as float32, and i, six integers: type and shape.
RESULTS: dict[str, tuple[str, tuple[int, ...]]] = {
    "f": ("float64", (3, 4)),
    "np.polynomial.legendre.leggauss(8)[1]": ("float64", (8,)),
    "np.linspace(0, 1)": ("float64", (50,)),
    "np.zeros((2, 3))": ("float64", (2, 3)),
    "np.zeros((2, 3), 'float16')": ("float16", (2, 3)),
    "np.ones(4, dtype=int)": ("int64", (4,)),
    "np.full((2, 2), 1.5, np.float32)": ("float32", (2, 2)),
    "np.array([1, 2.5, 3])": ("float64", (3,)),
    "np.array([[1, 2], [3, 4]])": ("int64", (2, 2)),
    "np.array([1, 2], dtype=np.int8)": ("int8", (2,)),
    "np.array([f, f])": ("float64", (2, 3, 4)),
    "np.random.randn(2, 5)": ("float64", (2, 5)),
    "np.random.uniform(-1, 1, size=(2, 5)).astype(np.float16)": ("float16", (2, 5)),
    "np.random.default_rng(0).standard_normal((4, 4), dtype=np.float32)": ("float32", (4, 4)),
    "np.random.randint(0, 9, (7,))": ("int64", (7,)),
    "i / 2": ("float64", (6,)),
    "i * 0.5": ("float64", (6,)),
    "i * i": ("int64", (6,)),
    "np.sqrt(i)": ("float64", (6,)),
    "s * 2.0": ("float32", (3, 4)),
    "s + f": ("float64", (3, 4)),
    "f[:, None] * i[None, 1:4, None]": ("float64", (3, 3, 4)),
    "np.outer(i, i)": ("int64", (6, 6)),
    "f[:, np.newaxis]": ("float64", (3, 1, 4)),
    "np.stack([s, s], axis=-1)": ("float32", (3, 4, 2)),
    "np.concatenate([s, s], axis=1)": ("float32", (3, 8)),
    "np.concatenate([[1.0], f[0]])": ("float64", (5,)),
    "f.transpose(1, 0)": ("float64", (4, 3)),
    "f[None].transpose(2, 0, 1)": ("float64", (4, 1, 3)),
    "np.transpose(f)": ("float64", (4, 3)),
    "f.sum(axis=0)": ("float64", (4,)),
    "np.mean(i.reshape(2, 3), axis=1)": ("float64", (2,)),
    "np.max(f, axis=1, keepdims=True)": ("float64", (3, 1)),
    "np.cumsum(f)": ("float64", (12,)),
    "np.cumprod(s, axis=1)": ("float32", (3, 4)),
    "np.sort(s, axis=0)": ("float32", (3, 4)),
    "np.repeat(i, 2)": ("int64", (12,)),
    "np.tile(f, (2, 1))": ("float64", (6, 4)),
    "np.clip(s, 0.1, 0.5)": ("float32", (3, 4)),
    "np.where(f > 0.5, f, 0.0)": ("float64", (3, 4)),
    "np.hanning(16)": ("float64", (16,)),
    "np.zeros(f.size // 2)": ("float64", (6,)),
    "np.zeros(np.prod(f.shape))": ("float64", (12,)),
    "np.meshgrid(i, np.arange(3))[0]": ("int64", (3, 6)),
    "np.exp(-2j * np.pi * 0.5) * f": ("", (3, 4)),
    "np.fft.rfft(f)": ("", ()),
    "np.quantile(f, 0.5, axis=0)": ("", ()),
    "s * np.sqrt(2.0)": ("", (3, 4)),
    "i.astype(np.int16) + i.astype(np.int32)": ("", (6,)),
}


def followed(expression: str) -> Tensor:
    (workload,) = Program(parse_module(PROGRAM.format(expression=expression), "k.py")).workloads()
    (launch,) = (step for step in workload.steps if isinstance(step, Launch))
    found = launch.arguments["x"]
    assert isinstance(found, Tensor)
    return found


@pytest.mark.parametrize("expression", RESULTS)
def test_what_a_buffer_made_with_numpy_is(expression: str) -> None:
    found = followed(expression)
    dtype, shape = RESULTS[expression]
    assert str(found.dtype or "") == dtype
    assert (found.shape or ()) == shape


@pytest.mark.parametrize("expression", RESULTS)
def test_numpy_says_so_itself(expression: str) -> None:
    np = pytest.importorskip("numpy", minversion="2.0")
    f = np.linspace(0.0, 1.0, 12).reshape(3, 4)
    given: dict[str, Any] = {"np": np, "f": f, "s": f.astype(np.float32), "i": np.arange(6)}
    value = eval(expression, given)
    dtype, shape = RESULTS[expression]
    assert dtype in ("", str(value.dtype))
    assert shape in ((), value.shape)


OTHER = """
import numpy as np
import torch
import triton
import triton.language as tl

@triton.jit
def k(x, y, s):
    tl.store(x, tl.load(y) * s)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        lengths = np.array([3, 4, 5])
        scale = (lengths / 2).max()
        y = x * scale
        z = torch.tensor(np.zeros(3), dtype=torch.float16, device=x.device)
        k[(int(lengths.max()),)](y, z, scale)
        return y

def get_inputs():
    return [torch.randn(4, 6, dtype=torch.float16)]
"""


def test_arrays_are_no_tensors_of_the_device() -> None:
    (workload,) = Program(parse_module(OTHER, "k.py")).workloads()
    (launch,) = (step for step in workload.steps if isinstance(step, Launch))
    assert launch.grid == (5,)
    assert str(launch.arguments["x"].dtype) == "float16"  # a number of NumPy's does not widen it
    assert str(launch.arguments["y"].dtype) == "float16"
    assert "s" not in launch.arguments  # what a scalar is given is no pointer


CONVERTED = """
import torch
import triton
import triton.language as tl
from elsewhere import Net, load

@triton.jit
def k(x, w):
    tl.store(x, tl.load(x) + tl.load(w))

def run(x, net):
    w = load("w").to(torch.float16)
    k[(1,)](x, w)
    layer = Net(3).half()
    return layer(x).type_as(w), {asked}
"""


@pytest.mark.parametrize("asked", ["0", "layer.hidden", "layer.parameters()"])
def test_what_is_converted_has_the_type_at_least(asked: str) -> None:
    (workload,) = Program(parse_module(CONVERTED.replace("{asked}", asked), "k.py")).workloads()
    (launch,) = (step for step in workload.steps if isinstance(step, Launch))
    assert str(launch.arguments["w"].dtype) == "float16"
    assert launch.arguments["w"].shape is None
    assert workload.unknowns  # what it does stays open


FOLLOWED = """
import torch
import triton
import triton.language as tl

@triton.jit
def k(x):
    tl.store(x, 0.0)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        {body}
        k[(1,)](y)
        return y

def get_inputs():
    return [torch.randn(16, 32)]
"""

BODIES = {
    "parts = [x[i] + 1 for i in range(16)]; y = torch.stack(parts)": (16, 32),
    "y = torch.tensor([1, 0.5])": (2,),
    "y = torch.tensor([1, 0.5, torch.nan])": (3,),
}


@pytest.mark.parametrize("body", BODIES)
def test_what_torch_makes_of_lists(body: str) -> None:
    (workload,) = Program(parse_module(FOLLOWED.replace("{body}", body), "k.py")).workloads()
    (launch,) = (step for step in workload.steps if isinstance(step, Launch))
    found = launch.arguments["x"]
    assert (str(found.dtype), found.shape) == ("float32", BODIES[body])


TWO_LOOPS = """
        parts = []
        for i in range(16):
            parts.append(x[i] + 1)
        sums = [parts[-1]]
        for i in range(14, -1, -1):
            sums.append(parts[i] * sums[-1])
        y = torch.stack(sums[::-1])
"""


def test_a_loop_reads_the_list_that_another_one_fills() -> None:
    (workload,) = Program(parse_module(FOLLOWED.replace("        {body}\n", TWO_LOOPS), "k.py")).workloads()
    loops = [step for step in workload.steps if isinstance(step, Repeat)]
    assert [loop.count for loop in loops] == [16, 15]
    (launch,) = (step for step in workload.steps if isinstance(step, Launch))
    assert launch.arguments["x"].shape == (16, 32)
    assert not workload.unknowns


def test_tuples_that_a_report_makes_lists_of_are_the_same() -> None:
    assert _alike((1, 2.5, "a"), [1, 2.5, "a"])
    assert not _alike((1, 2), [1, 3]) and not _alike((1, 2), [1])
