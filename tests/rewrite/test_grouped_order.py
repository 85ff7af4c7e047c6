"""KL205 as a rewrite: tl.swizzle2d on the two tile indices, wherever the kernel gets them from."""

from pathlib import Path

import pytest
from support.codemods import relative_error, rewritten

from kernlint.rewrite.text import CannotRewrite

SOURCE = """
@triton.jit
def project(h, w, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    {order}
    rows, columns, k = {m} * BM + tl.arange(0, BM), {n} * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        x = tl.load(h + rows[:, None] * K + (start + k)[None, :], mask=rows[:, None] < M, other=0.0)
        y = tl.load(w + columns[None, :] * K + (start + k)[:, None], mask=columns[None, :] < N, other=0.0)
        acc = tl.dot(x, y, acc)
    at = rows[:, None] * N + columns[None, :]
    tl.store(out + at, acc.to(tl.float16), mask=(rows[:, None] < M) & (columns[None, :] < N))

M, N, K = {sizes}

class ModelNew(torch.nn.Module):
    def forward(self, h, w):
        out = torch.empty(M, N, device=h.device, dtype=torch.float16)
        rows, columns = triton.cdiv(M, 128), triton.cdiv(N, 128)
        project[{grid}](h, w, out, M, N, K, BM=128, BN=128, BK=64, num_warps=8, num_stages=3)
        return out

def get_inputs():
    return [torch.randn(M, K, dtype=torch.float16), torch.randn(N, K, dtype=torch.float16)]
"""
WIDE, TALL = "8192, 32768, 4096", "32768, 8192, 4096"
ROWS = "pid = tl.program_id(0)\n    width = tl.cdiv(N, BN)"


def source(order: str, grid: str = "(rows * columns,)", m: str = "m", n: str = "n", sizes: str = WIDE) -> str:
    return SOURCE.format(order=order, grid=grid, m=m, n=n, sizes=sizes)


CASES = {
    "split": source(f"{ROWS}\n    m = pid // width\n    n = pid % width"),
    "split in one statement": source("pid, width = tl.program_id(0), tl.cdiv(N, BN)\n    m, n = pid // width, pid % width"),
    "without names": source(ROWS, m="(pid // width)", n="(pid % width)"),
    "column by column": source(
        "pid, height = tl.program_id(0), tl.cdiv(M, BM)\n    m, n = pid % height, pid // height", sizes=TALL
    ),
    "two axes": source("n, m = tl.program_id(0), tl.program_id(1)", "(columns, rows)"),
    "used between": source("n = tl.program_id(0)\n    first = n * BN\n    m = tl.program_id(1)", "(columns, rows)"),
    "grid as a function": source(
        f"{ROWS}\n    m = pid // width\n    n = pid % width",
        "lambda META: (triton.cdiv(M, META['BM']) * triton.cdiv(N, META['BN']),)",
    ),
    "program id in place": source(
        "", "(rows * columns,)", "(tl.program_id(0) // tl.cdiv(N, BN))", "(tl.program_id(0) % tl.cdiv(N, BN))"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_order_is_grouped(case: str) -> None:
    change = rewritten("KL205", CASES[case])
    change.check()
    assert change.after.count("tl.swizzle2d(") == 1
    assert change.effects.applicability == "safe"
    assert change.effects.numerics == "exact"


def test_names_of_the_kernel_stay() -> None:
    change = rewritten("KL205", CASES["split"])
    assert "m, n = tl.swizzle2d(m, n, tl.num_programs(0) // width, width, GROUP_M)" in change.lines
    assert "BK: tl.constexpr, GROUP_M: tl.constexpr = 8):" in change.after
    assert rewritten("KL205", CASES["column by column"]).after.count("GROUP_N: tl.constexpr = 8") == 1


def test_indices_without_a_name_get_one() -> None:
    change = rewritten("KL205", CASES["without names"])
    names = "pid_m, pid_n = tl.swizzle2d(pid // width, pid % width, tl.num_programs(0) // width, width, GROUP_M)"
    assert names in change.lines
    assert any(line.startswith("rows, columns, k = pid_m * BM") for line in change.lines)


def test_the_hardware_numbers_a_two_dimensional_grid_from_axis_zero() -> None:
    change = rewritten("KL205", CASES["two axes"])
    assert "m, n = tl.swizzle2d(m, n, tl.num_programs(1), tl.num_programs(0), GROUP_M)" in change.lines


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (source(f"{ROWS}\n    m = pid // width\n    n = pid % width", "(rows * columns + 0,)"), "product"),
        (
            source("m, n = place(tl.program_id(0), tl.cdiv(N, BN))").replace(
                "@triton.jit", "@triton.jit\ndef place(p, w):\n    return p // w, p % w\n\n@triton.jit", 1
            ),
            "helper",
        ),
        (source(f"{ROWS}\n    m = pid // width\n    n = pid % width\n    tl.device_print('', pid)"), "more than"),
        (source(f"{ROWS}\n    m = pid // width\n    n = pid % width") + "\nother = project\n", "more places"),
    ],
    ids=["a grid that is no product", "split in a helper", "the id is used as it is", "the kernel is passed on"],
)
def test_what_cannot_be_proven_is_left_alone(text: str, reason: str) -> None:
    with pytest.raises(CannotRewrite, match=reason):
        rewritten("KL205", text)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_tile_is_computed_once(case: str, tmp_path: Path) -> None:
    sizes = [{"M": m, "N": n, "K": 64} for m, n in ((1500, 700), (1, 129), (1030, 1))]
    assert relative_error(rewritten("KL205", CASES[case]), tmp_path, *sizes) == 0
