"""What measurements do to a verdict."""

from functools import lru_cache
from pathlib import Path

import jsonschema
import pytest

from kernlint.analysis import Analysis, analysis
from kernlint.errors import SourceError, UsageError
from kernlint.request import Request
from kernlint.schema import load
from kernlint.verdict.measured import counted_bound, names_kernel

ROOT = Path(__file__).parents[2]
SEED = (ROOT / "fixtures/seed/task.md").read_text()
DATA = ROOT / "tests/perf/data"
KERNEL = "int8_matmul_rowwise_dequant_kernel"


@lru_cache(maxsize=32)
def ask(performance: str | None = None, scope: str = "gpu") -> Analysis:
    answer = analysis(Request(SEED, path="task.md", performance=performance, scope=scope))
    jsonschema.Draft202012Validator(load("verdict")).validate(answer.verdict.to_json())
    return answer


def gpu(performance: str | None = None):
    return ask(performance).verdict.details.estimate.gpu


def times(estimate) -> dict[str, float]:
    return {getattr(getattr(row.step, "kernel", row.step), "name", ""): row.gpu_us for row in estimate.steps}


def test_no_data_changes_nothing():
    plain = ask()
    assert plain.verdict.details.measured is None
    assert ask("No performance data available.").verdict == plain.verdict
    # The seed's own section says so, too: without the section the answer is the same.
    without = SEED.replace("No performance data available. Analyze code structure only.", "")
    assert analysis(Request(without, path="task.md")).verdict == plain.verdict


def test_a_measured_kernel_replaces_its_prediction_and_keeps_the_ratio():
    plain, measured = ask(), ask(f"{KERNEL}: 50 us")
    before, after = times(plain.judgement.before), times(plain.judgement.chosen.after)
    assert times(measured.judgement.before)[KERNEL] == pytest.approx(50.0)
    # Another step stays as predicted, the changed kernel keeps its predicted gain.
    assert times(measured.judgement.before)["contiguous"] == pytest.approx(before["contiguous"])
    expected = 50.0 * after[KERNEL] / before[KERNEL]
    assert times(measured.judgement.chosen.after)[KERNEL] == pytest.approx(expected)
    estimate = measured.verdict.details.estimate.gpu
    assert estimate.before_us == pytest.approx(50.0 + before["contiguous"])
    assert estimate.speedup == pytest.approx(estimate.before_us / estimate.after_us)
    assert "going by measured times" in measured.verdict.reason


def test_a_kept_step_takes_its_measured_time_before_and_after():
    answer = ask("contiguous: 200 us")
    kept = [c.after for c in answer.judgement.candidates if c.after is not None and "contiguous" in times(c.after)]
    assert kept, "no change keeps the copy"
    assert all(times(after)["contiguous"] == pytest.approx(200.0) for after in kept)


def test_a_measured_call_settles_the_total():
    assert gpu("0.1 ms").before_us == pytest.approx(100.0)
    assert gpu("0.1 ms").speedup == pytest.approx(gpu().speedup)  # one factor for all
    both = ask(f"Triton: 100 us, {KERNEL}: 50 us")
    assert times(both.judgement.before) == pytest.approx({KERNEL: 50.0, "contiguous": 50.0, "empty": 0.0})


def test_a_profile_that_is_longer_than_the_call_wins():
    assert gpu(f"Triton: 10 us, {KERNEL}: 50 us").before_us > 50


def test_in_scope_call_the_latency_is_wall_time():
    estimate = ask("0.1 ms", "call").verdict.details.estimate
    assert estimate.call.before_us == pytest.approx(100.0)
    assert estimate.gpu.before_us == pytest.approx(gpu().before_us)


def test_a_measured_reference_replaces_the_predicted_one():
    assert gpu("Triton: 60 us, PyTorch: 1 us").reference_us == pytest.approx(1.0)
    assert "less than even the changed kernel" in ask("Triton: 60 us, PyTorch: 1 us").verdict.bottleneck


def test_a_contradiction_is_said():
    predicted = times(ask().judgement.before)[KERNEL]
    assert f"{KERNEL}` was measured at" in ask(f"{KERNEL}: {predicted * 2.1:.2f} us").verdict.reason
    assert "times less than the model's" in ask(f"{KERNEL}: {predicted / 2.1:.2f} us").verdict.reason
    assert "was measured at" not in ask(f"{KERNEL}: {predicted * 1.9:.2f} us").verdict.reason
    assert "The call was measured at 900.0 us" in ask("900 us").verdict.reason


def test_counters_settle_the_bottleneck():
    answer = ask((DATA / "ncu_raw.csv").read_text())
    assert "the tensor cores are what it waits for" in answer.verdict.bottleneck
    assert "say tensor where the model says latency" in answer.verdict.reason
    assert "contiguous" not in answer.verdict.reason
    # ATen's copy kernel is the one copy of the call.
    assert times(answer.judgement.before)["contiguous"] == pytest.approx(30.912)
    agreed = ask((DATA / "ncu_details.csv").read_text())
    assert "it waits on latency" in agreed.verdict.bottleneck
    assert "counters" not in agreed.verdict.reason


def test_details_say_what_was_measured():
    report = ask((DATA / "ncu_raw.csv").read_text()).verdict.details.to_json()["measured"]
    assert report["source"] == "Nsight Compute CSV (raw page)"
    assert report["device"] == "NVIDIA H100 80GB HBM3"
    first, second = report["kernels"]
    assert (first["step"], first["time_us"], first["calls"]) == (KERNEL, 37.5, 1)
    assert first["predicted_us"] == pytest.approx(times(ask().judgement.before)[KERNEL], abs=0.01)
    assert second["step"] == "contiguous"


def test_data_that_names_no_step_is_said():
    reason = ask("other_kernel: 5 us").verdict.reason
    assert "names no step of this call (it has `other_kernel`)" in reason
    assert "going by measured times" not in reason
    assert gpu("other_kernel: 5 us").before_us == pytest.approx(gpu().before_us)


def test_the_section_of_a_task_file_counts():
    told = SEED.replace("No performance data available. Analyze code structure only.", "0.1 ms")
    assert analysis(Request(told, path="task.md")).verdict.details.estimate.gpu.before_us == pytest.approx(100.0)
    with pytest.raises(SourceError, match=r"task\.md: section Performance: no performance data"):
        analysis(Request(SEED.replace("No performance data available.", "It got 3 stars."), path="task.md"))


def test_data_of_another_device_is_refused():
    text = (DATA / "ncu_raw.csv").read_text()
    with pytest.raises(UsageError, match="ask about it with --device a100-80gb-sxm"):
        analysis(
            Request(SEED, path="task.md", performance=text.replace("NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB"))
        )
    unknown = analysis(Request(SEED, path="task.md", performance=text.replace("NVIDIA H100 80GB HBM3", "NVIDIA Z1")))
    assert unknown.verdict.details.measured.device == "NVIDIA Z1"


@pytest.mark.parametrize(
    ("measured", "same"),
    [
        ("gemm", True),
        ("gemm_0d1d2de3", True),
        ("gemm.kd", True),
        ("void gemm<float, 4>(float*, int)", True),
        ("gemm(float*, int)", True),
        ("aten::gemm", True),
        ("gemm_bias", False),
        ("my_gemm", False),
        ("gemm_v2_0d1d", False),
        ("", False),
    ],
)
def test_names(measured, same):
    assert names_kernel(measured, "gemm") == same


@pytest.mark.parametrize(
    ("counters", "time_us", "bound"),
    [
        pytest.param({"dram_pct": 85, "sm_pct": 30}, 50, "memory", id="memory"),
        pytest.param({"dram_pct": 40, "l2_pct": 80, "sm_pct": 30}, 50, "l2", id="caches"),
        pytest.param(
            {"dram_pct": 40, "memory_pct": 80, "sm_pct": 30}, 50, "l2", id="caches, as the speed of light says"
        ),
        pytest.param({"memory_pct": 80, "sm_pct": 30}, 50, "memory", id="caches or memory"),
        pytest.param({"dram_pct": 40, "tensor_pct": 75, "sm_pct": 76}, 50, "tensor", id="tensor cores"),
        pytest.param({"dram_pct": 40, "tensor_pct": 5, "sm_pct": 76}, 50, "issue", id="other pipes"),
        pytest.param({"dram_pct": 10, "sm_pct": 12}, 50, "latency", id="nothing is busy"),
        pytest.param({"dram_pct": 1, "sm_pct": 2}, 2.0, "launch", id="over at once"),
        pytest.param({"dram_pct": 10}, 50, None, id="half of the counters"),
        pytest.param({"occupancy_pct": 10}, 50, None, id="none that tells"),
        pytest.param({}, 50, None, id="none"),
    ],
)
def test_counted_bounds(counters, time_us, bound):
    assert counted_bound(counters, time_us) == bound
