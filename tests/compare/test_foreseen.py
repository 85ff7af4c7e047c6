"""What it takes to work out an element is known before it is begun, where it is more than may be spent."""

from __future__ import annotations

import pytest

from kernlint.compare import difference
from kernlint.compare.columns import MOST_NUMBERS, Effort, Points, TooMuch
from kernlint.compare.elements import Elements, least
from kernlint.generate.values import Value, View, identity, lane
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question
from kernlint.syntax.tree import parse_module
from kernlint.workload import dtype as dt


def drawn(*shape: int) -> Value:
    made = Value("draw", shape, dt.FLOAT32, attributes={"draw": ("normal", 0.0, 1.0), "key": "x"})
    return Value("input", shape, dt.FLOAT32, (made.view,), {"path": "x"})


def summed(view: View, *over: int) -> Value:
    """The sum of a view over its last axes, of nothing else."""
    return Value("reduce", (), dt.FLOAT32, (view,), {"kind": "sum", "over": over})


def spent(view: View) -> int:
    effort = Effort(10**7)
    Elements(effort).view(view, Points((), 1))
    return 10**7 - effort.left


def test_a_sum_takes_a_number_for_each_element() -> None:
    assert least(summed(drawn(64).view, 64).view) == 64


def test_a_sum_inside_a_sum_is_made_again_where_places_differ() -> None:
    rows = Value("reduce", (8,), dt.FLOAT32, (drawn(8, 64).view,), {"kind": "sum", "over": (64,)})
    assert least(summed(rows.view, 8).view) == 8 + 8 * 64
    row = View(summed(drawn(64).view, 64), ())
    wide = Value("neg", (8,), dt.FLOAT32, (row,))
    assert least(summed(wide.view, 8).view) == 8 + 64, "the same one for all"


@pytest.mark.parametrize(
    "value",
    [
        drawn(),
        summed(drawn(64).view, 64),
        summed(Value("exp", (4, 16), dt.FLOAT32, (drawn(4, 16).view,)).view, 4, 16),
        summed(Value("reduce", (8,), dt.FLOAT32, (drawn(8, 64).view,), {"kind": "max", "over": (64,)}).view, 8),
        summed(Value("neg", (8, 3), dt.FLOAT32, (View(drawn(8), (lane(0),)),)).view, 8, 3),
        Value("product", (), dt.FLOAT32, (drawn(32).view, drawn(32).view), {"over": (32,)}),
        Value("add", (), dt.FLOAT32, (summed(drawn(9).view, 9).view, summed(drawn(70).view, 70).view)),
    ],
)
def test_no_more_is_foreseen_than_is_spent(value: Value) -> None:
    assert least(value.view) <= spent(value.view)


def test_what_numbers_decide_is_not_foreseen() -> None:
    """Of a choice one way alone is gone, of what a launch leaves nobody knows what it is made of."""
    dear = summed(drawn(4096).view, 4096).view
    number = Value("number", (), dt.FLOAT32, attributes={"value": 1}).view
    none = ()
    chosen = Value("choose", (), dt.FLOAT32, (number, dear), {"cases": (none, none)})
    assert least(chosen.view) == 0
    assert spent(chosen.view) < 4096


def test_many_ways_down_are_looked_at_once() -> None:
    """Each value uses the one before twice."""
    value = drawn(16)
    for _ in range(200):
        value = Value("add", (16,), dt.FLOAT32, (value.view, View(value, identity((16,)))))
    assert least(summed(value.view, 16).view) == 16


def test_too_much_is_said_where_it_is_spent() -> None:
    with pytest.raises(TooMuch):
        Elements(Effort(1000)).view(summed(drawn(4096).view, 4096).view, Points((), 1))


SOURCE = """
import torch
import triton
import triton.language as tl


@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


class Model(torch.nn.Module):
    def forward(self, x, v, w):
        return x @ v @ w


class ModelNew(torch.nn.Module):
    def forward(self, x, v, w):
        y = torch.empty_like(x)
        copy[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
        return y


def get_inputs():
    return [torch.randn(SIZE, SIZE, device="cuda") for _ in range(3)]
"""


def begun(monkeypatch: pytest.MonkeyPatch, size: int) -> tuple[int, int]:
    """How many elements are begun of a result of ``size`` rows and columns, each a sum of so many sums, and how many come to an end."""
    module = parse_module(SOURCE.replace("SIZE", str(size)), "kernel.py")
    question = Question("ModelNew.forward", detailed=True, strict=False)
    (workload,) = Program(module, None, question).workloads()
    work_out, calls = difference._witness, list[object]()
    monkeypatch.setattr(difference, "_witness", lambda *given: (calls.append(given), work_out(*given))[1])
    (output,) = difference.compared(workload, Effort(MOST_NUMBERS))
    return len(calls), len(output.witnesses)


def test_an_element_of_too_much_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    assert begun(monkeypatch, 1024) == (0, 0)


def test_no_other_is_begun_where_what_is_left_is_less_than_each_took(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, ended = begun(monkeypatch, 128)
    assert calls == ended > 0


def test_cheap_elements_are_all_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    assert begun(monkeypatch, 4)[1] > 8
