"""What is promised of a change beside the kernels that `fix` writes for it."""

from __future__ import annotations

import pytest

from kernlint.analysis import analysis
from kernlint.request import Request
from kernlint.verdict.candidate import LEAST_LOW, Priced
from kernlint.verdict.judge import Judgement

#: A filter of one pole along rows of which a program walks through several at a time.
FILTER = """
import torch, triton, triton.language as tl

@triton.jit
def smooth(x, pole, y, rows, steps, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    inside = row < rows
    a = tl.load(pole + row, mask=inside, other=0.0)
    state = tl.zeros((ROWS,), tl.float32)
    for t in range(steps):
        state = a * state + (1.0 - a) * tl.load(x + row * steps + t, mask=inside, other=0.0)
        tl.store(y + row * steps + t, state, mask=inside)

class ModelNew(torch.nn.Module):
    def forward(self, x, pole):
        y = torch.empty_like(x)
        smooth[(triton.cdiv(x.shape[0], 32),)](x, pole, y, x.shape[0], x.shape[1], ROWS=32, num_warps=1)
        return y
"""
REFERENCE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, pole):
        state, y = torch.zeros_like(pole), torch.empty_like(x)
        for t in range(x.shape[1]):
            state = pole * state + (1.0 - pole) * x[:, t]
            y[:, t] = state
        return y

def get_inputs():
    return [torch.randn(1024, 8192), torch.rand(1024)]
"""


def judged(reference: str = REFERENCE, **options: str) -> Judgement:
    return analysis(Request(FILTER, reference=reference, device="h200", **options)).judgement  # type: ignore[arg-type]


def test_no_less_is_promised_than_the_kernels_gain_that_are_written() -> None:
    judgement = judged()
    assert judgement.written is not None and judgement.chosen is not None
    predicted, made = judgement.before.gpu_us, judgement.written.gpu_us
    assert predicted is not None and made is not None
    promise, own = judgement.promises["gpu"], judgement.chosen.gains["gpu"]
    assert promise.middle == pytest.approx(max(own.middle, predicted / made)) and promise.middle > 2 * own.middle
    assert promise.after_us == pytest.approx(promise.before_us / promise.middle)
    assert promise.low < promise.middle < promise.high < 10 * promise.low
    assert judgement.after is judgement.written
    assert judgement.headroom is not None and judgement.headroom.achievable_us <= made * 1.001


def test_nothing_is_written_where_the_change_is_not_worth_it() -> None:
    small = REFERENCE.replace("1024, 8192", "32, 16").replace("rand(1024)", "rand(32)")
    judgement = judged(small, scope="call")
    assert not judgement.worth and judgement.written is None
    assert judgement.chosen is None or judgement.promises == judgement.chosen.gains


def test_kernels_that_cannot_be_written_leave_the_promise_as_it_is() -> None:
    inputs = REFERENCE[REFERENCE.index("def get_inputs") :]
    # Other kernels would have to keep what it keeps.
    kept = FILTER.replace("y = torch", "self.last = x\n        y = torch")
    judgement = analysis(Request(kept + "\n" + inputs, device="h200")).judgement
    assert judgement.worth and judgement.chosen is not None and judgement.written is None
    assert judgement.promises["gpu"].middle == judgement.chosen.gains["gpu"].middle
    assert judgement.after is judgement.chosen.after


def test_nothing_is_written_for_sizes_that_are_assumed() -> None:
    judgement = analysis(Request(FILTER, device="h200")).judgement
    assert judgement.certainty == "assumed" and not judgement.given and judgement.written is None


@pytest.mark.parametrize(
    ("gain", "pays"),
    [
        pytest.param((1.8, 0.95, 3.4), True, id="prices that err much"),
        pytest.param((1.8, 1.4, 2.3), True, id="prices that err little"),
        pytest.param((1.17, 0.95, 1.4), False, id="a gain that is small"),
        pytest.param((0.9, 0.5, 1.6), False, id="a loss"),
    ],
)
def test_kernels_at_hand_pay_where_such_kernels_did(gain: tuple[float, float, float], pays: bool) -> None:
    made = Priced(100.0, 100.0 / gain[0], *gain)
    assert made.written.pays(LEAST_LOW) == pays
    assert made.low <= made.written.low < made.middle == made.written.middle
