"""Retiling: which number sets the tile, and the sentence where none does."""

import textwrap

import pytest
from support.findings import HEADER

from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate
from kernlint.interpret.program import Program
from kernlint.interpret.question import Question, host_facts
from kernlint.operators.operator import WhyNot
from kernlint.operators.retile import RETILE, Streamed, Tiled
from kernlint.rules.finding import Context
from kernlint.rules.registry import find_rule
from kernlint.syntax.source import SourceText
from kernlint.syntax.task import read_task


def context_of(source):
    gpu = find_device("h100-sxm")
    task = read_task(SourceText(HEADER + textwrap.dedent(source), "k.py"))
    program = Program(task.kernel, None, Question(host=host_facts(gpu)))
    (workload,) = program.workloads()
    return Context(program, workload, gpu, price=lambda w: estimate(w, gpu))


def answer(source):
    context = context_of(source)
    (place,) = RETILE.sites(context)
    return context, RETILE.check(context, place)


PRODUCT = find_rule("KL201").bad
STREAM = find_rule("KL202").bad


def test_a_product():
    context, found = answer(PRODUCT)
    assert isinstance(found, Tiled)
    variant = RETILE.apply(context, [found])
    assert variant is not None and (context.gpu_us(variant) or 0) < (context.gpu_us(context.variant) or 0)
    assert RETILE.emit(context, [found]).automatic


def test_a_stream():
    context, found = answer(STREAM)
    assert isinstance(found, Streamed)
    assert RETILE.emit(context, [found]).automatic


def test_the_best_tile_stays():
    """Where nothing is faster there is nothing to write."""
    context, found = answer(STREAM.replace("BLOCK=64", "BLOCK=4096"))
    assert isinstance(found, Streamed) and RETILE.apply(context, [found]) is None
    made = RETILE.emit(context, [found])
    assert made.rewriting is None and "no other tile" in made.reason


@pytest.mark.parametrize(
    ("code", "which", "reason"),
    [
        ("KL222", "bad", "triton.autotune chooses its tile"),
        ("KL208", "bad", "it does not only stream"),
    ],
)
def test_why_not(code, which, reason):
    _, found = answer(getattr(find_rule(code), which))
    assert isinstance(found, WhyNot) and reason in found.reason, found


FREE = 'lambda meta: (4096 // meta["BM"], 4096 // meta["BN"])'


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            STREAM.replace('lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)', "(262144,)"),
            "the grid does not follow from `BLOCK`",
        ),
        (PRODUCT.replace(FREE, "(256, 256)"), "the rows and the columns of the tile alone"),
    ],
)
def test_a_grid_of_numbers(source, reason):
    _, found = answer(source)
    assert isinstance(found, WhyNot) and reason in found.reason, found


@pytest.mark.parametrize(
    ("stored", "stays"),
    [
        ("x0 + i", True),
        ("x0 * tl.rand(7, i)", True),
        ("tl.where(i < n // 2, x0, 0.0)", True),
        ("x0 + (i // 2) % 5", True),
        ("x0 + tl.load(y + (i * 0 + 3))", True),
        ("x0 + tl.program_id(0)", False),
        ("x0 + i % BLOCK", False),
        ("x0 + tl.arange(0, BLOCK)", False),
        ("x0 / BLOCK", False),
        ("x0 * tl.num_programs(0)", False),
        ("x0 * tl.rand(7, tl.arange(0, BLOCK))", False),
        ("x0 * tl.rand(tl.program_id(0), i)", False),
        ("x0 * tl.load(y + tl.program_id(0))", False),
        ("tl.where(tl.program_id(0) < 3, x0, 0.0)", False),
    ],
)
def test_what_a_stream_stores_stays_with_another_tile(stored, stays):
    loaded = "tl.load(x + i, mask=i < n)"
    source = STREAM.replace(f"tl.maximum({loaded}, 0.0)", stored).replace(
        "tl.store(y", f"x0 = {loaded}\n            tl.store(y", 1
    )
    _, found = answer(source)
    assert isinstance(found, Streamed) == stays, found
