"""Loops between loaded bounds run as long as a segment is in the mean."""

from micro_launches import HERE, LANE, PID, PID1, launch, load, number, store, tensor

from kernlint.cost.segments import likely_bounds
from kernlint.cost.traffic.accesses import assumed_trips, traffic
from kernlint.cost.traffic.probe import ASSUMED_TRIP
from kernlint.records import replace
from kernlint.workload import Branch, Expr, Launch, Loop, LoopIndex, ProgramId
from kernlint.workload import dtype as dtypes
from kernlint.workload.expr import ceildiv, lift, minimum, opaque
from kernlint.workload.tensor import Expected

F32, I32 = dtypes.FLOAT32, dtypes.INT32
START, END = opaque("load", key=0), opaque("load", key=1)


def rows(count: int, elements: int | None, block: int = 32, lengths: bool = False) -> Launch:
    """Sums of ``count`` rows from row pointer to row pointer; with ``lengths`` from a pointer on, as long as another array says."""
    length = END if lengths else END - START
    at = START + Expr.atom(LoopIndex(2)) * block + LANE
    inner = (load(3, "values", F32, (block,), at, (at, START + length)),)
    second = load(1, "lengths", I32, (), PID) if lengths else load(1, "pointers", I32, (), PID + 1)
    body = (
        load(0, "pointers", I32, (), PID), second,
        Loop(2, "range", lift(ceildiv(length, number(block))), inner, HERE, carried=True), store(4, "y", F32, (), PID),
    )  # fmt: skip
    arguments = {
        "pointers": tensor("pointers", I32, count + (not lengths)), "lengths": tensor("lengths", I32, count),
        "y": tensor("y", F32, count),
    }  # fmt: skip
    if elements is not None:
        arguments["values"] = tensor("values", F32, elements)
    return launch("rows", body, (count,), arguments, 1)


def test_the_mean_row_is_the_elements_over_the_rows() -> None:
    for lengths in (False, True):
        moved = traffic(rows(1000, 1000 * 64, lengths=lengths))
        assert moved.trips[2] == 2 and moved.unknown_trips == 0 and moved.counted_trips == 1
        values = next(access for access in moved.accesses if access.base == "values")
        assert values.known and values.active_elements == 32
        assert abs(values.footprint_bytes / (1000 * 64 * 4) - 1) < 0.1


def test_a_short_row_leaves_lanes_idle() -> None:
    moved = traffic(rows(1000, 1000 * 8))
    values = next(access for access in moved.accesses if access.base == "values")
    assert moved.trips[2] == 1 and values.active_elements == 8


def test_without_a_size_the_trips_are_assumed() -> None:
    moved = traffic(rows(1000, None))
    assert moved.trips[2] == ASSUMED_TRIP and moved.unknown_trips == 1


def told(made: Launch, **expected: Expected) -> Launch:
    """``made`` with what is known of the elements of its arguments."""
    tensors = {name: made.tensor(name) for name in expected}
    storages = {name: replace(t.storage, expected=expected[name]) for name, t in tensors.items() if t is not None}
    given = {name: replace(tensors[name], storage=storage) for name, storage in storages.items()}
    return replace(made, arguments={**made.arguments, **given})


def test_drawn_lengths_tell_the_trips_without_a_size() -> None:
    moved = traffic(told(rows(1000, None), pointers=Expected(step=40.0)))
    assert moved.trips[2] == 2 and moved.unknown_trips == 0 and moved.counted_trips == 1
    assert traffic(told(rows(1000, None, lengths=True), lengths=Expected(40.0))).trips[2] == 2


def test_pointers_into_a_part_of_an_array_rise_as_drawn() -> None:
    assert traffic(told(rows(1000, 128 * 1000 * 10), pointers=Expected(step=10.0))).trips[2] == 1


def reach(made: Launch) -> float:
    """The trips of the program that drew most."""
    return max(trips[2] for trips in traffic(made).uneven)


def test_drawn_lengths_are_many_numbers() -> None:
    made = told(rows(1000, None, lengths=True), lengths=Expected(32.0, spread=32.0))
    moved = traffic(made)
    # Half of the rows take a second turn of 32, and so does the longest.
    assert 1.3 < moved.trips[2] < 1.7 and reach(made) == 2
    values = next(access for access in moved.accesses if access.base == "values")
    # The lanes inside the mask over all turns are as many as the rows are long.
    assert abs(values.active_elements * moved.trips[2] - 32) < 3


def test_pointers_that_rise_by_draws_are_segments_of_many_lengths() -> None:
    made = told(rows(1000, None), pointers=Expected(step=40.0, spread=40.0))
    assert 1.4 < traffic(made).trips[2] < 2.2 and reach(made) == 3


def test_a_draw_of_one_number_has_no_longest() -> None:
    assert traffic(told(rows(1000, None, lengths=True), lengths=Expected(40.0, 0.0, equal=True))).uneven == ()


def test_what_is_drawn_comes_before_what_sizes_tell() -> None:
    """A length whose draw is known is no share of an array that the loop walks up to, or reads in part."""
    assert traffic(told(rows(1000, 1000 * 4096, lengths=True), lengths=Expected(320.0))).trips[2] == 10


def test_a_place_that_a_load_ends_at_begins_no_segment() -> None:
    """``mask[position - length]`` goes on to the loaded place, not from it."""
    at = Expr.atom(LoopIndex(2)) * 32 + LANE - START
    loop = Loop(2, "range", lift(ceildiv(START, number(32))), (load(3, "tree", F32, (32,), at),), HERE, carried=True)
    arguments = {"lengths": tensor("lengths", I32, 4), "tree": tensor("tree", F32, 64)}
    made = launch("tails", (load(0, "lengths", I32, (), PID), loop, store(4, "tree", F32, (), PID)), (4,), arguments, 1)
    assert 32 <= traffic(told(made, lengths=Expected(1024.0, spread=128.0))).trips[2] <= 33
    assert traffic(made).unknown_trips == 1


def test_assumed_trips_say_where_they_come_from() -> None:
    ((_, text),) = assumed_trips(told(rows(1000, None), pointers=Expected(step=40.0)))
    assert text == "2 in the mean, as its inputs draw them"
    ((_, text),) = assumed_trips(rows(1000, 64000))
    assert text == "2 in the mean, the elements over the number of segments"


def test_a_loop_of_a_known_length_has_no_bounds_to_find() -> None:
    made = launch("copy", (load(0, "x", F32, (32,), LANE),), (1,), {"x": tensor("x", F32, 32)}, 1)
    assert likely_bounds(made) == {}


def test_an_empty_array_gives_no_mean() -> None:
    assert likely_bounds(rows(1000, 0)) == {}


def early(programs: int, count: Expected, written: bool = False) -> Launch:
    """Each program of axis 1 walks the rows of its number on; those beyond the number that it reads return at once."""
    first = Expr.atom(ProgramId(1))
    row = Loop(2, "range", lift(ceildiv(START - first, number(programs))), (store(3, "y", F32, (32,), LANE),), HERE)
    body = (
        load(0, "counts", I32, (), PID),
        Branch(((), (row,)), HERE, (((START, first + 1),), ((first + 1, START + 1),)), run_time=True),
        *((store(4, "counts", I32, (), PID),) if written else ()),
    )  # fmt: skip
    arguments = {"counts": tensor("counts", I32, 256), "y": tensor("y", F32, 256)}
    return told(launch("early", body, (256, programs), arguments, 1), counts=count)


def test_programs_that_return_at_once_are_counted() -> None:
    moved = traffic(early(32, Expected(1, 0.0, equal=True)))
    ((_, share),) = moved.shares.values()
    assert share == 1 / 32
    # The programs that come to the loop go round it once.
    assert moved.trips[2] == 1


def test_a_drawn_count_shares_programs_out() -> None:
    ((_, share),) = traffic(early(32, Expected(8.0))).shares.values()
    assert share == 8 / 32


def test_what_the_launch_itself_writes_is_not_known() -> None:
    told_of = traffic(early(32, Expected(1, 0.0, equal=True), written=True))
    assert likely_bounds(early(32, Expected(1, 0.0, equal=True), written=True)) == {} and told_of.unknown_trips == 1


def flagged(held: Expected) -> dict[object, Expr]:
    body = (
        load(0, "flags", I32, (), PID),
        Branch(((), (store(3, "y", F32, (32,), LANE),)), HERE, (((START, number(1)),), ((number(0), START),)), run_time=True),
    )  # fmt: skip
    arguments = {"flags": tensor("flags", I32, 256), "y": tensor("y", F32, 256)}
    return dict(likely_bounds(told(launch("flagged", body, (256,), arguments, 1), flags=held)))


def test_the_mean_of_flags_is_no_flag() -> None:
    assert flagged(Expected(0.5)) == {}
    assert list(flagged(Expected(0, 0.0, equal=True)).values()) == [number(0)]


def tiles(stored: int | None, at: Expr, programs: int = 4, rounds: int = 8) -> Launch:
    """In each of some rounds, as many tiles of 32 elements as values that are not known tell, stored ``at`` a place."""
    inner = Loop(2, "while", None, (store(3, "y", F32, (32,), at),), HERE)
    body = (Loop(1, "range", lift(number(rounds)), (inner,), HERE),)
    return launch("tiles", body, (programs,), {} if stored is None else {"y": tensor("y", F32, stored)}, 1)


def test_rounds_that_store_tiles_are_as_many_as_there_are_tiles() -> None:
    moving = Expr.atom(LoopIndex(2)) * 32 + LANE
    moved = traffic(tiles(32 * 64, moving))
    assert moved.trips[2] == 64 / (4 * 8) and moved.unknown_trips == 1  # still a guess
    ((_, text),) = assumed_trips(tiles(32 * 64, moving))
    assert text == "2 in the mean, the tiles of what it stores over the programs"
    few = traffic(tiles(32 * 16, moving))
    assert few.trips[2] == 0.5 and few.accesses[0].executions == 4


def test_rounds_that_store_to_one_place_are_not_counted_by_it() -> None:
    moving = Expr.atom(LoopIndex(2)) * 32 + LANE
    for made in (tiles(32 * 64, LANE), tiles(None, moving), tiles(0, moving)):
        assert traffic(made).trips[2] == ASSUMED_TRIP
    assert traffic(tiles(32 * 64, moving, rounds=0)).trips[2] == ASSUMED_TRIP


def walked(first: Expr, trip: Expr) -> float:
    """The trips of a loop over blocks of 64 of a row of 4,096 from ``first`` on, whose end was read."""
    at = PID * 4096 + first + Expr.atom(LoopIndex(2)) * 64 + LANE
    body = (
        load(0, "lengths", I32, (), PID),
        Loop(2, "range", trip, (load(3, "values", F32, (64,), at),), HERE, carried=True), store(4, "y", F32, (), PID),
    )  # fmt: skip
    arguments = {
        "lengths": tensor("lengths", I32, 4),
        "values": tensor("values", F32, 4, 4096),
        "y": tensor("y", F32, 4),
    }
    return traffic(launch("walked", body, (4, 8), arguments, 1)).trips[2]


def test_programs_that_share_a_row_out_go_along_it_once_together() -> None:
    assert walked(number(0), lift(ceildiv(START, 64))) == 64
    share = lift(ceildiv(ceildiv(START, 8), 64)) * 64
    shared = minimum(PID1 * share + share, START) - PID1 * share
    assert walked(PID1 * share, lift(ceildiv(shared, 64))) == 8
    # Of pages of 16 elements, a block of 64 has four.
    assert walked(number(0), lift(ceildiv(ceildiv(START, 16), 4))) == 64
