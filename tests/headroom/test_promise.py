"""What a change is promised to gain: between what it brings alone and the whole gap, surer where these agree."""

from __future__ import annotations

import math

import pytest

from kernlint.analysis import analysis
from kernlint.headroom.promise import between, promised
from kernlint.request import Request


def width(alone: float, whole: float, sigma: float | None = None) -> float:
    _, low, high = promised(alone, whole, sigma)
    return high / low


def test_the_middle_lies_between_both_ends() -> None:
    middle, low, high = promised(2.0, 8.0)
    assert 2.0 < middle < 8.0 and low < middle < high
    assert middle == between(2.0, 8.0)
    assert promised(3.0, 3.0)[0] == pytest.approx(3.0)


def test_where_both_agree_the_promise_is_surer() -> None:
    assert width(4.0, 4.0) < width(2.0, 8.0) < width(1.1, 8.0)
    assert width(4.0, 4.0, 0.1) < width(4.0, 4.0), "a change that is known step by step is surer than a cause"


def test_no_promise_is_surer_than_the_price_of_its_change() -> None:
    assert width(1.5, 1.5, 0.9) == pytest.approx(math.exp(2 * 1.2816 * 0.9), rel=1e-3)


def test_a_small_gain_without_doubt_holds_no_loss() -> None:
    assert promised(1.25, 1.25)[1] > 1.0


KERNEL = """
import torch, triton, triton.language as tl

@triton.jit
def product(a, b, c, n, B: tl.constexpr):
    row = tl.program_id(0) * B + tl.arange(0, B)
    column = tl.program_id(1) * B + tl.arange(0, B)
    step = tl.arange(0, B)
    total = tl.zeros((B, B), tl.float32)
    for k in range(0, n, B):
        x = tl.load(a + row[:, None] * n + k + step[None, :]){cast}
        total += tl.dot(x, tl.load(b + (k + step)[:, None] * n + column[None, :]){cast})
    tl.store(c + row[:, None] * n + column[None, :], total)

def multiply(a, b):
    n = a.shape[0]
    c = torch.empty(n, n, device=a.device)
    product[(n // 64, n // 64)](a, b, c, n, B=64)
    return c
"""
FACTS = ("a:float16[1024,1024]", "b:float16[1024,1024]")


def judged(cast: str, performance: str | None = None):
    return analysis(Request(KERNEL.format(cast=cast), assumptions=FACTS, device="h100-sxm", performance=performance))


def test_the_verdict_says_what_is_promised_of_the_change_and_its_finding_alike() -> None:
    found = judged(".to(tl.float32)")
    chosen, headroom = found.judgement.chosen, found.judgement.headroom
    assert chosen is not None and headroom is not None and chosen.finding.rule.code == "KL103"
    said, alone = found.verdict.details.estimate.gpu, chosen.gains["gpu"].middle
    assert said.speedup is not None and said.after_us is not None and said.before_us is not None
    assert 0.999 * alone <= said.speedup <= 1.001 * max(alone, headroom.ratio)
    assert said.after_us == pytest.approx(said.before_us / said.speedup)
    (report,) = [one for one in found.verdict.details.findings if one.rule.code == "KL103"]
    assert report.estimate is not None and report.estimate.gpu.speedup == said.speedup


def test_what_is_not_worth_it_is_promised_nothing() -> None:
    found = judged("")
    chosen = found.judgement.chosen
    assert found.judgement.worth or chosen is None or found.judgement.promises == chosen.gains


def test_in_wall_time_the_host_is_no_faster_than_it_is() -> None:
    found = judged(".to(tl.float32)")
    call, host = found.judgement.promises["call"], sum(row.total_host_us for row in found.judgement.before.steps)
    assert call.after_us >= 0.8 * min(host, call.before_us)
    assert call.low <= call.middle <= call.high
