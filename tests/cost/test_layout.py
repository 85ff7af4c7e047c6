"""Layouts, vectors and registers against what Triton compiled: ``h100-micro-binaries-2.csv``, ``h100-spilling-*``."""

import pytest
from bench_launches import bench_module, read
from micro_launches import LANE, LANE1, PID, load, number, store

from kernlint.cost.combine import with_combined_dots
from kernlint.cost.device import find_device
from kernlint.cost.layout import blocked, fastest_axis, neighbours, vector_bytes
from kernlint.cost.programs.price import program_time
from kernlint.cost.registers import COLLAPSE, pressures
from kernlint.cost.traffic.accesses import traffic
from kernlint.workload import dtype as dtypes
from kernlint.workload.expr import lift, maximum, minimum, mod, opaque

H100 = find_device("h100-sxm")
F16, F32 = dtypes.FLOAT16, dtypes.FLOAT32


@pytest.mark.parametrize(
    ("columns", "dtype", "expected"),
    [
        pytest.param(1536, F32, 16, id="rows-of-whole-vectors"),
        pytest.param(1500, F32, 4, id="rows-not-divisible-by-16"),
        pytest.param(1536, F16, 16, id="eight-halves"),
        pytest.param(1500, F16, 2, id="one-half"),
    ],
)
def test_rows_are_read_in_vectors_where_their_length_is_divisible(columns: int, dtype, expected: int) -> None:
    row = load(0, "x", dtype, (1024,), PID * columns + LANE, (LANE, number(columns)))
    assert vector_bytes(row) == expected


def test_what_breaks_a_vector() -> None:
    assert vector_bytes(load(0, "x", F32, (64,), LANE * 2)) == 4
    assert vector_bytes(load(0, "x", F32, (64,), LANE + 1)) == 4
    assert vector_bytes(load(0, "x", F32, (2,), LANE)) == 8
    assert vector_bytes(load(0, "x", F32, (64,), LANE, (LANE, number(1000)))) == 4
    assert vector_bytes(load(0, "x", F32, (64,), LANE + mod(PID, 3) * 64)) == 16
    assert vector_bytes(load(0, "x", F32, (), PID)) == 4


def test_an_index_that_wraps_around_keeps_its_vectors() -> None:
    """``(start + tl.arange(0, B)) % n``: AxisInfo takes the remainder of a contiguous value by a multiple of 16 apart."""
    columns = PID * 64 + LANE1

    def wrapped(n: int, index=columns):
        return load(0, "x", F16, (32, 64), LANE * 4096 + mod(index, n))

    assert vector_bytes(wrapped(4096)) == 16
    assert fastest_axis(wrapped(4096)) == 1
    assert vector_bytes(wrapped(4100)) == 2
    assert vector_bytes(wrapped(4096, columns + 1)) == 2
    assert vector_bytes(wrapped(4096, columns * 2)) == 2
    assert vector_bytes(load(0, "x", F16, (32, 64), LANE * 4096 + mod(columns, 4096) * 2)) == 2


def test_the_contiguous_axis() -> None:
    assert fastest_axis(load(0, "x", F32, (32, 64), LANE * 64 + LANE1)) == 1
    assert fastest_axis(store(0, "x", F32, (32, 64), LANE + LANE1 * 32)) == 0


@pytest.mark.parametrize(
    ("column", "seen"),
    [
        pytest.param(LANE1, 1, id="counted"),
        pytest.param(LANE1 + 3, 1, id="shifted"),
        pytest.param(minimum(LANE1 + 3, 63), None, id="clamped"),
        pytest.param(maximum(LANE1 - 3, 0), None, id="clamped below"),
        pytest.param(maximum(LANE1 - 3, 3 - LANE1), None, id="mirrored"),
        pytest.param(LANE1 * 3, None, id="planes between"),
        pytest.param(lift(opaque("load", key=7)) + LANE1, 1, id="from a loaded place on"),
        pytest.param(lift(opaque("load", LANE1, key=7)), None, id="loaded"),
    ],
)
def test_neighbours_are_those_that_the_compiler_sees(column, seen: int | None) -> None:
    """Where it sees none, Triton up to 3.6 takes the first axis for the fastest."""
    window = load(0, "x", F32, (8, 64), LANE * 64 + column)
    assert neighbours(window) == seen
    assert fastest_axis(window) == (seen or 0)


def test_a_line_of_its_own_has_no_other_axis() -> None:
    assert fastest_axis(load(0, "x", F32, (64,), minimum(LANE + 3, 63))) == 0
    assert fastest_axis(load(0, "x", F32, (), PID)) == 0


@pytest.mark.parametrize(
    ("shape", "vector", "warps", "values", "lanes", "of_warps"),
    [
        pytest.param((4096,), 4, 4, (32,), (32,), (4,), id="a-row"),
        pytest.param((32, 32), 4, 4, (2, 4), (4, 8), (4, 1), id="a-tile"),
        pytest.param((16, 16, 16), 1, 4, (16, 2, 1), (1, 2, 16), (1, 4, 1), id="a-product"),
        pytest.param((32, 32, 32), 1, 8, (32, 4, 1), (1, 1, 32), (1, 8, 1), id="a-larger-one"),
        pytest.param((16,), 1, 8, (1,), (16,), (8,), id="fewer-than-threads"),
    ],
)
def test_blocked(shape, vector, warps, values, lanes, of_warps) -> None:
    layout = blocked(shape, len(shape) - 1, vector, warps)
    assert layout.values == values
    assert layout.warps == of_warps or shape == (16,)
    assert layout.lanes == lanes or shape == (16,)


@pytest.mark.parametrize(
    ("axis", "tile", "warps", "shared"),
    [(1, (16, 16, 16), 4, 4096), (1, (32, 32, 32), 8, 32768), (1, (64, 32, 32), 4, 32768)],
)
def test_a_product_reduced_across_warps_exchanges_what_the_compiler_reserves(axis, tile, warps, shared) -> None:
    """Shared memory of ``h100-spilling-binaries.csv``: a float for each output of each warp."""
    shape = (tile[0], tile[2], tile[1])
    layout = blocked(shape, 2, 1, warps)
    assert layout.warps[axis] == warps
    assert 4 * tile[0] * tile[1] * layout.warps[axis] == shared


class _Sizes:
    """256 elements of a tile on a thread."""

    threads = 128

    def __init__(self) -> None:
        self.held: dict[tuple[int, int], float] = {}

    def whole_vectors(self, load) -> bool:
        return True

    def layout(self, shape):
        return blocked(shape, len(shape) - 1, 1, 4)


def test_tiles_held_over_a_reduction_add_up() -> None:
    spilling = bench_module("spilling")

    def need(count: int) -> float:
        body = read(spilling.hold_case(count, 64, 4096, 4096, "float16", 4).launches[0]).kernel.body
        return max(p.registers for p in pressures(body, _Sizes()))  # type: ignore[arg-type]

    assert need(2) - need(1) == pytest.approx(4096 / 128, rel=0.1)
    assert need(4) - need(2) == pytest.approx(2 * 4096 / 128, rel=0.1)


def us(case) -> float:
    made = read(case.launches[0])
    return program_time(made, H100, moved=traffic(made)).us


def test_a_product_that_spills_is_slower_by_an_order_of_magnitude() -> None:
    upcast = bench_module("spilling").upcast_case
    fits, collapses = (us(upcast(2, (768, 384, 320), (64, 32, 32), "float16", warps)) for warps in (8, 4))
    assert collapses > 5 * fits, "measured: 135 and 2,706 us"


def test_a_reduction_across_warps_grows_with_the_warps() -> None:
    upcast = bench_module("spilling").upcast_case
    times = [us(upcast(1, (768, 384, 320), (16, 16, 16), "float16", warps)) for warps in (2, 4, 8)]
    assert times[2] > 1.5 * times[1] > 2.25 * times[0], "measured: 126, 231 and 445 us"
    assert us(upcast(0, (768, 384, 320), (16, 16, 16), "float16", 8)) < times[0] / 3, "measured: 21 us"


def test_whole_rows_that_do_not_fit_are_slower_with_fewer_warps() -> None:
    hold = bench_module("spilling").hold_case
    few, many = (us(hold(4, 3000, 4096, 4096, "float16", warps)) for warps in (1, 8))
    assert few > 2 * many, "measured: 255 and 68 us"
    assert COLLAPSE > 255


# -- products that become dots ----------------------------------------------------------------------------------------


def test_only_operands_upcast_before_the_expansion_become_a_dot() -> None:
    shape, tile = (384, 384, 384), (32, 32, 16)
    product = bench_module("fma").broadcast_case
    upcast = bench_module("spilling").upcast_case
    for dtype in ("float16", "float32"):
        kernel = with_combined_dots(read(product(shape, tile, dtype).launches[0]).kernel)
        (dot,) = kernel.dots()
        assert (dot.m, dot.n, dot.k) == tile
        assert dot.a.load != dot.b.load
    for axis in (0, 1, 2):
        kernel = read(upcast(axis, shape, tile, "float16", 4).launches[0]).kernel
        assert with_combined_dots(kernel) is kernel


def test_a_product_over_fewer_than_sixteen_stays_a_product() -> None:
    kernel = read(bench_module("fma").broadcast_case((384, 384, 384), (32, 32, 8), "float32").launches[0]).kernel
    assert not with_combined_dots(kernel).dots()
