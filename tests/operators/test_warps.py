"""Warps: a tile that too many share is left to fewer; a product's, and what a tuner chooses, is not touched."""

import textwrap

from support.findings import HEADER

from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate
from kernlint.fix import fix_source
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question, host_facts
from kernlint.operators.operator import WhyNot
from kernlint.operators.warps import SHARE
from kernlint.request import Request
from kernlint.rules.finding import Context
from kernlint.rules.registry import find_rule
from kernlint.syntax.source import SourceText
from kernlint.syntax.task import read_task

#: A small triangular solve: sixteen steps in turn, each of which reduces a tile of 256 elements.
SOLVE = """
@triton.jit
def solve(l_ptr, x_ptr, n, BLOCK: tl.constexpr):
    b = tl.program_id(0)
    rows = tl.arange(0, BLOCK)
    inside = (rows < n)[:, None] & (rows < n)[None, :]
    offs = rows[:, None] * n + rows[None, :]
    l = tl.load(l_ptr + b * n * n + offs, mask=inside, other=0.0)
    x = tl.load(x_ptr + b * n + rows, mask=rows < n, other=0.0)
    for k in range(n):
        column = tl.sum(tl.where(rows[None, :] == k, l, 0.0), axis=1)
        pivot = tl.sum(tl.where(rows == k, column, 0.0))
        top = tl.sum(tl.where(rows == k, x, 0.0)) / pivot
        x = tl.where(rows > k, x - column * top, tl.where(rows == k, top, x))
    tl.store(x_ptr + b * n + rows, x, mask=rows < n)

class ModelNew(torch.nn.Module):
    def forward(self, l, x):
        solve[(l.shape[0],)](l, x, l.shape[1], BLOCK=16, num_warps=8)
        return x

def get_inputs():
    return [torch.randn(65536, 16, 16), torch.randn(65536, 16)]
"""


def answer(source):
    gpu = find_device("h200-sxm")
    task = read_task(SourceText(HEADER + textwrap.dedent(source), "k.py"))
    program = Program(task.kernel, None, Question(host=host_facts(gpu)))
    (workload,) = program.workloads()
    context = Context(program, workload, gpu, price=lambda w: estimate(w, gpu))
    (place,) = SHARE.sites(context)
    return context, SHARE.check(context, place)


def test_one_warp_for_a_small_tile():
    context, found = answer(SOLVE)
    assert not isinstance(found, WhyNot)
    variant = SHARE.apply(context, [found])
    assert variant is not None and context.gpu_us(variant) < 0.5 * context.gpu_us(context.variant)
    made = SHARE.emit(context, [found])
    assert made.automatic and made.rewriting.effects.numerics == "reordered"


def test_the_best_number_stays():
    context, found = answer(SOLVE.replace("num_warps=8", "num_warps=1"))
    assert SHARE.apply(context, [found]) is None
    assert "no other number of warps" in SHARE.emit(context, [found]).reason


def test_what_others_choose():
    _, product = answer(find_rule("KL201").bad)
    _, tuned = answer(find_rule("KL222").bad)
    assert isinstance(product, WhyNot) and "product" in product.reason
    assert isinstance(tuned, WhyNot) and "triton.autotune" in tuned.reason


def test_the_fix_where_no_cause_is_known():
    """The kernel keeps all but the number, where no kernels can be written anew; who does not name a device is told."""
    source = HEADER + SOLVE
    made = fix_source(Request(source, path="k.py", device="h200"), unsafe=True)
    assert made.after == source.replace("num_warps=8", "num_warps=1")
    assert made.applied[0].effects.applicability == "safe" and not made.applied[0].anew
    unnamed = fix_source(Request(source, path="k.py"), unsafe=True)
    assert "no device was named" in unnamed.applied[0].effects.notes[0]
