"""What makes a case one of bfloat16, about which Triton's interpreter says nothing."""

from __future__ import annotations

import pytest

from kernlint.verify.child.run import _names_bf16


@pytest.mark.parametrize(
    "code", ["y = x.to(tl.bfloat16)", "y = x.bfloat16()", "kind = 'bf16'", "from torch import bfloat16 as narrow"]
)
def test_code_that_names_the_type(code):
    assert _names_bf16(code)


@pytest.mark.parametrize("code", ["y = x  # not bfloat16", '"""Fails for bfloat16."""', "uses_bfloat16 = False"])
def test_comments_and_other_names_do_not(code):
    assert not _names_bf16(code)
