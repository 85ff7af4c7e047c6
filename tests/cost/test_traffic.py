"""Bytes, sectors and footprints are arithmetic on offsets: the expected figures are worked out by hand."""

import dataclasses

import pytest
from micro_launches import (
    HERE,
    LANE,
    LANE1,
    PID,
    PID1,
    atomic_add,
    col_reduce,
    copy_block,
    gather_rows,
    iteration,
    launch,
    load,
    number,
    row_loop,
    row_softmax,
    scalar_chain,
    strided_load,
    tensor,
    tile_copy,
)

from kernlint.cost.evaluate import Columns, evaluator, origin, slot
from kernlint.cost.traffic.accesses import traffic
from kernlint.cost.traffic.model import AccessTraffic, Traffic
from kernlint.workload import Atomic, Branch, Expr, Lane, Load, Loop, ProgramId, Symbol
from kernlint.workload import dtype as dtypes
from kernlint.workload.expr import floordiv, mod, opaque

F16, F32 = dtypes.FLOAT16, dtypes.FLOAT32


def test_a_copy_asks_what_it_moves() -> None:
    moved = traffic(copy_block(1 << 20, F16, 1024, 4))
    assert moved.programs == 1024
    read, written = moved.accesses
    assert read.sectors == 64
    assert read.efficiency == 1
    assert moved.loaded_bytes == moved.stored_bytes == 2 << 20
    assert moved.footprint_bytes == 4 << 20
    assert written.kind == "store"


@pytest.mark.parametrize(("stride", "sectors"), [(1, 128), (2, 256), (4, 512), (8, 1024), (16, 1024), (128, 1024)])
def test_a_stride_touches_more_sectors_until_each_lane_has_its_own(stride: int, sectors: int) -> None:
    read = traffic(strided_load(1 << 20, stride, 1024, 4)).accesses[0]
    assert read.sectors == pytest.approx(sectors, rel=0.02)
    assert read.efficiency == pytest.approx(1024 * 4 / (sectors * 32), rel=0.02)


@pytest.mark.parametrize("turns", [1, 2, 4])
def test_a_tile_that_walks_along_its_rows_meets_each_part_once(turns: int) -> None:
    """Also in two turns, where what lies between its runs is as long as they are."""
    where = (PID * 4 + LANE) * (turns * 256) + iteration(1) * 256 + LANE1
    body = (Loop(1, "range", turns, (load(0, "x", F16, (4, 256), where),), HERE),)
    made = launch("half_rows", body, (64,), {"x": tensor("x", F16, 256, turns * 256)}, 4)
    (read,) = traffic(made).accesses
    assert read.program_bytes == read.near_bytes == 4 * turns * 256 * 2


def test_a_transposed_store_is_uncoalesced_only_where_the_tile_is_thin() -> None:
    thin = traffic(tile_copy(1024, 1024, F32, 1, 1024, transposed=True)).accesses[1]
    square = traffic(tile_copy(1024, 1024, F32, 32, 32, transposed=True)).accesses[1]
    assert thin.efficiency == pytest.approx(1 / 8)
    assert square.efficiency == 1


def test_a_mask_counts_the_lanes_inside() -> None:
    read = traffic(row_loop(128, 256, 1024, 4)).accesses[0]
    assert read.active_elements == pytest.approx(256)
    ragged = traffic(row_loop(128, 2500, 1024, 4)).accesses[0]
    assert ragged.executions == 3
    assert ragged.active_elements * ragged.executions == pytest.approx(2500)


def test_a_masked_tail_of_the_grid() -> None:
    read = traffic(copy_block(1025, F32, 1024, 4)).accesses[0]
    assert read.active_elements == pytest.approx(1025 / 2, rel=0.01)


def test_loops_multiply_and_a_second_pass_adds_no_footprint() -> None:
    once, twice = traffic(row_loop(64, 4096, 256, 4)), traffic(row_loop(64, 4096, 256, 4, passes=2))
    assert once.accesses[0].executions == 16
    assert twice.loaded_bytes == 2 * once.loaded_bytes
    assert twice.footprint_bytes == once.footprint_bytes == 64 * 4096 * 4 + 64 * 4
    assert twice.accesses[0].signature == twice.accesses[1].signature


def test_the_footprint_of_shared_sectors_is_the_tensor() -> None:
    moved = traffic(col_reduce(1024, 1024, 256, 1))
    assert moved.loaded_bytes == pytest.approx(1024 * 1024 * 32)
    assert moved.footprints["x"] == pytest.approx(1024 * 1024 * 4, rel=0.01)


def test_an_operand_shared_by_programs_counts_once() -> None:
    shape = (64, 64)
    a = load(0, "a", F16, shape, (PID * 64 + LANE) * 512 + iteration(0) * 64 + LANE1)
    b = load(1, "b", F16, shape, (PID1 * 64 + LANE1) * 512 + iteration(0) * 64 + LANE)
    body = (Loop(0, "range", 8, (a, b), HERE),)
    arguments = {"a": tensor("a", F16, 1024, 512), "b": tensor("b", F16, 2048, 512)}
    moved = traffic(launch("gemm", body, (16, 32), arguments, 4))
    of_a, of_b = moved.accesses
    assert of_a.shared_axes == {1}
    assert of_b.shared_axes == {0}
    assert moved.footprints == {"a": 1024 * 512 * 2, "b": 2048 * 512 * 2}
    assert of_a.moved_bytes == 16 * 32 * 8 * 64 * 64 * 2
    assert of_b.sectors == 64 * 4


def test_scalars_read_sector_by_sector_are_one_footprint() -> None:
    read = traffic(scalar_chain(64, 1024)).accesses[0]
    assert read.program_bytes == pytest.approx(4096, rel=0.01)
    assert read.moved_bytes == 64 * 1024 * 32


def test_a_gather_is_unknown_and_its_rows_contiguous() -> None:
    index, rows, written = traffic(gather_rows(1024, 128, 128)).accesses
    assert index.known
    assert written.known
    assert not rows.known
    assert rows.gather
    assert 8 <= rows.sectors <= 9


def test_a_trip_count_over_program_ids_is_a_mean() -> None:
    inner = (load(0, "x", F32, (128,), iteration(0) * 128 + LANE),)
    body = (Loop(0, "range", PID + 1, inner, HERE),)
    moved = traffic(launch("causal", body, (100,), {"x": tensor("x", F32, 12800)}, 4))
    assert moved.trips[0] == pytest.approx(50, rel=0.05)
    assert moved.unknown_trips == 0


def test_wrapped_rows_are_sampled() -> None:
    offset = Expr({}) + mod(PID * 64 + LANE, 100) * 512 + LANE1
    read = traffic(launch("wrap", (load(0, "x", F16, (64, 64), offset),), (2,), {"x": tensor("x", F16, 100, 512)}, 4))
    assert read.accesses[0].sectors == pytest.approx(64 * 4, rel=0.1)
    assert read.footprint_bytes <= 100 * 512 * 2


HOSTILE = {
    "no-offset": Load(0, "x", F32, (128,), None, None, HERE),
    "unknown-value": load(0, "x", F32, (128,), opaque("unknown", key=1) + LANE),
    "open-symbol": load(0, "x", F32, (128,), Expr.atom(Symbol("n")) * LANE),
    "no-lanes": load(0, "x", F32, (0,), LANE),
    "mask-without-bounds": Load(0, "x", F32, (128,), LANE, (), HERE),
    "mask-never-true": load(0, "x", F32, (128,), LANE, (LANE, number(0))),
    "mask-not-evaluable": load(0, "x", F32, (128,), LANE, (LANE, opaque("load", key=7))),
    "negative-stride": load(0, "x", F32, (128,), number(127) - LANE),
    "division-by-zero": load(0, "x", F32, (128,), opaque("floordiv", LANE, number(0))),
    "four-dimensions": load(0, "x", F32, (2, 2, 2, 2), LANE),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("grid", [(0,), (1,), (7, 3), (10**9,)])
def test_hostile_accesses_never_raise(name: str, grid: tuple[int, ...]) -> None:
    body = (Loop(0, "while", None, (HOSTILE[name],), HERE), Branch(((), (HOSTILE[name],)), HERE))
    moved = traffic(launch("odd", body, grid, {}, 4))
    assert all(access.moved_bytes >= 0 for access in moved.accesses)
    assert moved.unknown_trips == 1


def test_tensors_without_shape_or_dtype_do_not_cap() -> None:
    made = row_softmax(64, 128, F16, 4)
    blank = {name: dataclasses.replace(t, shape=None, dtype=None) for name, t in made.arguments.items()}  # type: ignore
    assert traffic(dataclasses.replace(made, arguments=blank)).footprint_bytes == 2 * 64 * 128 * 2


@pytest.mark.parametrize(
    ("shape", "where", "addresses"),
    [
        pytest.param((1024,), LANE, 32, id="apart"),
        pytest.param((1024,), LANE * 64, 32, id="apart, far"),
        pytest.param((1024,), number(0), 1, id="one for all"),
        pytest.param((1024,), Expr({}) + mod(LANE, 8), 8, id="wrapped"),
        pytest.param((1024,), Expr({}) + floordiv(PID * 1024 + LANE, 256), 1, id="runs"),
        pytest.param((1024,), Expr({}) + floordiv(PID * 1024 + LANE, 8), 4, id="short runs"),
        pytest.param((16, 64), LANE1, 32, id="a row for all"),
        pytest.param((16, 64), LANE, 16, id="a column for all"),
        pytest.param((8,), LANE, 8, id="less than a warp"),
        pytest.param((), PID, 1, id="scalar"),
        pytest.param((64,), opaque("unknown", LANE), 32, id="not followed"),
    ],
)  # fmt: skip
def test_lanes_of_a_warp_that_meet_in_one_address(shape: tuple[int, ...], where: Expr, addresses: float) -> None:
    update = Atomic(1, "y", F32, shape, where, None, HERE)
    step = launch("update", (update,), (64,), {"y": tensor("y", F32, 1 << 20)}, 4)
    assert traffic(step).accesses[0].request_addresses == addresses


def test_distinct_addresses_of_atomics() -> None:
    assert traffic(atomic_add(1 << 16, 128, 32, scalar=False)).accesses[1].footprint_bytes == 32 * 4


def test_a_sliding_window_meets_only_new_bytes() -> None:
    """A 3-tap row filter: each step moves the tile by one element, so the caches see the row once, not thrice."""
    taps = load(0, "x", F32, (256,), PID * 256 + iteration(0) + LANE)
    body = (Loop(0, "range", 3, (taps,), HERE),)
    read = traffic(launch("filter", body, (64,), {"x": tensor("x", F32, 64 * 256 + 2)}, 4)).accesses[0]
    assert read.moved_bytes == pytest.approx(64 * 3 * 1024, rel=0.05)
    assert read.program_bytes == pytest.approx(1024 + 2 * 4, rel=0.05)
    assert read.near_bytes == pytest.approx(1024 + 2 * 4, rel=0.05)
    assert read.footprint_bytes <= 64 * 1024 + 2 * 4 + 32


def test_a_re_read_row_is_near_where_l1_holds_the_whole_of_it() -> None:
    """The same 64 KB row in each of four iterations: asked of L2 once, as long as 64 KB of L1 are there for it."""
    again = load(0, "x", F32, (16384,), PID * 16384 + LANE)
    read = traffic(launch("again", (Loop(0, "range", 4, (again,), HERE),), (8,), {}, 4)).accesses[0]
    assert read.program_bytes == 65536
    assert read.moved_bytes == 8 * 4 * 65536
    assert (read.near_bytes, read.window_bytes) == (65536, 65536)


def walked(pitch: int) -> AccessTraffic:
    """128 lanes, ``pitch`` elements apart, that step by one in each of 64 iterations."""
    row = load(0, "x", F32, (128,), (PID * 128 + LANE) * pitch + iteration(0))
    return traffic(launch("walk", (Loop(0, "range", 64, (row,), HERE),), (8,), {}, 4)).accesses[0]


def test_lanes_that_walk_along_rows_of_their_own_meet_a_new_sector_every_eighth_step() -> None:
    read = walked(64)
    assert read.strides == (256.0,)
    assert read.moved_bytes == 8 * 64 * 128 * 32
    assert read.near_bytes == pytest.approx(128 * 64 * 4, rel=0.15)
    assert read.window_bytes == 128 * 32


def test_lanes_closer_than_a_sector_meet_new_ones_at_the_end_only() -> None:
    assert walked(4).near_bytes < 128 * 4 * 4 + 64 * 8


def shifted(*shifts: int) -> list[AccessTraffic]:
    """Loads of a tile of 4 rows of 256 in a plane 4096 wide, shifted."""
    here = (PID * 4 + LANE) * 4096 + LANE1
    loads = tuple(load(i, "x", F32, (4, 256), here + shift) for i, shift in enumerate(shifts, 5000))
    return list(traffic(launch("stencil", loads, (64,), {"x": tensor("x", F32, 300 * 4096)}, 4)).accesses)


@pytest.mark.parametrize(
    ("shifts", "rows"),
    [
        pytest.param((4096, 4096), 4, id="the same window"),
        pytest.param((4096, 0), 5, id="a row apart"),
        pytest.param((4096, 0, 8192), 6, id="three rows"),
        pytest.param((4096, 4 * 4096 + 4096), 8, id="side by side"),
    ],
)
def test_shifted_windows_of_a_plane_share_the_rows_that_they_have_in_common(shifts: tuple[int, ...], rows: int) -> None:
    read = shifted(*shifts)
    assert sum(access.near_bytes for access in read) == pytest.approx(rows * 1024)
    assert {access.twins for access in read} == {len(shifts)}


@pytest.mark.parametrize("shifts", [(0, 0), (0, 0, 0), (0, 4 * 4096, 0)])
def test_loads_that_coincide_meet_together_what_one_of_them_would(shifts: tuple[int, ...]) -> None:
    def whole(*shifts: int) -> Traffic:
        loads = tuple(
            load(i, "x", F32, (4, 4096), (PID * 4 + LANE) * 4096 + LANE1 + shift) for i, shift in enumerate(shifts)
        )
        return traffic(launch("again", loads, (64,), {"x": tensor("x", F32, 300 * 4096)}, 4))

    once, again = whole(*sorted(set(shifts))), whole(*shifts)
    assert again.footprints == pytest.approx(once.footprints)
    parts = sum(access.footprint_bytes for access in again.accesses)
    assert min(parts, 300 * 4096 * 4) == pytest.approx(again.footprints["x"])
    assert len({access.signature for access in again.accesses}) == len(shifts)
    assert len({access.place for access in again.accesses}) == len(set(shifts))


def test_an_image_tile_through_divisions_is_coalesced_along_its_pixels() -> None:
    """[k, pixel] of an implicit GEMM: both axes step by one somewhere, only the pixels stay contiguous."""
    k, pixel = LANE, PID * 64 + LANE1
    offset = Expr({}) + floordiv(k, 9) * 3136 + mod(floordiv(k, 3), 3) * 56 + mod(k, 3) + pixel
    wrapped = offset + floordiv(pixel, 56) * 0 + mod(k * 3, 3)
    read = traffic(launch("im2col", (load(0, "x", F16, (32, 64), wrapped),), (49,), {}, 4)).accesses[0]
    assert read.sectors < 32 * 64 / 8


def test_a_packed_triangle_is_contiguous_along_its_rows() -> None:
    """[i, j] at i (i - 1) / 2 + j: the first two rows begin at one place, which makes the rows no faster axis."""
    i, j = LANE, LANE1
    packed = Expr({}) + floordiv(i * i - i, 2) + j + PID * 479
    stored = traffic(launch("pairs", (load(0, "x", F16, (32, 32), packed, (j, i)),), (131072,), {}, 2)).accesses[0]
    assert stored.active_elements == pytest.approx(32 * 31 / 2, rel=0.1)
    assert stored.sectors < 32 * 32 / 8


def test_values_packed_into_words_are_read_along_the_words() -> None:
    """[block, value] of eleven bits each: the first two values of a block lie in one word, which makes the blocks no faster axis."""
    block, value = LANE, LANE1
    word = Expr({}) + (PID * 16 + block) * 44 + floordiv(value * 11, 32)
    read = traffic(launch("unpack", (load(0, "x", F32, (16, 128), word),), (4096,), {}, 4)).accesses[0]
    assert read.sectors < 16 * 128 / 8


def test_many_points_at_a_time_are_what_each_is_by_itself() -> None:
    """The masks of a convolution are sampled at hundreds of points."""
    atoms = Lane(0), Lane(1), ProgramId(0)
    lane, other, program = map(Expr.atom, atoms)
    row = program * 64 + lane
    exprs = [
        row,
        floordiv(row, 7) * 3 - mod(row, 7) + 5,
        mod(floordiv(row, 7), 5) * other - other * 2 + floordiv(other, 3),
        floordiv(row, other - other),
        floordiv(row, Expr.atom(Symbol("n"))),
    ]
    points = []
    for step in range(20):
        point = origin()
        for atom, value in zip(atoms, (step * 3, step % 5, step // 4)):
            point[slot(atom)] = float(value)
        points.append(point)
    columns = Columns({atom: [point[slot(atom)] for point in points] for atom in atoms}, len(points))
    for expr in exprs[:3]:
        assert columns.values(expr) == [evaluator(expr)(point) for point in points]
    assert columns.values(exprs[3]) is None and columns.values(exprs[4]) is None
    # What has no column is that of the centre, if there is one.
    assert columns.values(Expr.atom(Lane(2))) is None
    assert Columns({}, 3, origin()).values(Expr.atom(Lane(2)) + 1) == [1, 1, 1]


def test_numbers_that_are_loaded_move_all_lanes_together() -> None:
    """A shift by a loaded float (``x - load(v).to(int32)``) is no gather; one by a tile of them is."""
    shifted = dataclasses.replace(load(2, "x", F32, (1024,), number(0)), offset=None, through=frozenset({1}))
    arguments = {"v": tensor("v", F32, 1024), "x": tensor("x", F32, 1 << 20)}
    one, many = load(1, "v", F32, (), number(0)), load(1, "v", F32, (1024,), LANE)
    moved = traffic(launch("shift", (one, shifted), (1024,), arguments, 4)).accesses[1]
    assert moved.known
    assert not moved.gather
    assert moved.efficiency == 1
    assert traffic(launch("shift", (many, shifted), (1024,), arguments, 4)).accesses[1].gather
