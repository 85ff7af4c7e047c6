"""Loops that accumulate element by element turned into scans of blocks."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from support.rewriting import assert_same_results, fix, fixed, needs_interpreter, refusal

from kernlint.rules.registry import find_rule

PROGRAM = """
ROWS, N = {sizes}

@triton.jit
def walk(x_ptr, g_ptr, y_ptr, last_ptr, n, decay, {params}):
    row = tl.program_id(0)
    x = x_ptr + row * n
    g = g_ptr + row * n
    y = y_ptr + row * n
    # the state
{body}


class ModelNew(torch.nn.Module):
    def forward(self, x, g):
        y = torch.empty_like(x)
        last = torch.zeros(ROWS)
        walk[(ROWS,)](x, g, y, last, N, 0.5, {arguments})
        return y, last


def get_inputs():
    return [torch.rand(ROWS, N{dtype}), torch.rand(ROWS, N)]
"""
LARGE = "512, 4096"
SMALL = ["2, 150", "1, 1", "3, 2050"]


def program(body: str, dtype: str = "", params: str = "SCALE: tl.constexpr", arguments: str = "SCALE=2") -> str:
    text = textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
    values = {"sizes": LARGE, "body": text, "dtype": dtype, "params": params, "arguments": arguments}
    result = PROGRAM
    for name, value in values.items():
        result = result.replace("{" + name + "}", value)
    return result


HALF = ", dtype=torch.float16"
CASES = [
    pytest.param(
        """
        total = 0.0
        for k in range(0, n):
            total = total + tl.load(x + k) * SCALE
            tl.store(y + k, total)  # inclusive
        """, "", id="sum, loaded in place",
    ),
    pytest.param(
        """
        total = 0.0
        for k in range(n):
            v = tl.load(x + k)
            total -= v
            tl.store(y + k, total)
        tl.store(last_ptr + row, total)
        """, "", id="difference, read after the loop",
    ),
    pytest.param(
        """
        total = 0.0
        for k in range(n):
            v = tl.load(x + k)
            total += v
            tl.store(y + k, total.to(tl.float16))
        """, HALF, id="half precision",
    ),
    pytest.param(
        """
        total = 0.0
        for k in range(n):
            total += tl.load(x + (n - 1 - k))
            tl.store(y + (n - 1 - k), total)
        """, "", id="backwards",
    ),
    pytest.param(
        """
        p = 1.0
        for k in range(n):
            p *= 1.0 - 0.001 * tl.load(x + k)
            tl.store(y + k, p)
        tl.store(last_ptr + row, p)
        """, "", id="product",
    ),
    pytest.param(
        """
        top = -1.0
        for k in range(n):
            v = tl.load(x + k)
            top = tl.maximum(top, v * 2.0)
            tl.store(y + k, top)
        tl.store(last_ptr + row, top)
        """, "", id="maximum",
    ),
    pytest.param(
        """
        h = 0.0
        for k in range(n):
            a = tl.load(g + k)
            v = tl.load(x + k)
            h = a * h + (1.0 - a) * v
            tl.store(y + k, h)
        tl.store(last_ptr + row, h)
        """, "", id="linear, with gates",
    ),
    pytest.param(
        """
        h = 0.0
        s = 0.0
        for k in range(n):
            v = tl.load(x + k)
            h = decay * h - v
            s += v
            tl.store(y + k, h + s)
        """, "", id="two states",
    ),
    pytest.param(
        """
        h = 0.0
        for k in range(n):
            h = 0.9 * h + tl.load(x + k)
            tl.store(y + k, h)
        """, HALF, id="linear, in half precision",
    ),
    pytest.param(
        """
        total = 0.0
        for k in range(n):
            v: tl.float32 = tl.load(x + k)
            w = 1.0
            w += v
            total += w * v
            tl.store(y + k, total)
        """, "", id="values that are annotated, or added to",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "dtype"), CASES)
def test_the_loop_goes_by_blocks(body: str, dtype: str) -> None:
    after = fixed(program(body, dtype), "KL503")
    assert "range(0, n, BLOCK_SIZE)" in after and "BLOCK_SIZE: tl.constexpr" in after


@needs_interpreter
@pytest.mark.slow
@pytest.mark.parametrize("size", SMALL)
@pytest.mark.parametrize(("body", "dtype"), CASES)
def test_same_results(tmp_path: Path, body: str, dtype: str, size: str) -> None:
    source = program(body, dtype)
    after = fixed(source, "KL503")
    small = source.replace(LARGE, size), after.replace(LARGE, size)
    assert_same_results(tmp_path, *small, tolerance=2e-3 if dtype else 1e-4)


@needs_interpreter
@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["torch.float16", "torch.int32"])
@pytest.mark.parametrize("update", ["0.9 * h + v", "h + v", "tl.maximum(h, v)"])
def test_other_elements_than_those_at_hand(tmp_path: Path, update: str, dtype: str) -> None:
    """What is written for float32 is launched with halves and with integers: the state stays float32."""
    body = f"""
        h = 0.0
        for k in range(n):
            v = tl.load(x + k)
            h = {update}
            tl.store(y + k, h)
        """
    source = program(body).replace("torch.empty_like(x)", "torch.empty_like(x, dtype=torch.float32)")
    after = fixed(source, "KL503")
    assert after != source
    other = f"(20 * torch.rand(ROWS, N)).to({dtype})"
    small = (one.replace(LARGE, "2, 300").replace("torch.rand(ROWS, N)", other, 1) for one in (source, after))
    assert_same_results(tmp_path, *small, tolerance=1e-4)


@pytest.mark.parametrize("start", ["tl.load(x)", "tl.full((), 0, tl.float16)", "tl.load(g).to(tl.float16)"])
def test_a_state_of_halves_stays_in_its_loop(start: str) -> None:
    """It is rounded in each iteration, and the compiler refuses a variable that is float32 behind a block."""
    body = f"""
        h = {start}
        for k in range(n):
            h = h + tl.load(x + k)
            tl.store(y + k, h)
        """
    assert refusal(program(body, HALF), "KL503") == "`h` is rounded to float16 in each iteration"


@pytest.mark.parametrize(
    ("start", "consent"), [("tl.load(x)", True), ("tl.load(x).to(tl.float32)", False), ("0.0", False)]
)
def test_a_state_that_begins_as_an_element_asks(start: str, consent: bool) -> None:
    body = f"""
        h = {start}
        for k in range(n):
            h = h + tl.load(x + k)
            tl.store(y + k, h)
        """
    (made,) = fix(program(body), "KL503").applied
    assert (made.effects.applicability == "unsafe") is consent


def test_a_comparison_of_what_was_cast_is_cast_itself() -> None:
    body = """
        h = 0.0
        for k in range(n):
            h += tl.load(x + k) > tl.load(g + k).to(tl.float32)
            tl.store(y + k, h)
        """
    assert "other=0.0).to(tl.float32)).to(tl.float32)\n" in fixed(program(body), "KL503")


def test_factors_are_as_precise_as_the_state() -> None:
    body = """
        h = tl.full((), 0.0, tl.float64)
        for k in range(n):
            h = 0.9 * h + tl.load(x + k)
            tl.store(y + k, h)
        """
    assert "= tl.full([BLOCK_SIZE], 0.9, tl.float64)" in fixed(program(body, ", dtype=torch.float64"), "KL503")


@needs_interpreter
@pytest.mark.slow
def test_rows_may_be_empty(tmp_path: Path) -> None:
    source = program(CASES[0].values[0]).replace(
        "walk[(ROWS,)](x, g, y, last, N", "walk[(ROWS,)](x, g, y, last, x.shape[1]"
    )
    after = fixed(source, "KL503")
    assert_same_results(tmp_path, source.replace(LARGE, "2, 0"), after.replace(LARGE, "2, 0"))


def test_text_of_a_linear_recurrence() -> None:
    after = fixed(find_rule("KL503").bad, "KL503", header=False)
    assert (
        '''
@triton.jit
def combine_linear(a1, b1, a2, b2):
    """Two steps h -> a1 * h + b1 and h -> a2 * h + b2 as one."""
    return a1 * a2, a2 * b1 + b2


@triton.jit
def decay(x, y, n, a, BLOCK_SIZE: tl.constexpr):
    row = tl.program_id(0) * n
    h = 0.0
    offsets = tl.arange(0, BLOCK_SIZE)
    for start in range(0, n, BLOCK_SIZE):
        i = start + offsets
        mask = i < n
        h_decay = tl.full([BLOCK_SIZE], a, tl.float32)
        h_input = tl.load(x + row + i, mask=mask, other=0.0).to(tl.float32)
        h_decay, h_input = tl.associative_scan((h_decay, h_input), 0, combine_linear)
        h_block = h_decay * h + h_input
        tl.store(y + row + i, h_block, mask=mask)
        h = tl.sum(tl.where(offsets == BLOCK_SIZE - 1, h_block, 0.0), axis=0)
'''
        in after
    )


REFUSED = [
    pytest.param(
        """
        total = 0.0
        for k in range(n):
            tl.store(y + k, total)
            total += tl.load(x + k)
        """, "before it is updated", id="exclusive",
    ),
    *(
        pytest.param(
            f"""
        total = 1.0
        for k in range(n):
            v = tl.load(x + k)
            {update}
            tl.store(y + k, total)
        """, "no scan is known", id=update,
        )
        for update in (
            "total /= v",
            "total = total / v",
            "total = v + total / 2.0",
            "total = total + total * v",
            "total += total * v",
            "half = total * v; total = total + half",
            "half = total * 0.5 + v; total = total * v + half",
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "reason"), REFUSED)
def test_refused(body: str, reason: str) -> None:
    assert reason in refusal(program(body), "KL503")
