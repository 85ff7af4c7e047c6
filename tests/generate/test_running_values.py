"""Loops in kernels that store what they carry in each round, read as recurrences without a reference."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from support.rewriting import HEADER, assert_same_results, fixed, needs_interpreter

from kernlint.interpret.program import Program
from kernlint.interpret.question import Question
from kernlint.operators.generate import first_way
from kernlint.rewrite.edits import Attempt
from kernlint.rewrite.text import apply_edits
from kernlint.rules.registry import find_rule
from kernlint.syntax.tree import parse_module

PROGRAM = """
ROWS, N = {sizes}

@triton.jit
def walk(x_ptr, g_ptr, y_ptr, last_ptr, n, decay, SCALE: tl.constexpr):
    row = tl.program_id(0)
    x = x_ptr + row * n
    g = g_ptr + row * n
    y = y_ptr + row * n
{body}


class ModelNew(torch.nn.Module):
    def forward(self, x, g):
        y = torch.empty_like(x{kind})
        last = torch.zeros(ROWS)
        walk[(ROWS,)](x, g, y, last, N, 0.5, SCALE=2)
        return y, last


def get_inputs():
    return [{inputs}, torch.rand(ROWS, N)]
"""
LARGE, SMALL = "512, 4096", ["2, 150", "3, 37"]
FLOATS, HALVES = "torch.rand(ROWS, N)", "torch.rand(ROWS, N).half()"


def program(body: str, inputs: str = FLOATS, sizes: str = LARGE, kind: str = "") -> str:
    text = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    result = PROGRAM
    for name, value in {"sizes": sizes, "body": text, "inputs": inputs, "kind": kind}.items():
        result = result.replace("{" + name + "}", value)
    return HEADER + result


def attempt(source: str) -> Attempt:
    return first_way(Program(parse_module(source, "before.py"), None, Question()), "ModelNew.forward")


def rewritten(source: str) -> str:
    made = attempt(source)
    assert made.rewriting is not None, made.reason
    return apply_edits(source, made.rewriting.edits)


def stored(update: str, start: str = "0.0", last: bool = False) -> str:
    """A loop in which ``update`` makes the next ``h``, which is stored."""
    text = f"h = {start}\nfor k in range(n):\n    v = tl.load(x + k)\n    {update}\n    tl.store(y + k, h)\n"
    return text + "tl.store(last_ptr + row, h)\n" * last


CASES = [
    pytest.param(stored("h = h + v * SCALE"), FLOATS, id="sum"),
    pytest.param(stored("h -= v", last=True), FLOATS, id="difference, read after the loop"),
    pytest.param(stored("h += v"), HALVES, id="elements of half precision"),
    pytest.param(stored("h = h + v", "tl.full((), 0, tl.float16)"), HALVES, id="a state that is rounded in each round"),
    pytest.param(stored("h = 0.9 * h + v"), HALVES, id="linear, elements of half precision"),
    pytest.param(stored("h *= 1.0 - 0.001 * v", "1.0", last=True), FLOATS, id="product"),
    pytest.param(stored("h = tl.maximum(h, v * 2.0)", "-1.0", last=True), FLOATS, id="maximum"),
    pytest.param(stored("a = tl.load(g + k); h = a * h + (1.0 - a) * v", last=True), FLOATS, id="linear, with gates"),
    pytest.param(stored("h = h + v", "tl.load(g)"), FLOATS, id="begins as an element"),
    pytest.param(stored("h = h + h * v", "1.0"), FLOATS, id="a factor that differs"),
    pytest.param(stored("h = v + h / 2.0"), FLOATS, id="divided"),
    pytest.param(stored("h = tl.sin(h) + v", last=True), FLOATS, id="associative in no way"),
    pytest.param(stored("h = tl.where(v > 0.5, 0.0, h + v)"), FLOATS, id="begun anew by the data"),
    pytest.param(
        "h = 0.0\nfor k in range(n):\n    h += tl.load(x + (n - 1 - k))\n    tl.store(y + (n - 1 - k), h)", FLOATS, id="backwards",
    ),
    pytest.param(
        "h = 0.0\nfor k in range(n):\n    tl.store(y + k, h)\n    h += tl.load(x + k)", FLOATS, id="stored before its update",
    ),
    pytest.param(
        "h = 0.0\ns = 0.0\nfor k in range(n):\n    v = tl.load(x + k)\n    h = decay * h - v\n    s += v\n    tl.store(y + k, h + s)",
        FLOATS, id="two states",
    ),
    pytest.param(
        "h = 0.0\ns = 1.0\nfor k in range(n):\n    h = 0.5 * h + tl.load(x + k)\n    s = 0.9 * s + h\n    tl.store(y + k, s)",
        FLOATS, id="one state made of the other",
    ),
    pytest.param(
        "h = 0.0\np = 0.0\nfor k in range(n):\n    v = tl.load(x + k)\n    h = 0.9 * h + v - p\n    p = v\n    tl.store(y + k, h)",
        FLOATS, id="what the round before has loaded",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "inputs"), CASES)
def test_is_written(body: str, inputs: str) -> None:
    rewritten(program(body, inputs))


@needs_interpreter
@pytest.mark.slow
@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize(("body", "inputs"), CASES)
def test_computes_the_same(tmp_path: Path, body: str, inputs: str, size: str) -> None:
    source = program(body, inputs, size)
    # A state of half precision loses up to half a unit in each round, which sums in blocks do not.
    halves = 1e-2 if "tl.float16" in body else 2e-3
    assert_same_results(tmp_path, source, rewritten(source), tolerance=halves if inputs == HALVES else 1e-4)


@needs_interpreter
@pytest.mark.parametrize("number", [0, 13, 14, 17])
def test_some_of_them_in_the_fast_tests(tmp_path: Path, number: int) -> None:
    body, inputs = CASES[number].values
    source = program(body, inputs, SMALL[0])
    assert_same_results(tmp_path, source, rewritten(source), tolerance=1e-4)


def test_the_example_of_the_rule() -> None:
    after = fixed(find_rule("KL503").bad, "KL503", header=False)
    assert "for start in range(0, 4096, BLOCK):" in after
    assert "keep, add = tl.associative_scan((keep, add), 1, two_linear_steps)" in after


REFUSED = [
    pytest.param(
        "h = 0.0\nfor k in range(n):\n    v = tl.load(x + k)\n    h += v\n    if h > 3.0:\n        tl.store(y + k, h)",
        id="where the state says so",
    ),
    pytest.param(
        "h = 0\nfor k in range(n):\n    v = tl.load(x + h)\n    h = (h + tl.load(g + k).to(tl.int32)) % n\n    tl.store(y + k, v)",
        id="an address that is a state",
    ),
    pytest.param(
        "h = 0.0\nfor k in range(n):\n    h += tl.load(x + k)\n    tl.store(y + (k * 7) % n, h)", id="places that jump",
    ),
    pytest.param(
        "h = 0.0\nfor k in range(n):\n    h += tl.load(x + k)\n    tl.store(y, h)", id="one place again and again",
    ),
    pytest.param(
        "h = 0.0\nfor k in range(n):\n    h += tl.load(y + k)\n    tl.store(y + k + 1, h, mask=k + 1 < n)", id="reads what it wrote",
    ),
    pytest.param(
        "h = 0.0\nk = 0\nwhile h < 5.0:\n    h += tl.load(x + k)\n    tl.store(y + k, h)\n    k += 1", id="as long as the data say",
    ),
    pytest.param(
        "i = tl.arange(0, 16)\nh = tl.zeros((16,), tl.float32)\nfor k in range(n):\n"
        "    h = tl.flip(h, 0) + tl.load(x + k)\n    tl.store(y + k, tl.sum(h))",
        id="lanes that need one another",
    ),
]  # fmt: skip


@pytest.mark.parametrize("body", REFUSED)
def test_is_refused(body: str) -> None:
    assert attempt(program(body)).rewriting is None


NESTED = """
i = tl.arange(0, 2)
for part in range(2):
    h = 0.0
    for k in range(n // 2):
        h += tl.load(x + part * (n // 2) + k)
        tl.store(y + part * (n // 2) + k, h)
"""


@needs_interpreter
def test_what_begins_anew_in_an_outer_loop(tmp_path: Path) -> None:
    """Either refused, or the same."""
    source = program(NESTED, sizes="2, 16")
    made = attempt(source)
    if made.rewriting is not None:
        assert_same_results(tmp_path, source, apply_edits(source, made.rewriting.edits))


def test_the_next_greatest_of_a_row_round_by_round() -> None:
    """Loops in loops that carry elements for many places at once: read or refused, in whatever order these are known."""
    source = program(
        """
        last, at = float("inf"), -1
        for i in range(8):
            best = tl.full([64], -1.0, tl.float32)
            where = tl.full([64], 0, tl.int32)
            for start in range(0, n, 64):
                k = start + tl.arange(0, 64)
                v = tl.load(x + k, mask=k < n, other=-1.0)
                better = ((v < last) | ((v == last) & (k > at))) & (v > best)
                best = tl.where(better, v, best)
                where = tl.where(better, k, where)
            last = tl.max(best, axis=0)
            at = tl.min(tl.where(best == last, where, 2147483647), axis=0)
            tl.store(y + i, last)
        tl.store(last_ptr + row, last)
        """
    )
    made = attempt(source)
    assert made.rewriting is not None or made.reason
