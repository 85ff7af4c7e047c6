"""The model of kernels without dots: against the measurements, and in the directions physics demands."""

import dataclasses
import json
import math
from collections import defaultdict
from importlib import resources

import pytest
from bench_launches import bench_samples
from micro_launches import (
    HERE,
    LANE,
    LANE1,
    PID,
    atomic_add,
    col_reduce,
    copy_block,
    iteration,
    launch,
    load,
    row_loop,
    row_softmax,
    samples,
    scalar_chain,
    store,
    strided_load,
    tensor,
    tile_copy,
)

from kernlint.cost.device import devices, find_device
from kernlint.cost.programs.price import program_time
from kernlint.workload import Atomic, Compute, Dtype, Expr, Launch, Load, Loop, LoopIndex, Node, ProgramId, Reduce, Scan
from kernlint.workload import dtype as dtypes
from kernlint.workload.expr import floordiv, lift, mod, opaque

H100 = find_device("h100-sxm")
F16, F32 = dtypes.FLOAT16, dtypes.FLOAT32


def us(made: Launch) -> float:
    return program_time(made, H100).us


@pytest.fixture(scope="module")
def errors() -> dict[str, list[tuple[float, float]]]:
    """(ln error, sigma) of the micro-benchmarks, by family: all of the first round, every 8th of the others."""
    result = defaultdict(list)
    for sample in [*(one for one in samples() if not one.ordered), *bench_samples(8, ordered=False)]:
        time = program_time(sample.launch, find_device(sample.device))
        result[sample.family].append((math.log(time.us / sample.us), time.sigma))
    return result


def test_every_family_is_within_the_published_error(errors: dict[str, list[tuple[float, float]]]) -> None:
    published = json.loads(resources.files("kernlint.cost").joinpath("data/programs.json").read_text(encoding="utf-8"))
    assert set(published["families_held_out"]) >= set(errors)
    for family, values in errors.items():
        mean = sum(abs(error) for error, _ in values) / len(values)
        # Few rows stray from the mean of all.
        slack = 0.08 + 0.35 / math.sqrt(len(values))
        assert mean <= published["families_held_out"][family]["mean_abs_ln_error"] + slack, family


def test_the_targets_hold(errors: dict[str, list[tuple[float, float]]]) -> None:
    real = [error for family, values in errors.items() if family != "empty_program" for error, _ in values]
    assert sum(map(abs, real)) / len(real) <= 0.16
    for family, values in errors.items():
        # The column sums of the first round take twice the time of the second round's, tile for tile: not understood.
        limit = 0.35 if family == "col_reduce" else 0.25
        if family != "empty_program" and len(values) >= 10:
            assert sum(abs(error) for error, _ in values) / len(values) <= limit, family


def test_sigma_is_honest(errors: dict[str, list[tuple[float, float]]]) -> None:
    inside = [abs(error) <= 1.2816 * sigma for values in errors.values() for error, sigma in values]
    assert 0.7 <= sum(inside) / len(inside) <= 0.95


def segment_sums(n: int, run: int, addresses: int) -> Launch:
    """``y[i // run % addresses] += x[i]``, one atomic an element: ``run`` neighbours meet in one address."""
    step = atomic_add(n, 1024, addresses, False)
    at = PID * 1024 + LANE
    where = Expr({}) + mod(floordiv(at, run), addresses)
    return step.rewritten(lambda node: dataclasses.replace(node, offset=where) if isinstance(node, Atomic) else node)


# -- directions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("slow", "fast", "factor"),
    [
        pytest.param(copy_block(1 << 26, F32, 1024, 4), copy_block(1 << 25, F32, 1024, 4), 1.8, id="twice-the-bytes"),
        pytest.param(copy_block(1 << 26, F32, 1024, 4), copy_block(1 << 26, F16, 1024, 4), 1.8, id="wider-elements"),
        pytest.param(copy_block(1 << 24, F16, 32, 4), copy_block(1 << 24, F16, 1024, 4), 8, id="tiny-blocks"),
        pytest.param(strided_load(1 << 24, 16, 1024, 4), strided_load(1 << 24, 1, 1024, 4), 4, id="strided-load"),
        pytest.param(
            tile_copy(4096, 4096, F16, 1, 1024, True), tile_copy(4096, 4096, F16, 64, 64, True), 6, id="thin-transpose"
        ),
        pytest.param(col_reduce(8192, 2048, 8, 512), col_reduce(8192, 2048, 64, 16), 5, id="four-programs"),
        pytest.param(row_loop(8, 1 << 20, 256, 4), row_loop(1024, 1 << 13, 256, 4), 5, id="few-long-rows"),
        pytest.param(
            row_loop(8, 1 << 20, 4096, 8), row_loop(8, 1 << 20, 4096, 8, stages=3), 2, id="pipelined-when-latency-bound"
        ),
        pytest.param(
            row_loop(8, 1 << 20, 256, 4, each=True), row_loop(8, 1 << 20, 256, 4), 2, id="reduction-per-iteration"
        ),
        pytest.param(atomic_add(1 << 20, 1024, 1, False), atomic_add(1 << 20, 1024, 32, False), 5, id="one-address"),
        pytest.param(atomic_add(1 << 20, 1024, 32, False), atomic_add(1 << 20, 1024, 4096, False), 4, id="one-line"),
        pytest.param(atomic_add(1 << 20, 1024, 1, False), atomic_add(1 << 20, 1024, 1, True), 20, id="one-per-program"),
        pytest.param(segment_sums(1 << 20, 4096, 32), segment_sums(1 << 20, 1, 32), 8, id="lanes-meet"),
        pytest.param(row_softmax(4096, 16384, F32, 1), row_softmax(4096, 16384, F32, 8), 2, id="spills"),
        pytest.param(scalar_chain(64, 4096), row_loop(64, 4096, 1024, 4), 5, id="scalar-chain"),
    ],
)  # fmt: skip
def test_slower(slow: Launch, fast: Launch, factor: float) -> None:
    assert us(slow) > factor * us(fast)


def test_pipelining_gains_nothing_once_the_card_is_busy() -> None:
    plain, pipelined = row_loop(4096, 16384, 1024, 4), row_loop(4096, 16384, 1024, 4, stages=3)
    assert us(pipelined) == pytest.approx(us(plain), rel=0.1)


def test_monotone_in_size() -> None:
    times = [us(copy_block(1 << power, F32, 1024, 4)) for power in range(4, 31)]
    assert all(b >= a * 0.999 for a, b in zip(times, times[1:]))  # noqa: RUF007 - itertools.pairwise reads no better


def test_one_fused_kernel_beats_the_chain() -> None:
    for power in (12, 20, 26):
        assert us(copy_block(1 << power, F32, 1024, 4, ops=3)) < 0.5 * 3 * us(copy_block(1 << power, F32, 1024, 4))


def test_fma_work_bounds_a_broadcast_product() -> None:
    """y[m] = sum_k a[m, k] * b[k, n] by broadcasting: 2^14 multiply-adds an iteration on the FMA units."""
    elements = 16 * 32 * 32
    inner: tuple[Node, ...] = (
        load(0, "x", F32, (32, 32), LANE), Compute("arith", elements, F32, HERE),
        Reduce("sum", (16, 32, 32), 1, False, frozenset(), HERE),
    )  # fmt: skip
    body = (Loop(0, "range", 64, inner, HERE, carried=True), store(1, "y", F32, (16, 32), PID * 512 + LANE))
    made = launch("broadcast", body, (4096,), {"x": tensor("x", F32, 1024), "y": tensor("y", F32, 4096 * 512)}, 4)
    time = program_time(made, H100)
    operations = 2 * elements * 64 * 4096
    assert time.bound in ("issue", "latency", "shared")
    assert time.us > operations / 66.9e6 * 0.5, "not above the data sheet's fp32 rate"
    special = dataclasses.replace(inner[1], kind="special")  # type: ignore[type-var]
    dear = dataclasses.replace(made, kernel=dataclasses.replace(
        made.kernel, body=(dataclasses.replace(body[0], body=(inner[0], special, inner[2])), body[1])))  # type: ignore  # fmt: skip
    assert program_time(dear, H100).terms["issue"] > 1.5 * time.terms["issue"]


def test_terms_explain_the_time() -> None:
    time = program_time(copy_block(1 << 26, F32, 1024, 4), H100)
    assert time.bound == "memory"
    assert time.terms["memory"] == max(time.terms.values())
    assert max(time.terms.values()) <= time.us <= sum(time.terms.values())


# -- other devices and odd input --------------------------------------------------------------------------------------


def walk(pitch: int, dtype: Dtype = F32) -> Launch:
    """65,536 lanes, each of which sums 64 elements of its own, ``pitch`` elements from its neighbour's."""
    read = load(0, "x", dtype, (128,), (PID * 128 + LANE) * pitch + Expr.atom(LoopIndex(0)))
    body = (Loop(0, "range", 64, (read,), HERE), store(9, "y", F32, (128,), PID * 128 + LANE))
    return launch("walk", body, (512,), {"x": tensor("x", dtype, 65536 * pitch), "y": tensor("y", F32, 65536)}, 4)


def test_lanes_in_lines_of_their_own_take_a_cycle_each_whatever_the_element() -> None:
    apart, half = program_time(walk(64), H100), program_time(walk(64, F16), H100)
    assert apart.bound == half.bound == "lines"
    assert apart.terms["lines"] == pytest.approx(half.terms["lines"], rel=0.05)
    assert program_time(walk(8), H100).terms["lines"] == pytest.approx(apart.terms["lines"] / 4, rel=0.1)


def test_a_reduction_that_carries_its_index_takes_longer() -> None:
    def of(indexed: bool) -> Launch:
        read = load(0, "x", F32, (8, 512), (PID * 8 + LANE) * 512 + LANE1)
        top = Reduce("max", (8, 512), 1, False, frozenset({0}), HERE, F32, indexed=indexed)
        written = store(9, "y", F32, (8,), PID * 8 + LANE)
        body = (read, *(dataclasses.replace(top) for _ in range(8)), written)
        return launch("top", body, (8192,), {"x": tensor("x", F32, 8192 * 4096), "y": tensor("y", F32, 65536)}, 4)

    assert us(of(True)) > 1.5 * us(of(False))


def sum_over(rows: int, columns: int, warps: int, dtype: Dtype = F32, axis: int = 0) -> Launch:
    """8,192 programs that add up a tile along ``axis`` eight times over."""
    read = load(0, "x", dtype, (rows, columns), LANE * columns + LANE1)
    summed = Reduce("sum", (rows, columns), axis, False, frozenset({0}), HERE, dtype)
    written = store(9, "y", dtype, (columns,), PID * columns + LANE)
    body = (read, *(dataclasses.replace(summed) for _ in range(8)), written)
    arguments = {"x": tensor("x", dtype, rows * columns), "y": tensor("y", dtype, 8192 * columns)}
    return launch("sum", body, (8192,), arguments, warps)


def test_lanes_that_meet_in_a_bank_exchange_one_after_the_other() -> None:
    """The outputs of lanes beside each other lie a vector times the warps apart, 16 words: of 32 lanes 16 meet, of 8 lanes 4; each
    beyond the first costs the same."""
    shared = [program_time(sum_over(16, row, 4), H100).terms["shared"] for row in (128, 64, 32)]
    assert shared[0] - shared[1] == pytest.approx(2 * (shared[1] - shared[2]))
    assert shared[0] > 3 * shared[2]


def test_an_axis_of_one_element_costs_nothing() -> None:
    assert us(sum_over(1, 128, 4)) < us(sum_over(2, 128, 4))
    assert program_time(sum_over(1, 128, 4), H100).terms["shared"] == 0


def test_sums_of_64_bits_are_exchanged_in_two_words() -> None:
    narrow, wide = (program_time(sum_over(16, 64, 2, dtype, axis=1), H100) for dtype in (F32, dtypes.FLOAT64))
    assert wide.terms["issue"] > 1.6 * narrow.terms["issue"]


def test_a_warp_has_the_sum_of_an_integer_in_each_lane_at_once() -> None:
    def issue(dtype: Dtype, columns: int = 128) -> float:
        return program_time(sum_over(16, columns, 4, dtype, axis=1), H100).terms["issue"]

    assert issue(dtypes.INT32) < 0.7 * issue(F32)
    assert issue(dtypes.INT32, 64) == pytest.approx(issue(F32, 64))  # half a warp goes the way of floats
    assert issue(dtypes.INT64) > issue(F32)


@pytest.mark.parametrize(("columns", "misses"), [(1 << 10, False), (1 << 16, True)])
def test_what_each_program_walks_over_again_comes_from_memory_where_all_do_not_fit_l2(
    columns: int, misses: bool
) -> None:
    """Eight sweeps of each program over a row of its own, as sums over pairs make."""
    read = load(0, "x", F32, (1024,), PID * columns + iteration(1) * 1024 + LANE)
    inner = Loop(1, "range", columns // 1024, (read,), HERE)
    outer = Loop(2, "range", 8, (inner,), HERE)
    body = (outer, store(9, "y", F32, (1024,), PID * 1024 + LANE))
    arguments = {"x": tensor("x", F32, 2048 * columns), "y": tensor("y", F32, 2048 * 1024)}
    made = launch("sweeps", body, (2048,), arguments, 4)
    once = 2048 * columns * 4 / 3350e3
    assert (program_time(made, H100).terms["memory"] > 4 * once) == misses


@pytest.mark.parametrize("later", [True, False])
def test_values_first_met_after_scores_are_waited_for_by_themselves(later: bool) -> None:
    tile = (64, 128)
    where = (iteration(1) * 64 + LANE) * 128 + LANE1
    loads = tuple(load(number, base, F16, tile, PID * 1048576 + where) for number, base in ((0, "k"), (1, "v")))
    score, most = (
        Reduce("sum", tile, 1, False, frozenset({0} if later else {0, 1}), HERE, F32),
        Reduce("max", (64,), 0, True, frozenset({0} if later else {0, 1}), HERE, F32),
    )
    mixed = Reduce("sum", tile, 0, False, frozenset({0, 1}), HERE, F32)
    body = (Loop(1, "range", 128, (*loads, score, most, mixed), HERE), store(9, "y", F32, (128,), PID * 128 + LANE))
    arguments = {name: tensor(name, F16, 16 * 1048576) for name in "kv"} | {"y": tensor("y", F32, 16 * 128)}
    waits = program_time(launch("query", body, (16,), arguments, 4), H100).terms["latency"]
    assert (waits > 128 * 2.0) == later


def test_other_devices_scale_by_bandwidth_and_widen() -> None:
    made = copy_block(1 << 28, F32, 1024, 4)
    base = program_time(made, H100)
    for device in devices():
        time = program_time(made, device)
        expected = base.us * H100.memory_bandwidth_gb_per_s / device.memory_bandwidth_gb_per_s
        assert time.us == pytest.approx(expected, rel=0.35)
        assert time.sigma >= base.sigma
    assert program_time(made, find_device("mi300x")).sigma > program_time(made, find_device("a100")).sigma


HOSTILE: dict[str, tuple[Node, ...]] = {
    "nothing": (),
    "no-lanes": (load(0, "x", F32, (0,), LANE), store(1, "y", F32, (0,), LANE)),
    "unknown-offset": (load(0, "x", F32, (64,), opaque("unknown", key=3)),),
    "endless": (Loop(0, "while", None, (load(0, "x", F32, (64,), LANE),), HERE),),
    "negative-trip": (Loop(0, "range", -5, (load(0, "x", F32, (64,), LANE),), HERE),),
    "huge-trip": (Loop(0, "range", 10**15, (load(0, "x", F32, (64,), LANE),), HERE),),
    "scan-of-nothing": (Scan("add", (), 0, HERE), Reduce("sum", (), None, True, frozenset(), HERE)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_kernels_never_raise(name: str) -> None:
    for device in devices():
        for grid in ((), (0,), (1,), (10**9, 10**3)):
            for warps in (0, 1, 32):
                time = program_time(launch("odd", HOSTILE[name], grid, {}, warps), device)
                assert math.isfinite(time.us)
                assert time.us >= 0
                assert 0 < time.sigma < 5


def test_what_is_assumed_widens() -> None:
    known = row_loop(64, 4096, 256, 4)
    loop, reduce, end = known.kernel.body
    open_trip = dataclasses.replace(loop, trip=None)  # type: ignore[type-var]
    guessed = dataclasses.replace(known, kernel=dataclasses.replace(known.kernel, body=(open_trip, reduce, end)))
    partial = dataclasses.replace(known, kernel=dataclasses.replace(known.kernel, complete=False))
    sure = program_time(known, H100).sigma
    assert program_time(guessed, H100).sigma > sure + 0.3
    assert program_time(partial, H100).sigma > sure


def test_a_small_shared_operand_stays_in_l1() -> None:
    """A norm's weights: every program reads the same 4 KB, which is not 16 MB of L2 traffic."""

    def norm(weights: Expr, rows: int) -> Launch:
        where = PID * 1024 + LANE
        body = (
            load(0, "x", F16, (1024,), where), load(1, "w", F32, (1024,), weights), store(2, "y", F16, (1024,), where)
        )  # fmt: skip
        arguments = {"x": tensor("x", F16, 4096, 1024), "w": tensor("w", F32, rows, 1024)}
        return launch("norm", body, (4096,), {**arguments, "y": tensor("y", F16, 4096, 1024)}, 8)

    shared, own = norm(LANE, 1), norm(PID * 1024 + LANE, 4096)
    assert program_time(shared, H100).terms["l2"] < 0.7 * program_time(own, H100).terms["l2"]


@pytest.mark.parametrize("shared", [2, 8, 128])
def test_lanes_that_share_an_address_take_no_line_each(shared: int) -> None:
    """Two nibbles of a byte, or a scale for a group of elements: ``i // 2`` lies as close together as ``i``."""
    plain = copy_block(1 << 25, dtypes.FLOAT16, 2048, 4)

    def change(node: Node) -> Node:
        if not isinstance(node, Load) or node.offset is None:
            return node
        return dataclasses.replace(node, offset=lift(floordiv(node.offset, shared)))

    time = program_time(plain.rewritten(change), H100)
    assert time.bound != "lines" and time.us < 1.1 * program_time(plain, H100).us


def through_index(rows: int, width: int, window: int = 0) -> Launch:
    """Atomics of 2^22 elements to rows of ``width`` at indices that were read; with ``window``, grid axis 1 has a part of that
    many of the addresses to itself."""
    index = opaque("load", key=7)
    offset = index * width + LANE1 if width > 1 else index
    shape = (1024 // width, width) if width > 1 else (1024,)
    grid: tuple[int, ...] = (2**22 // 1024,)
    if window:
        parts = rows // window
        offset, grid = offset + Expr.atom(ProgramId(1)) * window, (grid[0] // parts, parts)
    atomic = Atomic(1, "y", F32, shape, offset, None, HERE, through=frozenset({7}), sem="relaxed")
    return launch("scatter", (atomic,), grid, {"y": tensor("y", F32, rows * width)}, 4)


def test_rows_of_a_table_go_in_whole_requests() -> None:
    assert us(through_index(2**13, 128)) < us(through_index(2**20, 1)) / 2


def test_atomics_serialise_on_the_lines_that_run_together() -> None:
    few, many = us(through_index(2**8, 1)), us(through_index(2**14, 1))
    parts = us(through_index(2**14, 1, window=2**8))
    assert many < parts < few


def test_rows_at_a_quotient_of_what_was_read_are_those_of_the_whole_table() -> None:
    """``token * dim + column block``: the block's step is within a row, so that no program has a part of the table to itself."""
    row, block = opaque("floordiv", opaque("load", key=7), 8), Expr.atom(ProgramId(1))
    offset = row * 2048 + block * 1024 + LANE
    atomic = Atomic(1, "y", F32, (1024,), offset, None, HERE, through=frozenset({7}), sem="relaxed")
    rows = launch("scatter", (atomic,), (2**11, 2), {"y": tensor("y", F32, 2**24)}, 4)
    assert us(rows) < 2 * us(through_index(2**14, 1024))


def test_indices_in_order_lie_inside_the_interval() -> None:
    inside = []
    for sample in bench_samples(ordered=True):
        time = program_time(sample.launch, find_device(sample.device))
        inside.append(abs(math.log(time.us / sample.us)) < 1.2816 * time.sigma)
    assert len(inside) > 50 and sum(inside) / len(inside) >= 0.75


def picked(n: int, table: int, taps: int = 1, width: int = 1) -> Launch:
    """``n`` elements of a table at random, ``taps`` neighbours in rows of ``width`` each."""
    index = opaque("load", key=0)
    offset = PID * 1024 + LANE
    loads = [load(1 + tap, "x", F32, (1024,), index * width + tap) for tap in range(taps)]
    body = (load(0, "index", dtypes.INT32, (1024,), offset), *loads, store(9, "y", F32, (1024,), offset))
    arguments = {"x": tensor("x", F32, table), "index": tensor("index", dtypes.INT32, n), "y": tensor("y", F32, n)}
    return launch("pick", body, (n // 1024,), arguments, 4)


def test_a_gather_costs_by_the_cache_that_holds_its_table() -> None:
    l1, l2, half, none = (us(picked(2**22, 2**bits)) for bits in (12, 20, 23, 26))
    assert 2 * l1 < l2 < half < none and none > 3 * l2
    # A table of a third of L2 stays there, whatever the lines of its sectors would take alone.
    assert us(picked(2**22, 2**22)) < 1.2 * l2


def test_the_coordinates_of_a_point_share_its_sector() -> None:
    one, three = us(picked(2**22, 2**20, 1, 4)), us(picked(2**22, 2**20, 3, 4))
    assert three < 1.6 * one


def test_the_interval_of_a_gather_reaches_down_to_indices_in_order() -> None:
    small, large = (program_time(picked(2**22, 2**bits), H100) for bits in (12, 20))
    assert large.sigma > 3 * small.sigma
    assert large.us * math.exp(-1.2816 * large.sigma) < 1.2 * small.us


def counted(dtype: Dtype, counters: int, op: str = "add", sem: str = "relaxed") -> Launch:
    """2^20 atomics of one kind at random counters."""
    atomic = Atomic(1, "y", dtype, (1024,), opaque("load", key=7), None, HERE, op, sem=sem)
    return launch("count", (atomic,), (2**10,), {"y": tensor("y", dtype, counters)}, 4)


def test_atomics_on_one_address_cost_by_type() -> None:
    whole, single = us(counted(dtypes.INT32, 1)), us(counted(F32, 1))
    assert 2 < single / whole < 3
    # Many counters: the sectors decide, not the type; 16-bit floats are tried again and again.
    assert us(counted(dtypes.INT32, 64)) == pytest.approx(us(counted(F32, 64)), rel=0.05)
    assert us(counted(F16, 64)) > 50 * us(counted(F32, 64))


def test_atomics_that_order_others_or_return_cost_more() -> None:
    plain = us(counted(dtypes.INT32, 2**18))
    assert us(counted(dtypes.INT32, 2**18, sem="acq_rel")) > 1.3 * plain
    assert us(counted(dtypes.INT32, 2**18, "cas")) > 1.1 * plain


def test_scattered_stores_meet_in_the_sectors_of_a_small_table() -> None:
    def put(table: int) -> float:
        offset = PID * 1024 + LANE
        body = (
            load(0, "index", dtypes.INT32, (1024,), offset), load(1, "x", F32, (1024,), offset),
            store(2, "y", F32, (1024,), opaque("load", key=0)),
        )  # fmt: skip
        n = 2**21
        arguments = {"x": tensor("x", F32, n), "index": tensor("index", dtypes.INT32, n), "y": tensor("y", F32, table)}
        return us(launch("put", body, (n // 1024,), arguments, 4))

    assert put(2**12) > 2 * put(2**20)


def test_loads_that_wait_for_each_other_in_a_loop_are_unrolled() -> None:
    def bag(store_inside: bool) -> float:
        index = opaque("load", key=0)
        at = PID * 64 + Expr.atom(LoopIndex(0))
        body: list[Node] = [
            load(0, "index", dtypes.INT32, (), at), load(1, "x", F32, (64,), index * 64 + LANE), Compute("arith", 64, F32, HERE)
        ]  # fmt: skip
        if store_inside:
            body.append(store(2, "z", F32, (), at))
        loop = Loop(0, "range", 64, tuple(body), HERE, carried=True)
        arguments = {"x": tensor("x", F32, 2**19, 64), "index": tensor("index", dtypes.INT32, 2**14, 64),
                     "z": tensor("z", F32, 2**14, 64), "y": tensor("y", F32, 2**14, 64)}  # fmt: skip
        made = launch("bag", (loop, store(3, "y", F32, (64,), PID * 64 + LANE)), (2**14,), arguments, 4)
        return program_time(made, H100).terms["latency"]

    assert bag(False) < bag(True) / 2


@pytest.mark.parametrize(("length", "more"), [(38 * 10**6, True), (2**20, False)])
def test_loads_of_a_turn_that_stores_wait_for_what_l2_lacks_of_any(length: int, more: bool) -> None:
    def walk(count: int) -> float:
        """Nanoseconds of a turn of two programs, which read ``count`` tensors of so many bytes in all."""
        names = [f"x{number}" for number in range(count)]
        cols = length // (count + 1) // 1024
        at = Expr.atom(LoopIndex(0)) * 256 + PID * 128 + LANE
        reads = [load(number, name, F32, (128,), at) for number, name in enumerate(names)]
        body = (Loop(0, "range", cols, (*reads, store(8, "y", F32, (128,), at)), HERE, carried=True),)
        arguments = {name: tensor(name, F32, cols * 256) for name in [*names, "y"]}
        return program_time(launch("walk", body, (2,), arguments, 4), H100).terms["latency"] * 1000 / cols

    assert (walk(4) > 1.25 * walk(1)) == more
