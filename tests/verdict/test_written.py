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


#: A linear layer whose weight, in bytes with a step for each row, one kernel unpacks for another.
UNPACKED = """
import torch, triton, triton.language as tl

@triton.jit
def unpack(packed, step, w, N, K, ROWS: tl.constexpr, B: tl.constexpr):
    n = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    k = tl.program_id(1) * B + tl.arange(0, B)
    mask = (n[:, None] < N) & (k[None, :] < K)
    at = n[:, None] * K + k[None, :]
    value = tl.load(packed + at, mask=mask, other=0).to(tl.float32) * tl.load(step + n, mask=n < N)[:, None]
    tl.store(w + at, value.to(tl.float16), mask=mask)

@triton.jit
def linear(x, w, y, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.program_id(0) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(x + m[:, None] * K + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        b = tl.load(w + n[:, None] * K + k[None, :], mask=(n[:, None] < N) & (k[None, :] < K), other=0.0)
        total = tl.dot(a, tl.trans(b), total)
    tl.store(y + m[:, None] * N + n[None, :], total.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))

class ModelNew(torch.nn.Module):
    def forward(self, x, packed, step):
        (M, K), N = x.shape, packed.shape[0]
        w = torch.empty(N, K, device=x.device, dtype=torch.float16)
        unpack[(triton.cdiv(N, 8), triton.cdiv(K, 512))](packed, step, w, N, K, ROWS=8, B=512)
        y = torch.empty(M, N, device=x.device, dtype=torch.float16)
        linear[(triton.cdiv(N, 64),)](x, w, y, M, N, K, BM=32, BN=64, BK=128, num_warps=4, num_stages=4)
        return y
"""
PACKED = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, packed, step):
        w = packed.float() * step[:, None]
        return (x.float() @ w.t()).half()

def get_inputs():
    return [torch.randn(32, 8192).half(), torch.randint(-127, 128, (24576, 8192), dtype=torch.int8), torch.rand(24576)]
"""


def test_kernels_are_written_for_a_cause_that_no_good_version_known_removes() -> None:
    judgement = analysis(Request(UNPACKED, reference=PACKED, device="h200")).judgement
    assert judgement.worth and judgement.chosen is not None and judgement.written is not None
    assert judgement.chosen.finding.cause is not None and judgement.chosen.finding.cause.name == "round trips"
    gain = judgement.before.gpu_us / judgement.written.gpu_us  # type: ignore[operator]
    assert judgement.promises["gpu"].middle == pytest.approx(gain) and gain > 1.5


def test_such_a_cause_promises_nothing_where_what_is_passed_on_is_a_result() -> None:
    source = UNPACKED.replace("        return y", "        return y, w")
    reference = PACKED.replace("w.t()).half()", "w.t()).half(), w.half()")
    judgement = analysis(Request(source, reference=reference, device="h200")).judgement
    assert not judgement.worth and judgement.written is None


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
