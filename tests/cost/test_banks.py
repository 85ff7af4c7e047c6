"""What L1 takes: lanes that meet in its banks, neighbouring programs that read the same, and what is written as it is read."""

from __future__ import annotations

import csv

import pytest
from bench_launches import FACTS, bench_module, read

from kernlint.cost.device import find_device
from kernlint.cost.estimate import estimate
from kernlint.cost.programs.price import program_time
from kernlint.cost.programs.resources import _lines_and_banks
from kernlint.interpret.program import Program
from kernlint.syntax.tree import parse_module
from kernlint.workload import Launch

H200 = find_device("h200")


@pytest.mark.parametrize(
    ("step", "vector", "lines", "words"),
    [
        (4, 4, 1, 1), (8, 4, 2, 2), (12, 4, 3, 1), (16, 4, 4, 4), (128, 4, 32, 32), (132, 4, 32, 1), (16, 16, 4, 4), (2, 2, 1, 1),
        (0, 4, 1, 1),
    ],
)  # fmt: skip
def test_words_of_a_bank(step: int, vector: int, lines: float, words: float) -> None:
    assert _lines_and_banks((step,), (32,), (1024,), vector) == (lines, words)


def test_banks_as_measured() -> None:
    """400 bytes apart, where 16 lanes meet although four do by the banks, stays as it is."""
    with (FACTS / "h200-banks.csv").open(encoding="utf-8", newline="") as rows:
        measured = {row["params"].split(";")[0]: float(row["gpu_us"]) for row in csv.DictReader(rows)}
    for stride in (8, 16, 24, 32, 33, 39, 40, 48, 64, 96, 128, 160, 256, 257, 512, 1024, 1056):
        launch = read(bench_module("banks").strided_case(stride).launches[0])
        lines = estimate_of(launch)["lines"]
        assert 0.8 < lines / measured[f"STRIDE={stride}"] < 1.3, stride


def test_orders_as_measured() -> None:
    """Windows whose columns are clamped go down the tile, where rows meet in a bank; fields are written sector by sector each."""
    with (FACTS / "h200-orders.csv").open(encoding="utf-8", newline="") as rows:
        measured = {(row["term"], row["params"]): float(row["gpu_us"]) for row in csv.DictReader(rows)}
    met = set()
    for case in bench_module("orders").cases():
        key = case.term, ";".join(f"{name}={value}" for name, value in case.params.items())
        error = program_time(read(case.launches[0]), H200).us / measured[key]
        assert 0.8 < error < 1.6, key
        met.add(key)
    assert met == set(measured)


def estimate_of(launch: Launch) -> dict[str, float]:
    return dict(program_time(launch, H200).terms)


PAIRS = """
import torch
import triton
import triton.language as tl

@triton.jit
def k(x, y, out, n, STEP: tl.constexpr, BLOCK: tl.constexpr):
    row, batch = tl.program_id({first}), tl.program_id({second})
    best = tl.full((BLOCK,), float("inf"), dtype=tl.float32)
    a = tl.load(x + batch * n + row)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        best = tl.minimum(best, tl.abs(a - tl.load(y + batch * n * STEP + i * STEP)))
    tl.store(out + batch * n + row, tl.min(best))

class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        out = torch.empty_like(x)
        k[{grid}](x, y, out, 4096, STEP={step}, BLOCK=256)
        return out

def get_inputs():
    return [torch.rand(16, 4096), torch.rand(16, 4096 * {step})]
"""


def pairs(step: int, together: bool = True) -> dict[str, float]:
    first, second, grid = (0, 1, "(4096, 16)") if together else (1, 0, "(16, 4096)")
    text = PAIRS.format(first=first, second=second, grid=grid, step=step)
    (workload,) = Program(parse_module(text, "k.py")).workloads()
    return dict(next(step for step in estimate(workload, H200).steps if step.gpu_us).terms)


def test_a_distance_without_a_factor_in_common_costs_no_more() -> None:
    assert pairs(3)["lines"] == pytest.approx(pairs(1)["lines"], rel=0.05)
    assert pairs(4)["lines"] > 3 * pairs(3)["lines"]


def test_programs_that_follow_each_other_find_in_l1_what_they_all_read() -> None:
    assert pairs(3)["l2"] < pairs(3, together=False)["l2"] / 4


WALK = """
import torch
import triton
import triton.language as tl

@triton.jit
def k(x, before, after, out, n, LANES: tl.constexpr):
    lane = tl.program_id(0) * LANES + tl.arange(0, LANES)
    for turn in range(n):
        last = tl.zeros((LANES,), dtype=tl.int32)
        for j in range(n):
            last = tl.maximum(last, tl.load({read} + lane * n + j)) + tl.load(x + lane * n + turn)
            tl.store(after + lane * n + j, last)
    tl.store(out + lane, last)

class ModelNew(torch.nn.Module):
    def forward(self, x):
        rows, other = torch.empty_like(x), torch.empty_like(x)
        out = torch.empty(8192, dtype=torch.int32)
        k[(256,)](x, rows, other, out, 64, LANES=32, num_warps=1)
        return out

def get_inputs():
    return [torch.zeros(8192, 64, dtype=torch.int32)]
"""


def walk(read: str) -> dict[str, float]:
    (workload,) = Program(parse_module(WALK.format(read=read), "k.py")).workloads()
    return dict(next(step for step in estimate(workload, H200).steps if step.gpu_us).terms)


def test_a_row_that_is_rewritten_step_by_step_is_not_read_from_l1() -> None:
    assert walk("after")["l2"] > 3 * walk("before")["l2"]
    assert walk("after")["latency"] > walk("before")["latency"]


PICK = """
import torch
import triton
import triton.language as tl

@triton.jit
def k(x, index, out, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + tl.load(index + i)))

class ModelNew(torch.nn.Module):
    def forward(self, x, index):
        out = torch.empty_like(x)
        k[(16384,)](x, index, out, BLOCK=1024)
        return out

def get_inputs():
    return [torch.rand(1 << 24), {index}]
"""


def test_places_that_are_counted_lie_side_by_side() -> None:
    def us(index: str) -> float:
        (workload,) = Program(parse_module(PICK.format(index=index), "k.py")).workloads()
        return estimate(workload, H200).gpu_us or 0.0

    drawn = us("torch.randint(0, 1 << 24, (1 << 24,))")
    assert us("(torch.arange(4096)[:, None] * 4096 + torch.arange(4096)[None, :]).reshape(-1)") < drawn / 2
    assert us("torch.arange(1 << 24)[torch.randperm(1 << 24)]") == pytest.approx(drawn)
