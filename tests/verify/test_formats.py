"""Which formats a version computes in."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernlint.analysis import analysis
from kernlint.request import Request
from kernlint.verify.formats import Precision, formats_of, named_formats

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
