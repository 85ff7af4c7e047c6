"""KL306 as a rewrite: what all programs added to the same addresses becomes a row for each of a few programs, and a sum."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import pytest
from support.rewriting import assert_same_results, fixed, needs_interpreter, refusal

SCALAR = """
    @triton.jit
    def total(x, y, n, BLOCK: tl.constexpr):
        pid = tl.program_id(0)  # one block each
        i = pid * BLOCK + tl.arange(0, BLOCK)
        v = tl.load(x + i, mask=i < n, other=0.0)
        tl.atomic_add(y, tl.sum(v * v, axis=0))

    class ModelNew(torch.nn.Module):
        def forward(self, x):
            y = torch.zeros(1, device=x.device, dtype=torch.float32)
            total[(triton.cdiv(x.numel(), 128),)](x, y, x.numel(), BLOCK=128)
            return y / x.numel()

    SIZE = 1 << 24

    def get_inputs():
        return [torch.randn(SIZE)]
"""
COLUMNS = """
    @triton.jit
    def columns(x, y, M, N, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
        rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
        cols = tl.arange(0, COLUMNS)
        # the tile
        v = tl.load(x + rows[:, None] * N + cols[None, :], mask=(rows < M)[:, None] & (cols < N)[None, :], other=0.0)
        tl.atomic_add(y + cols, tl.sum(v, axis=0), mask=cols < N)

    class ModelNew(torch.nn.Module):
        def forward(self, x):
            M, N = x.shape
            y = torch.zeros((N,), device=x.device)
            columns[(triton.cdiv(M, 4),)](x, y, M, N, ROWS=4, COLUMNS=triton.next_power_of_2(N))
            return y

    SIZE = 1 << 18

    def get_inputs():
        return [torch.randn(SIZE, 48)]
"""
COUNTED = SCALAR.replace("tl.sum(v * v, axis=0)", "1.0")


@needs_interpreter
@pytest.mark.parametrize(
    "source",
    [pytest.param(SCALAR, id="scalar"), pytest.param(COLUMNS, id="columns"), pytest.param(COUNTED, id="a-number")],
)
def test_the_same_sum(source: str, tmp_path: Path) -> None:
    after = fixed(source, "KL306")
    assert "atomic" not in after
    # Fewer blocks, and fewer programs still.
    small = ("1 << 24", "13 * 128 + 5") if source is not COLUMNS else ("1 << 18", "53")
    after = re.sub(r"min\(\d+, blocks\)", "min(5, blocks)", after).replace(*small)
    assert_same_results(tmp_path, source.replace(*small), after, tolerance=2e-3)


def test_the_text() -> None:
    after = fixed(SCALAR, "KL306")
    assert "def total(x, y, n, blocks, BLOCK: tl.constexpr):" in after
    assert "    for pid in range(tl.program_id(0), blocks, tl.num_programs(0)):  # one block each\n" in after
    assert "        partial += tl.sum(v * v, axis=0)\n    tl.store(y + tl.program_id(0), partial)\n" in after
    assert "y = torch.empty(programs, 1, device=x.device, dtype=torch.float32)" in after
    assert "(x, y, x.numel(), BLOCK=128, blocks=blocks)\n        y = y.sum(0)\n" in after
    columns = fixed(COLUMNS, "KL306")
    # What no program id enters is computed once; what holds no sum stays zero.
    assert columns.index("cols = tl.arange") < columns.index("for block in range") < columns.index("# the tile")
    assert "torch.zeros((programs, N,), device=x.device)" in columns
    assert "tl.store((y + cols) + tl.program_id(0) * row_stride, partial, mask=cols < N)" in columns


def test_what_goes_into_the_loop_is_indented_as_the_file_is() -> None:
    after = fixed(SCALAR.replace("# one block each", "# one\u2028block each"), "KL306")
    tabs = fixed(
        textwrap.dedent(SCALAR).replace("    ", "\t").replace("# one block each", "# one\u2028block each"), "KL306"
    )
    assert "# one\u2028block each\n        i = pid" in after
    assert tabs == after.replace("    ", "\t")


def test_a_grid_that_looks_the_block_up() -> None:
    source = SCALAR.replace("total[(triton.cdiv(x.numel(), 128),)]", "total[grid]").replace(
        "            y = torch",
        "            grid = lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)\n            y = torch",
    )
    after = fixed(source, "KL306")
    assert "blocks = triton.cdiv(x.numel(), 128)" in after
    assert "lambda" not in after


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("torch.zeros(1, device=x.device, dtype=torch.float32)", "torch.full((1,), 0.0, device=x.device)", "torch.zeros"),
        ("            total[", "            y += 1\n            total[", "is used before the launch|plain|torch.zeros"),
        ("        i = pid", "        many = tl.num_programs(0)\n        i = pid", "number of its programs"),
        ("tl.atomic_add(y, tl.sum(v * v, axis=0))", "tl.atomic_max(y, tl.max(v * v, axis=0))", "only sums"),
    ],
)  # fmt: skip
def test_left_alone(old: str, new: str, why: str) -> None:
    assert old in SCALAR
    reason = refusal(SCALAR.replace(old, new), "KL306")
    assert any(part in reason for part in why.split("|")), reason
