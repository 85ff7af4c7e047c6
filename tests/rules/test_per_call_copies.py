"""KL301: copies that a kernel could do without, and those that it could not."""

import pytest
from support.findings import run_rule

PROGRAM = """
@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

def launch(x, y):
    double[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)

def run(x, s, passes):
    {body}
    return b
"""


def program(body):
    return PROGRAM.format(body=body.replace("\n", "\n    "))


@pytest.mark.parametrize(("dtype", "severity"), [("w.dtype", "info"), ("torch.float16", "warning")])
def test_a_cast_to_an_open_type_may_be_none(dtype, severity):
    body = "y = torch.empty(1 << 24, dtype=torch.float32, device=x.device)\nlaunch(x, y)\nb = y.to(" + dtype + ")"
    source = PROGRAM.replace("def run(x, s, passes)", "def run(x, w)").replace("x.numel()", "1 << 24")
    assert run_rule("KL301", source.format(body=body.replace("\n", "\n    "))).only().severity == severity


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("a, b = x.clone(), torch.empty_like(x)\nlaunch(a, b)", id="clone"),
        pytest.param("a, b = x.half().float(), torch.empty_like(x)\nlaunch(a, b)", id="cast"),
        pytest.param(
            "b = torch.empty_like(x)\nfor i in range(passes):\n    launch(x.clone(), b)", id="clone in the loop"
        ),
    ],
)
def test_hits(body):
    assert run_rule("KL301", program(body))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            "a, b = x.clone(), torch.empty_like(x)\nfor i in range(passes):\n    launch(a, b)\n    a, b = b, a",
            id="two buffers in turn",
        ),
        pytest.param("a, b = x.clone(), torch.empty_like(x)\nlaunch(a, b)\nlaunch(b, a)", id="written later"),
        pytest.param("b = torch.empty_like(x)\nlaunch(x.sum().half(), b)", id="one number"),
        pytest.param("b = torch.empty_like(x)\nlaunch(torch.ones(1, device=x.device).half(), b)", id="one element"),
    ],
)
def test_no_hits(body):
    assert not run_rule("KL301", program(body))
