"""What rules said of packages of an eighth drawing, and should not have: each kind of it, and what is like it and is told."""

from __future__ import annotations

import textwrap

import pytest

from kernlint.lint.check_file import check_file
from kernlint.lint.job import Job
from kernlint.lint.model import Finding
from kernlint.lint.settings import FileSettings
from tests.support.values import HEADER


def told(codes: str, source: str, path: str = "a.py") -> list[Finding]:
    """What is told of ``source`` by the rules ``codes``, as a user has it; the imports are added to what is no page."""
    text = source if path.endswith(".md") else HEADER + textwrap.dedent(source)
    return list(check_file(Job(path, text.encode(), FileSettings(frozenset(codes.split())))).findings)


SWITCHED = """
    debug = False
    scale = 2.0

    @triton.jit
    def add(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        if debug:
            tl.device_print("i", i)
        if debug:
            tl.device_print("n", n)
        tl.store(y + i, tl.load(x + i, mask=i < n) * scale, mask=i < n)

    @triton.jit
    def copy(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        if debug:
            tl.device_print("i", i)
        tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

    def run(x):
        y = torch.empty_like(x)
        add[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        copy[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), B=64)
        return y
"""


def test_a_global_is_told_once_a_kernel() -> None:
    assert sorted((one.kernel, one.message.split("`")[1]) for one in told("KL720", SWITCHED)) == [
        ("add", "debug"),
        ("add", "scale"),
        ("copy", "debug"),
    ]


SCORED = """
    @triton.jit
    def scores(q, k, o, D, N: tl.constexpr, B: tl.constexpr, ROWS: tl.constexpr):
        n, d, r = tl.arange(0, N), tl.arange(0, B), tl.arange(0, ROWS)
        s = tl.zeros((N, ROWS), tl.float32)
        for start in range(0, D, B):
            a = tl.load(k + n[:, None] * D + (start + d)[None, :]).to(tl.float32)
            b = tl.load(q + r[None, :] * D + (start + d)[:, None]).to(tl.float32)
            s += tl.dot(a, b)
        tl.store(o + n[:, None] * ROWS + r[None, :], s)

    def run(q, k):
        assert q.dtype == torch.bfloat16 and k.dtype == torch.bfloat16
        o = torch.empty(64, {rows}, device=q.device)
        scores[(1,)](q, k, o, q.shape[1], N=64, B=64, ROWS={rows})
        return o
"""


@pytest.mark.parametrize(("rows", "level"), [(1, "info"), (8, "info"), (16, "warning"), (64, "warning")])
def test_a_product_of_few_rows_waits_for_memory_whatever_unit_it_runs_on(rows: int, level: str) -> None:
    assert [one.severity for one in told("KL103", SCORED.format(rows=rows))] == [level]


SEEDED = """
    @triton.jit
    def drop(x, y, n, seed, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        kept = tl.rand(seed, i) < 0.5
        tl.store(y + i, tl.where(kept, tl.load(x + i, mask=i < n), 0.0), mask=i < n)

    def run(x, seed{annotation}):
        y = torch.empty_like(x)
        drop[(triton.cdiv(x.numel(), 64),)](x, y, x.numel(), seed, B=64)
        return y
"""


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [("", []), (": int", []), (": torch.int32", []), (": tl.int64", []), (": torch.IntTensor", ["warning"])],
)
def test_an_element_type_says_nothing_of_a_tensor(annotation: str, expected: list[str]) -> None:
    assert [one.severity for one in told("KL782", SEEDED.format(annotation=annotation))] == expected


def test_a_page_may_show_code_in_parts() -> None:
    code = HEADER + textwrap.dedent(SEEDED.format(annotation="")).replace("tl.rand(seed, i)", "noise(seed, i)")
    page = f"A kernel:\n\n```python\n{code}```\n"
    assert [one.severity for one in told("KL702", page, "page.md")] == ["info"]
    assert [one.severity for one in told("KL702", code, "b.py")] == ["error"]


CLOSED_OVER = """
    @triton.jit
    def copy(x, y, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

    def run(x, v):
        y = torch.empty_like(x)
        def block():
            if v.dtype == torch.float16:
                size = 64
            else:
                size = 128
            return size
        def grid(meta):
            return (triton.cdiv(x.numel(), block()),)
        copy[grid](x, y, x.numel(), B=block())
        return y
"""


def test_the_type_of_what_an_outer_function_holds() -> None:
    assert not told("KL703 KL902", CLOSED_OVER)
