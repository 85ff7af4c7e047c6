"""Numbers in the formats that Triton's interpreter rounds wrongly by itself."""

from __future__ import annotations

import pytest
from support.late import Late, needs

pytestmark = [needs("numpy"), needs("torch")]
np, torch, rounding = Late("numpy"), Late("torch"), Late("kernlint.verify.child.rounding")

FORMATS = {"bf16": "bfloat16", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2", "fp16": "float16"}


def bits(tensor):
    return tensor.view({1: torch.uint8, 2: torch.uint16}[tensor.itemsize]).numpy()


@pytest.mark.parametrize("name", FORMATS)
def test_every_pattern_is_the_number_that_torch_takes_it_for(name):
    kind = getattr(torch, FORMATS[name])
    patterns = np.arange(256 ** torch.empty(0, dtype=kind).itemsize).astype(f"uint{8 * kind.itemsize}")
    expected = torch.from_numpy(patterns).view(kind).float().numpy()
    assert np.array_equal(rounding.decoded(patterns, name), expected, equal_nan=True)


@pytest.mark.parametrize("name", FORMATS)
def test_numbers_go_to_the_nearest_and_ties_to_even(name):
    kind = getattr(torch, FORMATS[name])
    torch.manual_seed(0)
    least, most = {"bf16": (-140, 120), "fp16": (-26, 13), "fp8e4nv": (-12, 6), "fp8e5": (-20, 12)}[name]
    random = torch.randn(20_000) * torch.exp2(torch.randint(least, most, (20_000,)))
    known = random.to(kind).float()
    known = known[known.isfinite()].unique()
    ties = (known[:-1] + known[1:]) / 2
    for numbers in (random, ties, -ties, torch.tensor([0.0, -0.0])):
        numbers = numbers[numbers.to(kind).float().isfinite()]
        assert np.array_equal(rounding.encoded(numbers.numpy(), name), bits(numbers.to(kind)))


def test_what_is_not_finite_or_too_large():
    odd = np.array([np.nan, np.inf, -np.inf, 1e30], dtype=np.float32)
    wide = rounding.decoded(rounding.encoded(odd, "bf16"), "bf16")
    assert np.isnan(wide[0]) and list(wide[1:3]) == [np.inf, -np.inf]
    # Eight bits hold what is too large as their largest number.
    narrow = rounding.decoded(rounding.encoded(odd, "fp8e4nv"), "fp8e4nv")
    assert np.isnan(narrow[0]) and list(narrow[1:]) == [448.0, -448.0, 448.0]


INTERPRETED = """
import os

os.environ["TRITON_INTERPRET"] = "1"
import torch
import triton
import triton.language as tl

from kernlint.verify.child.rounding import round_as_gpus

round_as_gpus()


@triton.jit
def arithmetic(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    a = tl.load(a_ptr + i)
    b = tl.load(b_ptr + i)
    tl.store(out_ptr + i, tl.where(a < b, -(a * b), a + b))
    tl.store(out_ptr + N + i, tl.maximum(a, b))
    tl.store(out_ptr + 2 * N + i, a + tl.full((N,), 1.5, tl.bfloat16))
    tl.store(out_ptr + 3 * N + i, (i * 1001).to(tl.bfloat16))
    tl.store(out_ptr + 4 * N + i, tl.fma(a, b, a))
    tl.store(out_ptr + 5 * N + i, (a > 0).to(tl.bfloat16))


@triton.jit
def product(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out_ptr + i, tl.dot(tl.load(a_ptr + i), tl.load(b_ptr + i)).to(tl.bfloat16))


torch.manual_seed(0)
N = 256
a, b = torch.randn(N).bfloat16(), torch.randn(N).bfloat16()
out = torch.empty(6 * N, dtype=torch.bfloat16)
arithmetic[(1,)](a, b, out, N=N)
expected = [
    torch.where(a < b, -(a * b), a + b), torch.maximum(a, b), a + 1.5, (torch.arange(N) * 1001).bfloat16(),
    (a.double() * b.double() + a.double()).bfloat16(), (a > 0).bfloat16(),
]
assert torch.equal(out, torch.cat(expected))
a, b, out = torch.randn(32, 32).bfloat16(), torch.randn(32, 32).bfloat16(), torch.empty(32, 32, dtype=torch.bfloat16)
product[(1,)](a, b, out, N=32)
assert torch.equal(out, (a.float() @ b.float()).bfloat16())
"""


def test_the_interpreter_computes_bfloat16_as_torch_does(tmp_path):
    import subprocess
    import sys

    (tmp_path / "kernel.py").write_text(INTERPRETED)
    done = subprocess.run([sys.executable, "kernel.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
