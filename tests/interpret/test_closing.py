"""A program that is closed leaves nothing behind for the search for garbage."""

from __future__ import annotations

import gc
import weakref

from kernlint.interpret.program import Program
from kernlint.interpret.question import Question
from kernlint.syntax.tree import parse_module

SOURCE = """
import torch
import triton
import triton.language as tl


class Options:
    block = 128


@triton.jit
def double(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


def run(x: torch.Tensor, fast: bool):
    grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
    if fast:
        if x.numel() > 1024:
            return launch(x, grid)
        return x
    return launch(x, grid)


def launch(x, grid):
    y = torch.empty_like(x)
    double[grid](x, y, x.numel(), BLOCK=Options.block)
    return y
"""


def test_the_tree_goes_with_the_last_name_of_a_closed_program() -> None:
    gc.collect()
    gc.disable()
    try:
        module = parse_module(SOURCE, "k.py")
        program = Program(module)
        assert program.workloads()
        changed = program.variant(parse_module(SOURCE.replace("128", "256"), "k.py"), Question())
        assert changed.workloads()
        left = [weakref.ref(module), weakref.ref(changed.kernel)]
        program.close()
        del module, program, changed
        assert [reference() for reference in left] == [None, None]
    finally:
        gc.enable()
