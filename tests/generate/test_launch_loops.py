"""Python loops of launches that keep apart, read as values without a reference: what is written, and what is refused."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from support.rewriting import HEADER, assert_same_results, needs_interpreter

from kernlint.interpret.program import Program
from kernlint.interpret.question import Question
from kernlint.operators.generate import first_way
from kernlint.rewrite.edits import Attempt
from kernlint.rewrite.text import apply_edits
from kernlint.syntax.tree import parse_module

ROW = """
B, H, N = {sizes}

@triton.jit
def double(src, dst, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dst + i, tl.load(src + i, mask=i < n) * 2.0, mask=i < n)


@triton.jit
def shift(x_ptr, s_ptr, y_ptr, n, stride, which, BLOCK: tl.constexpr):
    # one tile of one row
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.load(s_ptr + which)
    tl.store(y_ptr + i, tl.load(x_ptr + i * stride, mask=i < n) + s, mask=i < n)


{body}

class ModelNew(torch.nn.Module):
    def forward(self, x, s):
{forward}


def get_inputs():
    return [{inputs}, torch.randn(B)]
"""

SIZES = ["12, 10, 257", "9, 9, 1"]


def program(forward: str, inputs: str = "torch.randn(B, N)", body: str = "", sizes: str = SIZES[0]) -> str:
    text = textwrap.indent(textwrap.dedent(forward).strip("\n"), " " * 8)
    values = {"sizes": sizes, "body": textwrap.dedent(body), "forward": text, "inputs": inputs}
    result = ROW
    for name, value in values.items():
        result = result.replace("{" + name + "}", value)
    return HEADER + result


def attempt(source: str) -> Attempt:
    return first_way(Program(parse_module(source, "before.py"), None, Question()), "ModelNew.forward")


HELPER = '''
def double_row(src, dst):
    """Twice a single row."""
    (n,) = src.shape
    assert src.stride(0) == 1 and src.dtype == dst.dtype
    double[(triton.cdiv(n, 1024),)](src, dst, src.numel(), BLOCK=1024)
'''

CASES = [
    pytest.param(
        """
        y = torch.empty_like(x)
        for b in range(x.shape[0]):
            double[(triton.cdiv(N, 1024),)](x[b], y[b], N, BLOCK=1024)
        return y
        """, "torch.randn(B, N)", "", id="views as arguments",
    ),
    pytest.param(
        """
        y = torch.empty_like(x)
        grid = (triton.cdiv(N, 512),)
        for row in range(B):
            source = x[row]
            target = y[row, :]
            double[grid](src=source, dst=target, n=source.shape[0], BLOCK=512)
        return y
        """, "torch.randn(B, N)", "", id="views with names, keywords",
    ),
    pytest.param(
        """
        y = torch.empty_like(x)
        for b in range(B):
            double_row(x[b], dst=y[b])
        return y
        """, "torch.randn(B, N)", HELPER, id="in a helper",
    ),
    pytest.param(
        """
        y = torch.empty_like(x)
        for b in range(B):
            for h in range(H):
                double[(triton.cdiv(N, 1024),)](x[b, h], y[b, h], N, BLOCK=1024)
        return y
        """, "torch.randn(B, H, N)", "", id="two loops",
    ),
    pytest.param(
        """
        y = torch.empty_like(x)
        for b in range(B):
            shift[(triton.cdiv(N, 1024),)](x[b], s, y[b], N, x[b].stride(0), b, BLOCK=1024)
        return y
        """, "torch.randn(B, N)", "", id="the index itself",
    ),
    pytest.param(
        """
        y = torch.empty(B, N)
        launch = lambda meta: (triton.cdiv(N, meta["BLOCK"]),)
        for b in range(B):
            shift[launch](x[:, b], s, y[b], x[:, b].numel(), x[:, b].stride(0), 0, BLOCK=1024)
        return y
        """, "torch.randn(N, B)", "", id="a loop over the second dimension",
    ),
]  # fmt: skip


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("forward", "inputs", "body"), CASES)
def test_all_rounds_are_one_launch(forward: str, inputs: str, body: str, sizes: str) -> None:
    source = program(forward, inputs, body, sizes)
    made = attempt(source)
    assert made.rewriting is not None, made.reason
    after = apply_edits(source, made.rewriting.edits).split("class ModelNew")
    assert "for " not in after[1]
    assert after[0].split("def fused")[1].count("tl.load(") <= 2


@needs_interpreter
@pytest.mark.slow
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize(("forward", "inputs", "body"), CASES)
def test_same_results(tmp_path: Path, forward: str, inputs: str, body: str, sizes: str) -> None:
    source = program(forward, inputs, body, sizes)
    made = attempt(source)
    assert made.rewriting is not None, made.reason
    text = apply_edits(source, made.rewriting.edits)
    assert_same_results(tmp_path, source, text, header=False)


REFUSED = [
    pytest.param(
        """
        y = torch.empty_like(x)
        for b in range(B):
            t = torch.relu(x[b])
            double[(1,)](t, y[b], N, BLOCK=512)
        return y
        """, id="torch in the loop",
    ),
    pytest.param(
        """
        y = x.clone()
        for b in range(B - 1):
            double[(1,)](y[b], y[b + 1], N, BLOCK=512)
        return y
        """, id="a round reads what the one before wrote",
    ),
    pytest.param(
        """
        y = torch.zeros_like(x)
        for b in range(B - 1):
            double[(1,)](x[b + 1], y[b], N, BLOCK=512)
            double[(1,)](y[b + 1], y[b], N, BLOCK=512)
        return y
        """, id="two launches write one tensor",
    ),
    pytest.param(
        """
        t, y = torch.zeros_like(x), torch.zeros_like(x)
        for b in range(B - 1):
            double[(1,)](x[b], t[b], N, BLOCK=512)
            double[(1,)](t[b + 1], y[b], N, BLOCK=512)
        return y
        """, id="what another round of another launch writes",
    ),
    pytest.param(
        """
        y = torch.empty(N, device=x.device)
        for b in range(B):
            double[(1,)](x[b], y, N, BLOCK=512)
        return y
        """, id="all rounds write one row",
    ),
    pytest.param(
        """
        y = torch.empty(B + 1, N, device=x.device)
        for b in range(B):
            double[(1,)](x[b], y[b], 2 * N, BLOCK=1024)
        return y
        """, id="rounds that write over one another",
    ),
    pytest.param(
        """
        y, a = torch.empty_like(x), x[0]
        for b in range(B):
            double[(1,)](a, y[b], N, BLOCK=512)
            a = y[b]
        return y
        """, id="a view that is handed on",
    ),
    pytest.param(
        """
        y, n = torch.zeros_like(x), N
        for b in range(B):
            double[(1,)](x[b], y[b], n, BLOCK=512)
            n = n - 1
        return y
        """, id="a number that is handed on",
    ),
    pytest.param(
        """
        y = torch.zeros_like(x)
        for b in range(B):
            if b == 3:
                continue
            double[(1,)](x[b], y[b], N, BLOCK=512)
        return y
        """, id="a round that is left out",
    ),
    pytest.param(
        """
        y = torch.zeros_like(x)
        for b in range(B):
            if b == 3:
                break
            double[(1,)](x[b], y[b], N, BLOCK=512)
        return y
        """, id="a loop that ends early",
    ),
]  # fmt: skip


@needs_interpreter
@pytest.mark.parametrize("forward", REFUSED)
def test_refused_or_read_round_by_round(forward: str, tmp_path: Path) -> None:
    """Where rounds hang together what is written is right all the same, or nothing is."""
    source = program(forward)
    made = attempt(source)
    if made.rewriting is not None:
        assert_same_results(tmp_path, source, apply_edits(source, made.rewriting.edits), header=False)


@pytest.mark.parametrize("forward", REFUSED[:8])
def test_nothing_is_written_where_there_are_many_rounds(forward: str) -> None:
    made = attempt(program(forward, sizes="100, 4, 257"))
    assert made.rewriting is None or "for " in str(made.rewriting.edits), made.rewriting


_IN_PLACE = """
@triton.jit
def add(src, dst, n, rounds, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for _ in range(rounds):
        tl.store(dst + i, tl.load(dst + i, mask=i < n) + tl.load(src + i, mask=i < n), mask=i < n)


@triton.jit
def backwards(src, dst, m, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    tl.store(dst + (m - 1 - row) * n + i, tl.load(src + row * n + i, mask=i < n) * 2.0, mask=i < n)
"""


@pytest.mark.parametrize(
    "launch",
    [
        "for b in range(40):\n    add[(2,)](x, y, N, 1, BLOCK=256)",
        "for b in range(B):\n    for h in range(40):\n        add[(2,)](x[b], y[b], N, 1, BLOCK=256)",
        "add[(2,)](x, y, N, 3, BLOCK=256)",
    ],
)
def test_rounds_that_go_on_with_what_they_have_written_are_not_one(launch: str) -> None:
    made = attempt(program(f"y = x * 1.0\n{launch}\nreturn y", body=_IN_PLACE))
    assert made.rewriting is None and "go on with what" in made.reason


@pytest.mark.parametrize(
    "launch",
    [
        "for b in range(B):\n    add[(2,)](x[b], y[b], N, 1, BLOCK=256)",
        "for b in range(B):\n    double[(1,)](x[b], y[B - 1 - b], N, BLOCK=512)",
        "for b in range(B - 5):\n    double[(1,)](x[b], y[B - 3 - b], N, BLOCK=512)",
        "backwards[(B,)](x, y, B, N, BLOCK=512)",
    ],
)
@needs_interpreter
def test_rounds_in_place_and_backwards(launch: str, tmp_path: Path) -> None:
    source = program(f"y = x * 1.0\n{launch}\nreturn y", body=_IN_PLACE, sizes="40, 4, 257")
    made = attempt(source)
    assert made.rewriting is not None, made.reason
    assert_same_results(tmp_path, source, apply_edits(source, made.rewriting.edits), header=False)


_TWO_STORES = """
@triton.jit
def two(src, dst, n, rounds, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    for k in range(rounds):
        v = tl.load(src + k * n + i, mask=i < n)
        tl.store(dst + k * n + i, v, mask=i < n)
        tl.store(dst + (k + 1) * n + i, v * 2.0, mask=i < n)
"""


@pytest.mark.parametrize("launch", ["two[(1,)](x, y, N, 9, BLOCK=512)",
                                    "for b in range(39):\n    two[(1,)](x[b], y[b], N, 1, BLOCK=512)"])  # fmt: skip
def test_two_stores_of_a_round_are_not_two_of_all_rounds(launch: str) -> None:
    made = attempt(program(f"y = x * 1.0\n{launch}\nreturn y", body=_TWO_STORES, sizes="40, 4, 257"))
    assert made.rewriting is None and "two stores to one tensor" in made.reason
