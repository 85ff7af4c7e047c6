"""KL304 as a rewrite: the index that each program fixes becomes an axis of the tile."""

from pathlib import Path

import pytest
from support.codemods import relative_error, rewritten

from kernlint.rewrite.text import CannotRewrite

SUMS = """
R, C = 8192, 4096

@triton.jit
def column_sums(x, y, rows, columns, BLOCK: tl.constexpr):
    column = tl.program_id(0)
    {start}
    for first in range(0, rows, BLOCK):
        row = first + tl.arange(0, BLOCK)
        value = tl.load(x + row * columns + column, mask=row < rows, other={other})
        {update}
    tl.store(y + column, {result})

class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, columns = x.shape
        y = torch.empty(columns, device=x.device, dtype=torch.float32)
        column_sums[(columns,)](x, y, rows, columns, BLOCK=1024)
        return y

def get_inputs():
    return [torch.randn(R, C)]
"""
TRANSPOSE = """
N, C, P = 32, 128, 3136

@triton.jit
def to_last(x, scale, y, channels, pixels, BLOCK: tl.constexpr):
    plane = tl.program_id(0)
    n, c = plane // channels, plane % channels
    pixel = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = pixel < pixels
    value = tl.load(x + plane * pixels + pixel, mask=inside) * tl.load(scale + c)
    tl.store(y + (n * pixels + pixel) * channels + c, value, mask=inside)

class ModelNew(torch.nn.Module):
    def forward(self, x, scale):
        images, channels, pixels = x.shape
        y = torch.empty(images, pixels, channels, device=x.device, dtype=x.dtype)
        BLOCK = 1024
        to_last[(images * channels, triton.cdiv(pixels, BLOCK))](x, scale, y, channels, pixels, BLOCK=BLOCK)
        return y

def get_inputs():
    return [torch.randn(N, C, P, dtype=torch.float16), torch.randn(C, dtype=torch.float16)]
"""


def sums(
    start: str = "acc = tl.zeros((BLOCK,), tl.float32)",
    update: str = "acc += value",
    result: str = "tl.sum(acc, axis=0)",
    other: str = "0.0",
) -> str:
    return SUMS.format(start=start, update=update, result=result, other=other)


CASES = {
    "sum of the lanes at the end": sums(),
    "sum of each tile": sums("acc = 0.0", "acc += tl.sum(value)", "acc"),
    "sum as a method": sums("acc = 0.0", "acc += value.sum(axis=0)", "acc"),
    "greatest value": sums("acc = float('-inf')", "acc = tl.maximum(acc, tl.max(value, 0))", "acc", "float('-inf')"),
    "running maximum of lanes": sums(
        "acc = tl.full([BLOCK], -1e30, tl.float32)", "acc = tl.maximum(acc, value)", "tl.max(acc, axis=0)", "-1e30"
    ),
    "squares, where": sums(update="acc += tl.where(row < rows, value * value, 0.0)", result="tl.sqrt(tl.sum(acc))"),
    "row without a mask of its own": sums(update="inside = row < rows\n        acc += tl.where(inside, value, 0.0)"),
    "transposing copy": TRANSPOSE,
}
SIZES = {"R": 300, "C": 24}, {"R": 1, "C": 1}, {"R": 1100, "C": 45}
SHAPES = {"N": 2, "C": 72, "P": 99}, {"N": 1, "C": 1, "P": 1}, {"N": 3, "C": 130, "P": 160}


@pytest.mark.parametrize("case", CASES)
def test_neighbours_become_an_axis(case: str) -> None:
    change = rewritten("KL304", CASES[case])
    change.check()
    assert change.effects.applicability == "safe"


def test_tiles_meet_as_rows_and_columns() -> None:
    lines = rewritten("KL304", sums()).lines
    assert "column = tl.program_id(0) * BLOCK_COLUMN + tl.arange(0, BLOCK_COLUMN)" in lines
    assert "acc = tl.zeros((BLOCK, BLOCK_COLUMN), tl.float32)" in lines
    assert "value = tl.load(x + row[:, None] * columns + column[None, :]," in lines
    assert "mask=(row[:, None] < rows) & column_mask[None, :], other=0.0)" in lines
    assert "tl.store(y + column, tl.sum(acc, axis=0), mask=column_mask)" in lines


def test_a_reduction_gets_its_axis_and_a_number_its_shape() -> None:
    lines = rewritten("KL304", CASES["sum of each tile"]).lines
    assert "acc = tl.full((BLOCK_COLUMN,), 0.0, tl.float32)" in lines
    assert "acc += tl.sum(value, axis=0)" in lines


def test_digits_of_a_program_id_count_blocks() -> None:
    lines = rewritten("KL304", CASES["transposing copy"]).lines
    assert "pid = tl.program_id(0)" in lines
    start = "n, c = pid // tl.cdiv(channels, BLOCK_C), pid % tl.cdiv(channels, BLOCK_C) * BLOCK_C + tl.arange("
    assert any(line.startswith(start) for line in lines)
    assert "plane = n * channels + c" in lines
    assert any("plane[None, :] * pixels + pixel[:, None]" in line for line in lines)
    assert any("tl.load(scale + c, mask=c_mask)[None, :]" in line for line in lines)


HELPER = "@triton.jit\ndef double(v):\n    return v * 2\n\n@triton.jit"
REFUSED = {
    "a helper": (sums(update="acc += double(value)").replace("@triton.jit", HELPER, 1), "not known"),
    "an axis without an end": (sums().replace("[(columns,)]", "[(x.shape[1] * 1,)]"), "where the axis ends"),
    "a kernel that is passed on": (sums() + "\nkernels = [column_sums]\n", "more places"),
    "an index without a name": (sums().replace("column = ", "column = 0 + "), "no variable"),
    "two tiles that both grids set": (TRANSPOSE.replace("pixels, BLOCK))", "pixels, 1024))"), "grid does not follow"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_proven_is_left_alone(case: str) -> None:
    text, reason = REFUSED[case]
    with pytest.raises(CannotRewrite, match=reason):
        rewritten("KL304", text)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_results_stay(case: str, tmp_path: Path) -> None:
    sizes = SHAPES if "copy" in case else SIZES
    assert relative_error(rewritten("KL304", CASES[case]), tmp_path, *sizes) <= 1e-6
