"""KL211: num_stages swept for kernels that have nothing to pipeline."""

import pytest
from support.findings import run_rule

PROGRAM = """
CONFIGS = [triton.Config({{"BLOCK": b}}, num_stages=s) for b in (32, 64) for s in (2, 3)]

@triton.autotune(configs=CONFIGS, key=["n"])
@triton.jit
def kernel(x, y, lengths, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    at = i[:, None] * BLOCK + i[None, :]
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    {body}
    tl.store(y + at, acc)

def forward(x, y, lengths):
    kernel[(4,)](x, y, lengths, x.shape[0])
"""


def program(body):
    return PROGRAM.format(body=body.replace("\n", "\n    "))


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("acc += tl.load(x + at)", id="no loop"),
        pytest.param("for k in range(0, n):\n    acc += tl.load(x + at + k)", id="a loop without a dot"),
        pytest.param("t = tl.load(x + at)\nacc = tl.dot(t, t)", id="a dot without a loop"),
    ],
)
def test_hits(body):
    run_rule("KL211", program(body)).only()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            "for k in range(0, n):\n    t = tl.load(x + at + k)\n    acc += tl.dot(t, t)", id="a loop with a dot"
        ),
        pytest.param(
            "for k in range(0, n):\n    if k < tl.load(lengths):\n        t = tl.load(x + at + k)\n        acc += tl.dot(t, t)",
            id="a dot behind a condition",
        ),
        pytest.param(
            "for e in range(4):\n    m = tl.load(lengths + e)\n    if m > 0:\n        for k in range(0, m):\n"
            "            if m - k > 0:\n                t = tl.load(x + at + k)\n                acc += tl.dot(t, t)",
            id="a dot in a loop in a loop",
        ),
        pytest.param("for k in tl.range(0, n):\n    acc += tl.load(x + at + k)", id="tl.range"),
    ],
)
def test_no_hits(body):
    assert not run_rule("KL211", program(body))


@pytest.mark.parametrize(
    "configurations",
    [
        pytest.param(
            '[triton.Config({"BLOCK": 32 * s}, num_stages=s) for s in (1, 2)]', id="each has a block of its own"
        ),
        pytest.param('[triton.Config({"BLOCK": 32}, num_warps=s, num_stages=s) for s in (1, 2, 4)]', id="and warps"),
    ],
)
def test_stages_that_make_no_candidate_twice_cost_nothing(configurations):
    text = program("acc += tl.load(x + at)")
    start = text.index("CONFIGS = ") + len("CONFIGS = ")
    assert not run_rule("KL211", text[:start] + configurations + text[text.index("\n", start) :])


@pytest.mark.parametrize(
    ("options", "found"),
    [
        pytest.param('key=["n"]', True, id="nothing kept"),
        pytest.param('key=["n"], **kept()', False, id="options from somewhere"),
        pytest.param('key=["n"], **{"cache_results": True}', False, id="a table"),
    ],
)
def test_configurations_may_be_kept_by_options_that_are_spread_in(options, found):
    text = program("acc += tl.load(x + at)").replace('key=["n"]', options)
    text = text.replace("(32, 64)", "(16, 32, 64, 128, 256, 512)").replace("(2, 3)", "(1, 2, 3, 4, 5, 6)")
    assert bool(run_rule("KL212", text)) == found
