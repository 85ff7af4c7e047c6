"""Kernels launched at many sizes are what reading them at each gives."""

from __future__ import annotations

import pytest

from kernlint.interpret.host import kernels
from kernlint.interpret.host.open_kernels import Family
from kernlint.interpret.program import Program
from kernlint.syntax.tree import parse_module
from kernlint.workload import Kernel

HEAD = """
import torch
import triton
import triton.language as tl

"""
HOST = """

def run(x, n, m, tile):
    out = torch.empty(4096, device=x.device, dtype=x.dtype)
    kernel[(8,)](x, out, n, m, B=tile)
    return out


class ModelNew(torch.nn.Module):
    def forward(self, x):
        for tile in TILES:
            for n, m in SIZES:
                run(x, n, m, tile)
        return x


def get_inputs():
    return [torch.rand(1 << 20)]
"""

ROWS = """
@triton.jit
def kernel(x, out, n, m, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros((B,), tl.float32)
    for k in range(0, n, 8):
        row = tl.load(x + (i // m) * n + i % m + k, mask=(i < n) & (i // m < m), other=0.0)
        total += tl.where(i < n, row, 0.0)
    tl.store(out + i, total, mask=i < n)
"""
BRANCH = ROWS.replace("    tl.store", "    if n > 96:\n        total = total * 2.0\n    tl.store")
STATIC = ROWS.replace("range(0, n, 8)", "tl.static_range(0, n, 32)")
HALVED = ROWS.replace("i % m", "i % (m // 2)")
FLAG = ROWS.replace("i // m < m)", "i // m < m) & (n & 1 == 0)")


def read(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Kernel], int]:
    """The kernels of the launches of ``text``, and how often any was read."""
    times = 0
    read_kernel = kernels.read_kernel

    def counted(*given: object) -> Kernel:
        nonlocal times
        times += 1
        return read_kernel(*given)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(kernels, "read_kernel", counted)
        (workload,) = Program(parse_module(text, "kernels.py")).workloads()
    return [launch.kernel for launch in workload.launches()], times


@pytest.mark.parametrize(
    "sizes",
    [
        [(64, 32), (128, 16), (256, 8), (512, 4), (1024, 2), (96, 24)],
        [(64, 32), (128, 16), (0, 8), (1, 1), (1024, 1), (4, 0), (8, 4), (3_000_000_000, 4)],
    ],
)
@pytest.mark.parametrize(
    "kernel", [ROWS, BRANCH, STATIC, HALVED, FLAG], ids=["rows", "branch", "static", "half", "flag"]
)
def test_what_sizes_are_put_into_is_what_reading_gives(
    kernel: str, sizes: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = HEAD + f"SIZES, TILES = {sizes}, (64, 32)\n" + kernel + HOST
    found, _ = read(text, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(Family, "kernel", lambda self, sizes, read: read(sizes))
        alone, times = read(text, monkeypatch)
    assert times >= len(set(sizes))
    assert found == alone
    assert [one.values and str(one.values) for one in found] == [one.values and str(one.values) for one in alone]


def test_many_sizes_take_three_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [(64 * i, 2 * i) for i in range(1, 20)]
    found, times = read(HEAD + f"SIZES, TILES = {sizes}, (64,)\n" + ROWS + HOST, monkeypatch)
    assert (len(found), times) == (19, 3)


def test_and_with_other_tiles_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """One to agree with, unless they did not agree with the first tile either."""
    sizes = [(64 * i, 2 * i) for i in range(1, 20)]
    head = HEAD + f"SIZES, TILES = {sizes}, (64, 32, 128)\n"
    found, times = read(head + ROWS + HOST, monkeypatch)
    assert (len(found), times) == (57, 3 + 2 + 2)
    _, times = read(head + BRANCH + HOST, monkeypatch)
    assert times == 3 * (19 + 1)
