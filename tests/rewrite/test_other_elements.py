"""What is proven of the elements that a call is given is no proof for others that the program takes."""

from __future__ import annotations

import pytest
from support.fixes import LOADS, gemm

from kernlint.fix import fix_source
from kernlint.request import Request

CAST = LOADS + 'acc += tl.dot(x.to(tl.float32), y.to(tl.float32), input_precision="ieee")\n'
CALL = "\ndef get_inputs():\n    return [torch.ones(64, 4096).{0}(), torch.ones(64, 4096).{0}(), torch.ones(64)]\n"


def asked(condition: str, made: str, loop: str = CAST) -> str:
    """A GEMM whose launcher asserts ``condition``, called with elements of the type that ``made`` converts to."""
    source = gemm(loop, dtype="float16")
    asserted = next(line for line in source.splitlines() if line.strip().startswith("assert"))
    entry = "class ModelNew(torch.nn.Module):\n    def forward(self, a, b, s):\n        return launch(a, b, s)\n"
    return source.replace(asserted, f"    assert {condition}") + entry + CALL.format(made)


@pytest.mark.parametrize(
    ("condition", "made", "rule", "safe"),
    [
        ("a.dtype == torch.float16 and b.dtype == torch.float16", "half", "KL103", True),
        ("a.dtype in (torch.float16, torch.bfloat16) and b.dtype == a.dtype", "half", "KL103", True),
        ("a.dtype in (torch.float16, torch.float32) and b.dtype == a.dtype", "half", "KL103", False),
        ("a.dtype == b.dtype", "half", "KL103", False),
        ("a.dtype == torch.bfloat16 or a.dtype == b.dtype", "bfloat16", "KL103", False),
        ("a.dtype == torch.int8 and b.dtype == torch.int8", "char", "KL101", True),
        ("a.dtype in (torch.int8, torch.float16) and b.dtype == a.dtype", "char", "KL101", False),
        ("a.dtype == b.dtype", "char", "KL101", False),
    ],
)
def test_a_cast_goes_where_no_other_elements_are_taken(condition: str, made: str, rule: str, safe: bool) -> None:
    result = fix_source(Request(asked(condition, made), path="k.py", device="h100"), rules=[rule])
    if safe:
        assert [one.code for one in result.applied] == [rule], result.refused
    else:
        (refused,) = result.refused
        assert refused.unsafe and "which it takes as well, need the cast" in refused.reason


def test_without_a_precision_of_its_own_a_cast_does_nothing_to_fp32() -> None:
    loop = CAST.replace(', input_precision="ieee"', "")
    result = fix_source(Request(asked("a.dtype == b.dtype", "half", loop), path="k.py", device="h100"), rules=["KL103"])
    assert [one.code for one in result.applied] == ["KL103"], result.refused
