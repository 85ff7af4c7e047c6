"""What is foreseen of other tiles is what reading the program with them says."""

import dataclasses

import pytest
from gemm_launches import gemm

from kernlint.cost.device import find_device
from kernlint.cost.dot_launch import kernel_time
from kernlint.cost.retiled import Retiled
from kernlint.workload import Expr, Symbol

H100 = find_device("h100")
SIZE = 2048, 1024, 4096
TILES = [(32, 64, 64), (64, 128, 32), (128, 128, 64), (128, 256, 64)]


@pytest.mark.parametrize("options", [{}, {"flat": True}, {"grouped": 8}], ids=["two-axes", "row-major", "grouped"])
@pytest.mark.parametrize("tile", TILES, ids=lambda tile: "x".join(map(str, tile)))
def test_a_tile_takes_what_it_was_foreseen_to(tile, options):
    foreseen = Retiled.of(gemm(*SIZE, tile=(32, 32, 32), warps=4, stages=3, **options), H100)
    assert foreseen is not None
    warps = 8 if tile[0] * tile[1] >= 128 * 128 else 4
    read = kernel_time(gemm(*SIZE, tile=tile, warps=warps, stages=4, **options), H100)
    assert foreseen.us(*tile, warps, 4) == pytest.approx(read.us, rel=0.1)


def test_nothing_is_foreseen_of_tiles_that_reach_far_beyond_a_small_product():
    assert Retiled.of(gemm(100, 100, 4096, tile=(128, 256, 64)), H100) is None


def test_an_axis_of_many_tiles_tells_how_far_the_other_one_is_covered():
    foreseen = Retiled.of(gemm(4096, 48, 4096, tile=(64, 128, 64), warps=4, stages=3), H100)
    assert foreseen is not None
    read = kernel_time(gemm(4096, 48, 4096, tile=(64, 64, 64), warps=4, stages=3), H100)
    assert foreseen.us(64, 64, 64, 4, 3) == pytest.approx(read.us, rel=0.15)


@pytest.mark.parametrize("options", [{}, {"flat": True}], ids=["two-axes", "row-major"])
def test_columns_that_are_one_tile_are_foreseen_too(options):
    foreseen = Retiled.of(gemm(65_536, 64, 1024, tile=(64, 64, 32), warps=4, stages=3, **options), H100)
    assert foreseen is not None
    read = kernel_time(gemm(65_536, 64, 1024, tile=(128, 32, 32), warps=4, stages=3, **options), H100)
    assert foreseen.us(128, 32, 32, 4, 3) == pytest.approx(read.us, rel=0.15)


def test_nothing_is_foreseen_of_a_launch_without_a_product_or_of_open_size():
    launch = gemm(*SIZE)
    assert Retiled.of(dataclasses.replace(launch, kernel=dataclasses.replace(launch.kernel, body=())), H100) is None
    open_grid = (Expr.atom(Symbol("M")), 8)
    assert Retiled.of(dataclasses.replace(gemm(*SIZE), grid=open_grid), H100) is None
