"""Programs of the kinds whose times were wrong (``h200-kinds-2.csv``), and the terms that came of them: lanes that come to new sectors at
different turns, indices within a part of a tensor, what is spread over tiles, places that are worked out number by number."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import pytest
from bench_launches import bench_module, measured, read

from kernlint.cost.device import find_device
from kernlint.cost.estimate import Estimator
from kernlint.cost.programs.resources import spread
from kernlint.cost.traffic.accesses import traffic
from kernlint.cost.traffic.model import AccessTraffic
from kernlint.interpret.program import Program
from kernlint.syntax.tree import parse_module
from kernlint.workload import Launch, Workload

H200 = find_device("h200")
US = measured("h200-kinds-2.csv")


@cache
def cases() -> dict[str, Any]:
    """The programs by what they are called. Read within a test, as that puts a stand-in where there is no Triton."""
    return {case.key.split("kernel=")[1]: case for case in bench_module("kinds_2").cases()}


def loads(made: Launch, base: str) -> list[AccessTraffic]:
    return [access for access in traffic(made).accesses if access.base == base and access.kind == "load"]


@pytest.mark.parametrize(
    "name",
    [
        "advantages_by_row;B=2048;T=256;BB=64;num_warps=2",
        "level_by_row;N=1024;T=2049;BN=32;num_warps=1",
        "last_level_by_row;N=4096;T=2048;BN=64;num_warps=2",
        "heat_column;dtype=float64;N=262144;L=64;BLOCK=128;num_warps=4",
        "add_expert_rows;T=256;K=8;D=2048;BLOCK=1024;num_warps=4",
        "norm_weight_gradients;rows=16384;cols=4096;num_warps=8",
        "rotate_by_place;T=2048;H=16;HALF=32;num_warps=2",
        "radial_basis;n=400000;K=64;BN=32;num_warps=4",
        "lower_triangle;B=65536;F=27;D=64;num_warps=4",
        "reordered_columns;rows=65536;cols=2048;num_warps=4",
        "looked_up;n=67108864;BLOCK=4096;num_warps=8",
        "moved_volume;D=160;H=192;W=160;reach=0.05;BY=8;BX=32;num_warps=8",
        "turned_image;B=32;H=2048;W=2048;BLOCK=1024;num_warps=4",
        "blur_mirrored;B=192;H=224;W=224;K=9;BH=16;BW=64;num_warps=4",
        "rolling_window_tile;T=4096;N=4096;window=100;BT=16;BN=64;num_warps=4",
        "short_filter;B=8;L=4096;C=2048;K=4;BL=32;BC=64;num_warps=4",
    ],
)
def test_times(name: str) -> None:
    case = cases()[name]
    priced = Estimator(H200).estimate(Workload(case.term, "k.py", tuple(read(one) for one in case.launches)))
    assert priced.gpu_us is not None
    assert abs(math.log(priced.gpu_us / US[case.key])) < math.log(1.4)


@pytest.mark.parametrize(("length", "phases"), [(2048, 1), (2049, 8)])
def test_rows_that_begin_anywhere_in_a_sector(length: int, phases: int) -> None:
    name = f"last_level_by_row;N={1024 if length == 2049 else 4096};T={length};BN={32 if length == 2049 else 64};num_warps="
    made = read(next(case for key, case in cases().items() if key.startswith(name)).launches[0])
    assert loads(made, "x")[0].phases == phases


def test_indices_stay_in_the_row_of_their_program() -> None:
    made = read(cases()["reordered_columns;rows=65536;cols=2048;num_warps=4"].launches[0])
    (rows,) = loads(made, "x")
    assert rows.within == 2048 * 4
    assert rows.program_bytes < 2048 * 4
    sparse = read(cases()["band_product;rows=500000;W=16;order=random;BR=64;num_warps=4"].launches[0])
    assert all(access.within > 1e6 for access in loads(sparse, "x")), "the indices of all rows go anywhere"


def test_what_is_spread_over_a_tile() -> None:
    made = read(cases()["rotate_by_place;T=2048;H=16;HALF=32;num_warps=2"].launches[0])
    assert ((16, 32), 1) in spread(made.kernel)[0]


SOURCE = """
import torch
import triton
import triton.language as tl

@triton.jit
def k(x, d, y, H, W, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < H * W
    PLACE
    tl.store(y + i, tl.load(x + at, mask=m, other=0.0), mask=m)

def run(x: torch.Tensor, d: torch.Tensor):
    assert x.shape == (1 << 20,) and x.dtype == torch.float32 and d.shape == (1 << 20,) and d.dtype == torch.float32
    y = torch.empty_like(x)
    k[(1024,)](x, d, y, 1024, 1024, B=1024)
    return y
"""


def place(text: str) -> AccessTraffic:
    workloads = Program(parse_module(SOURCE.replace("PLACE", text), "k.py")).workloads()
    (made,) = workloads[0].launches()
    return loads(made, "x")[0]


def test_places_beside_their_own() -> None:
    found = place("at = (i.to(tl.float32) + tl.load(d + i, mask=m, other=0.0)).to(tl.int32)")
    assert found.known
    assert found.displaced
    assert found.strides == (4.0,)


def test_places_that_are_loaded_are_in_no_order() -> None:
    assert not place("at = tl.load(d + i, mask=m, other=0.0).to(tl.int32)").displaced


def test_columns_far_apart() -> None:
    found = place("at = (i.to(tl.float32) * 1000.5).to(tl.int32) % (H * W)")
    assert found.request_lines == 32 or found.sectors >= 1024


@pytest.mark.parametrize(
    "text",
    [
        "at = (i.to(tl.float32) / 0.0).to(tl.int32)",
        "at = i // tl.minimum(i, 0).to(tl.float32).to(tl.int32)",
        "at = tl.where(i > 3, i, tl.exp(i.to(tl.float32)).to(tl.int32))",
        "at = (i.to(tl.float32)" + " + 1.0" * 400 + ").to(tl.int32)",
    ],
)
def test_what_cannot_be_worked_out(text: str) -> None:
    assert place(text).sectors > 0
