"""Dropping torch calls: what is proven, and the sentence where it is not."""

import textwrap

import pytest
from support.findings import HEADER

from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question, host_facts
from kernlint.operators.drop import DROP, Picked, Skipped, Unfilled
from kernlint.operators.operator import WhyNot
from kernlint.operators.write_in_place import WRITE_IN_PLACE, CopyBack
from kernlint.rules.finding import Context
from kernlint.syntax.source import SourceText
from kernlint.syntax.task import read_task

KERNEL = """
@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2.0, mask=i < n)

def launch(x, y, n=None):
    n = x.numel() if n is None else n
    double[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        {body}

def get_inputs():
    return [torch.randn(64, 4096, dtype=torch.float16)]
"""


def context_of(body):
    text = HEADER + KERNEL.format(body=textwrap.indent(textwrap.dedent(body), " " * 8).strip())
    gpu = find_device("h100-sxm")
    program = Program(read_task(SourceText(text, "k.py")).kernel, None, Question(host=host_facts(gpu)))
    (workload,) = program.workloads()
    return Context(program, workload, gpu, price=lambda w: estimate(w, gpu))


def answers(operator, body):
    context = context_of(body)
    return [operator.check(context, place) for place in operator.sites(context)]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("a, y = x.clone(), torch.empty_like(x)\nlaunch(a, y)\nreturn y", Skipped),
        ("a, y = x.float(), torch.empty_like(x)\nlaunch(a, y)\nreturn y", Skipped),
        ("y = torch.empty(x.shape, device=x.device)\nlaunch(x, y)\nreturn y.half()", Skipped),
        ("y = torch.zeros_like(x)\nlaunch(x, y)\nreturn y", Unfilled),
        ("a = x.repeat_interleave(2, dim=0)\ny = torch.empty_like(a)\nlaunch(a, y)\nreturn y", Picked),
    ],
)
def test_what_may_go(body, kind):
    (found,) = answers(DROP, body)
    assert isinstance(found, kind)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "a, y = x.clone(), torch.empty_like(x)\nlaunch(a, y)\nreturn y + a.sum()",
            "torch's `sum` reads what it makes",
        ),
        (
            "a, y = x.clone(), torch.empty_like(x)\nlaunch(a, y)\nlaunch(y, a)\nreturn y",
            "`double` writes to what it makes",
        ),
        ("y = torch.zeros_like(x)\nlaunch(x, y, 64)\nreturn y", "not proven to write every element"),
        ("y = torch.zeros_like(x)\nlaunch(x, y)\ny.zero_()\nreturn y", "it fills memory that was there before"),
        ("y = torch.zeros_like(x)\nz = y + 1\nlaunch(x, y)\nreturn y, z", "torch's `add` uses what it filled"),
        ("a = x.repeat_interleave(2, dim=0)\nlaunch(x, x)\nreturn a", "what it picks is returned"),
        ("y = torch.empty_like(x)\nlaunch(x, y)\nreturn y.clone()", "no kernel reads what it makes"),
    ],
)
def test_why_it_may_not(body, reason):
    said = [found.reason for found in answers(DROP, body) if isinstance(found, WhyNot)]
    assert any(reason in one for one in said), said


def test_a_copy_back():
    (found,) = answers(WRITE_IN_PLACE, "y = torch.empty_like(x)\nlaunch(x, y)\nx.copy_(y)\nreturn x")
    assert isinstance(found, CopyBack) and found.parameter == "y"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("y = torch.empty_like(x)\nlaunch(x, y)\nx.copy_(y)\nreturn y", "returned as well"),
        ("y = torch.empty_like(x)\nlaunch(x, y)\nlaunch(y, x)\nx.copy_(y)\nreturn x", "more than one launch"),
        ("y = x + 1\nlaunch(y, x)\nx.copy_(y)\nreturn x", "not allocated in this call for a kernel"),
        (
            "y = torch.empty_like(x)\nlaunch(x, y)\nz = x.sum()\nx.copy_(y)\nreturn z",
            "another step touches the original",
        ),
    ],
)
def test_why_there_is_no_copy_back(body, reason):
    (found,) = answers(WRITE_IN_PLACE, body)
    assert isinstance(found, WhyNot) and reason in found.reason, found


def test_all_at_once():
    """The fill and the copy go in one what-if, and the call does nothing but launch."""
    context = context_of("a, y = x.float(), torch.zeros_like(x)\nlaunch(a, y)\nreturn y")
    after = context.after(DROP.apply(context, list(DROP.proven(context))))
    assert after is not None and len(after.launches()) == 1
    assert not list(DROP.sites(Context(context.program, after, context.device, price=context.price)))
