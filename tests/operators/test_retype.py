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
    context, found = answer(KERNEL.replace("1e-3", "1e-60"), REFERENCE)
    assert "does not hold `1e-60`" in RETYPE.emit(context, [found]).reason
