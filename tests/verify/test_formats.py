"""Which formats a version computes in."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlint.analysis import analysis
from kernlint.request import Request
from kernlint.verify.formats import Precision, formats_of, named_formats
from kernlint.verify.plan import Plan, make_plan

PAIRS = Path(__file__).parents[2] / "fixtures" / "pairs"


def formats(pair: str, version: str) -> dict[str, str]:
    text = (PAIRS / pair / f"{version}.py").read_text()
    reference = (PAIRS / pair / "reference.py").read_text()
    return formats_of(analysis(Request(text, reference=reference)).judgement.workload)


def test_the_formats_of_kernels():
    assert "operands" not in formats("gemm-fp32-ieee-tf32", "before")
    assert formats("gemm-fp32-ieee-tf32", "after") == {"operands": "tf32"}
    assert formats("fuse-gemm-bias-gelu", "after") == {"operands": "float16"}
    # It keeps what the product is in memory.
    assert formats("fuse-gemm-bias-gelu", "before")["results"] == "float16"
    assert formats("gemm-int8-upcast-copy", "after") == {}


def test_a_change_of_precision_is_granted_what_it_computes_in():
    tf32 = {"operands": "tf32"}
    assert Precision(after=tf32, changed=True).granted("gpu")["after"] == tf32
    assert Precision(after=tf32, changed=True).granted("interpreter")["after"] == {}
    assert Precision(after=tf32).granted("gpu")["after"] == {}
    assert Precision(before=tf32).granted("gpu") == {"before": tf32, "after": {}}


def test_declared_and_named_formats_are_granted():
    both = {"operands": "float16", "results": "float16"}
    assert Precision(declared="float16", changed=True).granted("interpreter")["after"] == both
    named = Precision(
        named_before=frozenset(["bfloat16"]), named_after=frozenset(["bfloat16", "float16"]), changed=True
    )
    assert named.granted("gpu")["after"] == both
    assert Precision({}, {"operands": "float8_e5m2"}, declared="float16", changed=True).granted("gpu")["after"] == {
        "operands": "float8_e5m2",
        "results": "float16",
    }


@pytest.mark.parametrize(
    ("precision", "numerics"),
    [
        (Precision(), "reordered"),
        (Precision({"operands": "tf32"}, {"operands": "tf32"}), "reordered"),
        (Precision({"results": "float16"}, {}), "reordered"),
        (Precision({}, {"operands": "tf32"}), "changed"),
        # The interpreter does not round to tf32.
        (Precision({"operands": "tf32"}, {"operands": "float16"}), "changed"),
        (Precision({"operands": "float16"}, {"operands": "float16", "sums": "float16"}), "changed"),
        (Precision(named_after=frozenset({"bfloat16"})), "changed"),
    ],
)
def test_what_is_asked_of_a_version_that_declares_nothing(precision, numerics):
    assert precision.numerics()[0] == numerics


CAST = """
import torch
import triton
import triton.language as tl

@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x * 2.0, mask=offs < n)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        double[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), BLOCK=64)
        return y

def get_inputs():
    return [torch.randn(1000)]
"""


@pytest.mark.parametrize(
    ("old", "new", "numerics"),
    [
        ("x * 2.0", "x + x", "reordered"),
        ("x * 2.0", "x.to(tl.float16) * 2.0", "changed"),
        ("x * 2.0", "elsewhere.doubled(x)", "changed"),
    ],
)
def test_what_a_changed_file_is_held_to_is_said(old, new, numerics):
    made = make_plan(Request(CAST), fixed=CAST.replace(old, new))
    assert isinstance(made, Plan) and made.change.numerics == numerics
    assert made.precision.changed is (numerics == "changed")
    assert any(f"held to `{numerics}`" in note for note in made.notes)
    asked = make_plan(Request(CAST), fixed=CAST.replace(old, new), numerics="exact")
    assert isinstance(asked, Plan) and asked.change.numerics == "exact"


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("y = x.to(tl.float8e4nv)", {"float8_e4m3fn"}),
        ("y = x.half() + z.bfloat16()", {"float16", "bfloat16"}),
        ("tl.dot(a, b, input_precision='tf32')", {"tf32"}),
        ("tl.dot(a, b, allow_tf32=True)", {"tf32"}),
        ("y = x  # half of float16", set()),
        ("def broken(:", set()),
    ],
)
def test_names_of_formats(code, names):
    assert named_formats(code) == names
