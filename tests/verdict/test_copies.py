"""Functions that are copies of one another: the verdict judges the first."""

from __future__ import annotations

import pytest

from kernlint import analysis
from kernlint.request import Request

HEAD = "import torch\nimport triton\nimport triton.language as tl\n"

COPY = """

@triton.jit
def scale{i}_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(out + at, value * 2.0, mask=at < n)


def scale{i}(x):
    assert x.is_contiguous()
    out = torch.empty_like(x)
    n = x.numel()
    scale{i}_kernel[(triton.cdiv(n, 64),)](x, out, n, BLOCK=64)
    return out
"""


def copies(count, start=0):
    return [COPY.format(i=i) for i in range(start, start + count)]


@pytest.fixture
def judged(monkeypatch):
    """The entries that were judged."""
    entries, judge = [], analysis.judge
    monkeypatch.setattr(analysis, "judge", lambda *args: entries.append(args[1].entry) or judge(*args))
    return entries


def test_copies_are_judged_once_and_answered_as_one_is(judged):
    alone = analysis.analyze(HEAD + copies(1)[0])
    assert set(judged) == {"scale0"}
    one = len(judged)
    judged.clear()
    assert analysis.analyze("".join((HEAD, *copies(5)))) == alone
    assert len(judged) == one


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("value * 2.0", "value * 3.0"),
        ("BLOCK=64)", "BLOCK=128)"),
        ("torch.empty_like(x)", "torch.empty_like(x, dtype=torch.float64)"),
        ("assert x.is_contiguous()", "assert x.dtype == torch.float16"),
        ("def scale1(x):", "def scale1(x: 'torch.Tensor[8]'):"),
        ("    return out", "    return out + 1"),
        ("@triton.jit", "@triton.jit(do_not_specialize=['n'])"),
    ],
)
def test_what_differs_is_judged_for_itself(judged, old, new):
    first, second = copies(2)
    changed = second.replace(old, new)
    assert changed != second
    analysis.analyze(HEAD + first + changed)
    assert {"scale0", "scale1"} <= set(judged)


def test_a_copy_that_is_called_is_judged(judged):
    """What it is called with may be what the verdict is about."""
    call = "\n\nif __name__ == '__main__':\n    scale1(torch.randn(1 << 24, device='cuda'))\n"
    analysis.analyze("".join((HEAD, *copies(3), call)))
    assert {"scale0", "scale1"} <= set(judged) and "scale2" not in judged


def test_a_copy_that_facts_were_given_of_is_judged(judged):
    source = "".join((HEAD, *copies(2)))
    analysis.analyze(source, assumptions=("scale1.x:float16[16777216]",))
    assert {"scale0", "scale1"} <= set(judged)


def test_copies_that_were_measured_are_judged(judged):
    """A time that is known of one says nothing of the others."""
    rows = "scale1_kernel: 900 us"
    analysis.analysis(Request("".join((HEAD, *copies(2))), performance=rows))
    assert {"scale0", "scale1"} <= set(judged)


def test_a_name_that_is_bound_twice_has_no_copies(judged):
    again = "\n\ndef scale1(x):\n    return scale0(x)\n"
    analysis.analyze("".join((HEAD, *copies(2), again)))
    assert "scale0" in judged
