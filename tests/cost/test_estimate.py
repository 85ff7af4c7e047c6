"""Whole workloads: the two scopes, open sizes, and the speedup's interval."""

import dataclasses
import math
import time

import pytest
from gemm_launches import gemm
from micro_launches import HERE, copy_block, row_softmax, tensor

from kernlint.cost.comparing import Comparison, speedup
from kernlint.cost.device import devices, find_device
from kernlint.cost.estimate import MODEL_VERSION, Estimator, estimate
from kernlint.cost.host import host_time
from kernlint.cost.pricing import Distances
from kernlint.cost.programs.constants import INTERVAL_80
from kernlint.workload import Expr, HostSync, Launch, Repeat, Step, Symbol, TorchOp, Workload
from kernlint.workload import dtype as dtypes

H100 = find_device("h100-sxm")
F16, F32 = dtypes.FLOAT16, dtypes.FLOAT32
SMALL = copy_block(1 << 12, F32, 1024, 4)
LARGE = copy_block(1 << 26, F32, 1024, 4)
SYNC = HostSync(".item()", HERE, "f")


def workload(*steps: Step) -> Workload:
    return Workload("f", "f.py", steps)


def add(n: int) -> TorchOp:
    x = tensor("x", F32, n)
    return TorchOp("add", "elementwise", (x, x), (x,), HERE, "f")


def test_gpu_scope_sums_device_times() -> None:
    one, three = estimate(workload(SMALL), H100), estimate(workload(SMALL, SMALL, add(4096)), H100)
    assert one.gpu_us == pytest.approx(one.steps[0].gpu_us)
    assert three.gpu_us == pytest.approx(2 * one.gpu_us + three.steps[2].gpu_us)  # type: ignore[operator]
    assert one.gpu_us >= 1.0


def test_call_scope_is_the_larger_of_host_and_device() -> None:
    host_bound, device_bound = estimate(workload(SMALL, SMALL), H100), estimate(workload(LARGE, SMALL), H100)
    assert host_bound.call_us == pytest.approx(2 * host_time(SMALL))
    assert device_bound.call_us == pytest.approx(device_bound.gpu_us)


def test_a_sync_serialises_host_and_device() -> None:
    plain, synced = estimate(workload(LARGE), H100), estimate(workload(LARGE, SYNC), H100)
    assert synced.call_us == pytest.approx(plain.gpu_us + host_time(LARGE) + host_time(SYNC))  # type: ignore[operator]
    assert synced.gpu_us > plain.gpu_us + 10  # type: ignore[operator]


def test_versions_of_a_program_are_priced_as_they_are_alone() -> None:
    loop, middle = Repeat(8, (SMALL, add(4096)), HERE, "f"), copy_block(1 << 20, F32, 1024, 4)
    versions = [
        workload(loop, add(1 << 20), LARGE),
        workload(loop, add(1 << 24), LARGE),
        workload(loop, add(1 << 20), middle),
        workload(Repeat(3, (SMALL, LARGE), HERE, "f"), SYNC, middle),
        workload(loop, add(1 << 20), LARGE),
    ]
    estimator = Estimator(H100)
    found, alone = [estimator.estimate(one) for one in versions], [estimate(one, H100) for one in versions]
    assert found == alone
    for other, same in zip(found, alone):
        for scope in ("gpu", "call"):
            assert speedup(found[0], other, scope) == pytest.approx(speedup(alone[0], same, scope), rel=1e-9)


def test_repeat_multiplies() -> None:
    loop = Repeat(64, (SMALL,), HERE, "f")
    looped, once = estimate(workload(loop), H100), estimate(workload(SMALL), H100)
    assert looped.gpu_us == pytest.approx(64 * once.gpu_us)  # type: ignore[operator]
    assert looped.call_us == pytest.approx(64 * host_time(SMALL), rel=0.02)
    nested = estimate(workload(Repeat(10, (loop,), HERE, "f")), H100)
    assert nested.gpu_us == pytest.approx(640 * once.gpu_us)  # type: ignore[operator]
    assert nested.call_us == pytest.approx(10 * looped.call_us, rel=0.02)  # type: ignore[operator]
    assert [row.count for row in nested.steps] == [10, 640, 640]


def test_a_loop_of_unknown_length_is_assumed_and_less_sure() -> None:
    known, assumed = (estimate(workload(Repeat(count, (SMALL,), HERE, "f")), H100) for count in (16, None))
    assert assumed.gpu_us == known.gpu_us
    assert assumed.gpu_sigma > known.gpu_sigma + 0.4


def test_a_sync_in_a_loop_stalls_each_turn() -> None:
    turns = estimate(workload(Repeat(100, (LARGE, SYNC), HERE, "f")), H100)
    once = estimate(workload(LARGE, SYNC), H100)
    assert turns.call_us == pytest.approx(100 * once.call_us, rel=0.02)  # type: ignore[operator]


def test_an_autotuned_launch_costs_more_on_the_host() -> None:
    assert host_time(dataclasses.replace(SMALL, autotuned=True)) > host_time(SMALL) + 10
    assert host_time(add(16)) < host_time(SMALL)


def test_fusing_a_chain_pays_in_both_scopes() -> None:
    chain, fused = estimate(workload(*[SMALL] * 3), H100), estimate(workload(SMALL), H100)
    for scope in ("gpu", "call"):
        middle, low, high = speedup(chain, fused, scope)
        assert middle == pytest.approx(3, rel=0.05)
        assert low < middle < high


# -- open sizes -------------------------------------------------------------------------------------------------------


def test_open_sizes_are_named() -> None:
    size = Expr.atom(Symbol("M"))
    grid = dataclasses.replace(SMALL, grid=(size,))
    turns = Repeat(Expr.atom(Symbol("T")), (SMALL,), HERE, "f")
    result = estimate(workload(grid, turns, SMALL), H100)
    assert (result.gpu_us, result.call_us) == (None, None)
    assert result.missing == ("M", "T")
    with pytest.raises(ValueError, match="M, T"):
        speedup(result, result, "gpu")


def test_an_unknown_scope_is_an_error() -> None:
    done = estimate(workload(SMALL), H100)
    with pytest.raises(ValueError, match="unknown scope"):
        speedup(done, done, "wall")


# -- errors -----------------------------------------------------------------------------------------------------------


def test_nothing_changed_means_one_within_the_clock() -> None:
    done = estimate(workload(LARGE, SMALL), H100)
    middle, low, high = speedup(done, done, "gpu")
    assert middle == 1
    assert 0.93 < low < 1 < high < 1.07


def test_the_interval_is_80_percent_of_a_lognormal() -> None:
    before, after = estimate(workload(LARGE), H100), estimate(workload(SMALL), H100)
    middle, low, high = speedup(before, after, "gpu")
    assert math.log(high / low) == pytest.approx(2 * INTERVAL_80 * Comparison(before, after).sigma("gpu"))
    assert math.sqrt(low * high) == pytest.approx(middle)


def test_what_stays_narrows_the_interval() -> None:
    """A change to a twentieth of the time cannot be wrong by as much as a change to all of it."""
    before, after = gemm(1024, 1024, 1024, (16, 16, 16), warps=4), gemm(1024, 1024, 1024)
    alone = Comparison(estimate(workload(before), H100), estimate(workload(after), H100)).sigma("gpu")
    rest = [LARGE] * 3
    beside = Comparison(estimate(workload(before, *rest), H100), estimate(workload(after, *rest), H100)).sigma("gpu")
    assert beside < alone / 2


def test_a_better_configuration_errs_as_the_two_that_the_tuner_takes_do() -> None:
    """Another configuration for the tuner leaves the launch itself as it was: it is not what the times are of."""
    small, large = gemm(2048, 2048, 2048, (16, 16, 32), warps=4), gemm(2048, 2048, 2048, (128, 128, 64), warps=8)
    tuned = dataclasses.replace(small, autotuned=True)
    fixed = Comparison(estimate(workload(small), H100), estimate(workload(large), H100)).sigma("gpu")
    offered = dataclasses.replace(tuned, alternatives=(large,))
    assert Comparison(estimate(workload(tuned), H100), estimate(workload(offered), H100)).sigma("gpu") == fixed > 0.1


def test_a_variant_errs_like_its_original() -> None:
    before, after = estimate(workload(gemm(1024, 1024, 1024)), H100), estimate(workload(gemm(1024, 1024, 2048)), H100)
    independent = math.hypot(before.gpu_sigma, after.gpu_sigma)
    assert Comparison(before, after).sigma("gpu") <= math.hypot(independent, 0.05)


def test_steps_of_one_family_err_together_and_families_apart() -> None:
    same = estimate(workload(SMALL, SMALL), H100)
    assert same.gpu_sigma == pytest.approx(same.steps[0].sigma)
    mixed = estimate(workload(SMALL, add(4096)), H100)
    assert mixed.gpu_sigma < max(row.sigma for row in mixed.steps)


def test_other_devices_are_less_sure() -> None:
    sigma = {device.id: estimate(workload(LARGE), device).gpu_sigma for device in devices()}
    assert sigma["h100-sxm"] <= sigma["h200-sxm"] < sigma["h100-pcie"] < sigma["a100-40gb"] < sigma["mi300x"]


# -- cost of asking ---------------------------------------------------------------------------------------------------


def test_ten_launches_take_well_under_fifty_milliseconds() -> None:
    steps: list[Launch] = [row_softmax(1000 + i, 1000, F16, 4) for i in range(5)]
    steps += [gemm(1000 + i, 1000, 1000, grouped=8) for i in range(5)]
    estimate(workload(*steps), H100)
    best = math.inf
    for _ in range(5):
        start = time.process_time()
        estimate(workload(*steps), H100)
        best = min(best, time.process_time() - start)
    assert best < 0.1, "twice the target, for a slow machine"


def test_the_empty_workload_and_odd_counts() -> None:
    empty = estimate(workload(), H100)
    assert (empty.gpu_us, empty.call_us) == (0, 0)
    assert speedup(empty, empty, "call") == (1, 1, 1)
    for count in (0, -3, None, 10**12):
        result = estimate(workload(Repeat(count, (SMALL, SYNC), HERE, "f")), H100)
        assert result.gpu_us is not None
        assert result.gpu_us >= 0
    assert MODEL_VERSION


# -- what L2 still holds ----------------------------------------------------------------------------------------------


def test_reuse_distance_runs_from_the_last_use_around_the_call() -> None:
    touched = [{1: 10.0, 2: 20.0}, {2: 20.0, 3: 30.0}, {3: 30.0, 4: 40.0}]
    first, second, third = Distances.of(touched).found
    assert first == {1: 100.0, 2: 100.0}
    assert second == {2: 50.0, 3: 60.0}
    assert third == {3: 70.0, 4: 100.0}
    assert Distances.of([{1: 5.0}]).found == [{1: 5.0}]


def test_a_producer_leaves_its_result_warm_and_a_long_call_evicts_it() -> None:
    """24 MB each way: alone it is replayed from L2; behind a kernel that streams 512 MB it is not."""
    small = copy_block(6 << 20, F16, 1024, 4)
    alone = estimate(workload(small), H100).steps[0].gpu_us
    evicted = estimate(workload(small, LARGE), H100).steps[0].gpu_us
    assert evicted > 1.3 * alone


def test_a_storage_used_twice_in_a_row_stays_warm() -> None:
    small = copy_block(6 << 20, F16, 1024, 4)
    steps = estimate(workload(small, small, LARGE), H100).steps
    assert steps[1].gpu_us < steps[0].gpu_us
