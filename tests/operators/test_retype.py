"""Retype: doubles go where nothing that is read or asked for is one, and stay wherever they hold what float32 does not."""

import textwrap

import pytest
from support.findings import HEADER

from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question, host_facts
from kernlint.operators.operator import WhyNot
from kernlint.operators.retype import RETYPE
from kernlint.rewrite.text import apply_edits
from kernlint.rules.finding import Context
from kernlint.syntax.source import SourceText
from kernlint.syntax.task import read_task

#: Pairwise potentials, summed in double.
KERNEL = """
@triton.jit
def potential(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    here = tl.load(x + i).to(tl.float64)
    total = tl.zeros((BLOCK,), dtype=tl.float64)
    for start in range(0, n, BLOCK):
        j = start + tl.arange(0, BLOCK)
        there = tl.load(x + j, mask=j < n, other=0.0).to(tl.float64)
        total += tl.where(j < n, 1.0 / ((here - there) * (here - there) + 1e-3), 0.0)
    tl.store(y + i, tl.sum(total).to(tl.float32))

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        potential[(x.shape[0],)](x, y, x.shape[0], BLOCK=128)
        return y
"""
REFERENCE = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return (1.0 / ((x[:, None] - x[None, :]) ** 2 + 1e-3)).sum(1)

def get_inputs():
    return [torch.randn(8192)]
"""


def answer(source, reference):
    gpu = find_device("h200-sxm")
    task = read_task(SourceText(HEADER + textwrap.dedent(source), "k.py"))
    module = read_task(SourceText(reference, "r.py")).kernel if reference else None
    program = Program(task.kernel, module, Question(host=host_facts(gpu)))
    (workload,) = program.workloads()
    context = Context(program, workload, gpu, price=lambda w: estimate(w, gpu))
    (place,) = RETYPE.sites(context)
    return context, RETYPE.check(context, place)


def test_single_precision_is_enough():
    context, found = answer(KERNEL, REFERENCE)
    assert not isinstance(found, WhyNot)
    assert context.gpu_us(RETYPE.apply(context, [found])) < 0.8 * context.gpu_us(context.variant)
    made = RETYPE.emit(context, [found])
    assert (made.rewriting.effects.applicability, made.rewriting.effects.numerics) == ("unsafe", "changed")
    text = context.program.kernel.text
    assert apply_edits(text, made.rewriting.edits) == text.replace("float64", "float32")


@pytest.mark.parametrize(
    ("source", "reference", "reason"),
    [
        (KERNEL.replace("tl.sum(total).to(tl.float32)", "tl.sum(total)").replace("empty_like(x)", "empty_like(x, dtype=torch.float64)"),
         REFERENCE.replace(".sum(1)", ".sum(1, dtype=torch.float64)"), "`y` holds doubles"),
        (KERNEL, REFERENCE.replace("(1.0 /", "(1.0 /").replace(".sum(1)", ".double().sum(1).float()"), "computes in doubles"),
        (KERNEL.replace("here - there", "here - there + j.to(tl.float64)"), REFERENCE, "makes doubles of integers"),
    ],
)  # fmt: skip
def test_what_needs_doubles(source, reference, reason):
    _, found = answer(source, reference)
    assert isinstance(found, WhyNot) and reason in found.reason, found


def test_nobody_says_that_less_is_enough():
    """A program by itself may have its reasons."""
    source = KERNEL + "\n\ndef get_inputs():\n    return [torch.randn(8192)]\n"
    _, found = answer(source, None)
    assert isinstance(found, WhyNot) and "no reference" in found.reason


def test_what_float32_does_not_hold():
    _, found = answer(KERNEL.replace("1e-3", "1e-60"), REFERENCE)
    assert isinstance(found, WhyNot) and "does not hold `1e-60`" in found.reason


END = "tl.store(y + i, tl.sum(total).to(tl.float32))"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        pytest.param(END, "mean = tl.sum(total) / 8192.0\n    tl.store(y + i, (tl.sum(total * total) - mean * mean).to(tl.float32))",
                     "difference of sums", id="a variance by squares"),
        pytest.param("1.0 / (", "tl.exp(here) / (", "leaves the range", id="exponentials of anything"),
        pytest.param("tl.sum(total)", "tl.sum(total.to(tl.int64))", "integers of doubles", id="integers"),
        pytest.param("tl.sum(total)", "tl.sum(total.to(tl.int64, bitcast=True))", "integers of doubles", id="bits"),
        pytest.param("here - there", "here - there * j", "doubles of integers", id="integers without a cast"),
        pytest.param("here - there", "here - there * n", "", id="an integer that float32 holds"),
        pytest.param("1.0 / (", "1.0 / (1732960000.25 - 1732960000.0 + ", "", id="numbers that are one"),
        pytest.param("here - there", "here + 1732960000.25 - there", "does not hold `1732960000.25`", id="a time"),
        pytest.param("1e-3", "1e-30 * 1e-30", "does not hold", id="a product of literals"),
        pytest.param("tl.where(j < n", "tl.where(here != there", "the same", id="are two the same"),
    ],
)  # fmt: skip
def test_what_doubles_may_be_there_for(old, new, reason):
    assert old in KERNEL
    _, found = answer(KERNEL.replace(old, new), REFERENCE)
    assert isinstance(found, WhyNot) == bool(reason) and (not reason or reason in found.reason), found


@pytest.mark.parametrize("taken", ["torch.exp(x[:, None])", "x[:, None].clone().exp_()"])
def test_exponentials_of_a_reference_that_takes_them_too(taken):
    _, found = answer(KERNEL.replace("1.0 / (", "tl.exp(here) / ("), REFERENCE.replace("(1.0 /", f"({taken} /"))
    assert not isinstance(found, WhyNot), found


def test_what_is_larger_than_all_others_need_not_be_exact():
    masked = KERNEL.replace("1e-3), 0.0)", "1e-3), -1e30)")
    assert masked != KERNEL
    _, found = answer(masked, REFERENCE)
    assert not isinstance(found, WhyNot), found
