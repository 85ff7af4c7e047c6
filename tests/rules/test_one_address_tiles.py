"""KL309: tiles of which every lane reads the same address."""

import pytest
from support.findings import run_rule

PROGRAM = """
@triton.jit
def kernel(x, s, index, y, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    i = pid * BLOCK + tl.arange(0, BLOCK)
    zero = tl.zeros((BLOCK,), tl.int32)
    {body}
    tl.store(y + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)

def forward(x, s, index, y):
    kernel[(triton.cdiv(x.numel(), 1024),)](x, s, index, y, x.numel(), BLOCK=1024)
"""


def program(body):
    return PROGRAM.format(body=body.replace("\n", "\n    "))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("factor = tl.load(s + zero)", id="zeros"),
        pytest.param("factor = tl.load(s + zero + pid)", id="one a program"),
        pytest.param("factor = tl.load(s + zero + tl.load(index + pid))", id="through a scalar"),
        pytest.param("at = tl.load(index)\nfactor = tl.load(s + zero + at * 4)", id="computed from a scalar"),
    ],
)
def test_hits(body):
    assert "1024 equal pointers" in run_rule("KL309", program(body)).only().message


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("factor = tl.load(s)", id="scalar"),
        pytest.param("factor = tl.load(s + i, mask=i < n)", id="lanes"),
        pytest.param("at = tl.load(index + i)\nfactor = tl.load(s + at)", id="gather"),
        pytest.param("at = tl.load(index + i)\nfactor = tl.load(s + (at >> 4))", id="gather through high bits"),
        pytest.param("at = tl.load(index + i)\nfactor = tl.load(s + at % 16 + pid)", id="gather through low bits"),
        pytest.param("at = tl.load(index + i)[:, None]\nfactor = tl.max(tl.load(s + at * 4), axis=1)", id="column"),
        pytest.param("at = tl.sort(tl.load(index + i))\nfactor = tl.load(s + at)", id="what is not followed"),
    ],
)
def test_no_hits(body):
    assert not run_rule("KL309", program(body))
