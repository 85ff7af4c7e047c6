"""Every form that performance data comes in, and what is not one of them."""

import gzip
import json
import time
from pathlib import Path

import pytest

from kernlint.errors import SourceError
from kernlint.perf.model import Performance
from kernlint.perf.read import MAX_BYTES, read_performance, read_performance_file

DATA = Path(__file__).parent / "data"
KERNEL = "int8_matmul_rowwise_dequant_kernel"


def sample(name: str) -> Performance:
    return read_performance((DATA / name).read_text(), name)


def kernel(performance: Performance, name: str = KERNEL):
    return next(k for k in performance.kernels if k.name == name)


# -- latencies --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "call", "reference"),
    [
        pytest.param("0.063 ms", 63.0, None, id="bare"),
        pytest.param("Triton: 63 us, PyTorch: 55 us", 63.0, 55.0, id="both"),
        pytest.param("| Triton | 63 us |\n| PyTorch | 0.055 ms |", 63.0, 55.0, id="Markdown table"),
        pytest.param("Latency: 63\u00b5s", 63.0, None, id="micro sign"),
        pytest.param("latency 63 \u03bcs", 63.0, None, id="Greek mu"),
        pytest.param("Current kernel runs in 1,063.5 us on H100 (M=128).", 1063.5, None, id="sentence, thousands"),
        pytest.param("M=128, 63 us", 63.0, None, id="size in front"),
        pytest.param("mean 63 us \u00b1 2 us, p99 80 us, std: 3 us", 63.0, None, id="spread left out"),
        pytest.param("Reference (torch.compile): 4e-5 s", None, 40.0, id="reference only"),
        pytest.param("63000 ns vs PyTorch 55 us", 63.0, 55.0, id="versus"),
        pytest.param("- Triton kernel: 0.063 ms\n- Speedup: 0.87x over 128 rows", 63.0, None, id="other numbers"),
    ],
)
def test_latencies(text, call, reference):
    performance = read_performance(text, "p")
    assert performance.call_us == pytest.approx(call)
    assert performance.reference_us == pytest.approx(reference)
    assert performance.kernels == ()


def test_latencies_by_kernel():
    performance = read_performance("row_max_kernel: 12.3 us\nexp_sum_kernel = 0.02 ms\n`gemm`: 5 us\nTotal: 40 us", "p")
    assert {k.name: k.time_us for k in performance.kernels} == pytest.approx(
        {"row_max_kernel": 12.3, "exp_sum_kernel": 20.0, "gemm": 5.0}
    )
    assert performance.call_us == 40.0


@pytest.mark.parametrize(
    "text",
    [
        "No performance data available. Analyze code structure only.",
        "N/A",
        "none",
        "There is no profiling data.",
        "Not measured",
    ],
)
def test_no_data_is_no_error(text):
    assert not read_performance(text, "p")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "empty", id="empty"),
        pytest.param("it is slow", "no performance data that kernlint reads", id="prose"),
        pytest.param("-3 us", "is no time", id="negative"),
        pytest.param("0 us", "is no time", id="zero"),
        pytest.param("nan us", "is no time", id="NaN"),
        pytest.param("inf ms", "is no time", id="infinite"),
        pytest.param("99999999999 s", "is no time", id="three thousand years"),
        pytest.param("63 us\n70 us", "several times for the call", id="two latencies"),
        pytest.param("my_kernel: 3 us, my_kernel: 4 us", "two times for my_kernel", id="one kernel twice"),
        pytest.param("  Section: GPU Speed Of Light Throughput\n  Duration  us  3", "--csv", id="ncu for people"),
    ],
)
def test_bad_latencies(text, message):
    with pytest.raises(SourceError, match=message) as error:
        read_performance(text, "p")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "text", ["1," * 1_000_000, "1" * 2_000_000, " " * 2_000_000 + "us", "-" * 2_000_000, "a_b " * 250_000]
)
def test_hostile_text_takes_linear_time(text):
    started = time.process_time()
    with pytest.raises(SourceError):
        read_performance(text, "p")
    assert time.process_time() - started < 5


# -- Nsight Compute ---------------------------------------------------------------------------------------------------


def test_nsight_details():
    performance = sample("ncu_details.csv")
    assert performance.source == "Nsight Compute CSV (details page)"
    (one,) = performance.kernels
    assert one.name == KERNEL and one.calls == 2
    assert one.time_us == pytest.approx(37.5)  # the mean of two launches
    # Memory Throughput stands there twice, once in Gbyte/s; DRAM is the mean of two launches.
    assert one.counters == pytest.approx(
        {"dram_pct": 4.0, "memory_pct": 14.52, "l1_pct": 31.07, "l2_pct": 9.8, "sm_pct": 15.21, "grid_size": 64,
         "registers": 168, "occupancy_pct": 6.24}
    )  # fmt: skip


def test_nsight_raw():
    performance = sample("ncu_raw.csv")
    assert performance.device == "NVIDIA H100 80GB HBM3"
    assert [k.name.split("<")[0] for k in performance.kernels] == [KERNEL, "void at::native::elementwise_kernel"]
    one = kernel(performance)
    assert one.time_us == pytest.approx(37.504) and one.calls == 1
    assert one.counters["tensor_pct"] == pytest.approx(72.8)  # the busiest of the tensor pipes
    assert one.counters["grid_size"] == 64


def test_nsight_metrics_alone_and_summaries():
    head = '"Kernel Name","Metric Name","Metric Unit","Metric Value"\n'
    assert (
        kernel(read_performance(head + f'"{KERNEL}","gpu__time_duration.sum","nsecond","37,504"', "p")).time_us
        == 37.504
    )
    head = '"Process ID","Kernel Name","Invocations","Section Name","Metric Name","Metric Unit","Minimum","Maximum","Average"\n'
    one = kernel(read_performance(head + f'"1","{KERNEL}","3","S","Duration","us","1","3","2"', "p"))
    assert (one.time_us, one.calls) == (2.0, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param('"ID","Kernel Name","Metric Name"\n"0","k","Duration"', "without the column 'Average'", id="no values"),
        pytest.param('"ID","Kernel Name","gpu__time_duration.sum"\n"","","ns"\n"0","k"', "has 2 of 3 columns", id="cut row"),
        pytest.param('"ID","Kernel Name","gpu__time_duration.sum"\n"","","ns"\n"0","k","-5"', "is no time", id="negative"),
        pytest.param('"ID","Kernel Name","gpu__time_duration.sum"\n"","","ns"\n"0","k","nan"', "is no time", id="NaN"),
        pytest.param('"ID","Kernel Name","gpu__time_duration.sum"\n"","","cycle"\n"0","k","5"', "is no time", id="cycles"),
        pytest.param('"ID","Kernel Name","smsp__x"\n"","",""\n"0","k","5"', "without a metric", id="nothing useful"),
        pytest.param('"ID","Kernel Name"\n"0","k', "broken CSV", id="open quote"),
    ],
)  # fmt: skip
def test_bad_nsight(text, message):
    with pytest.raises(SourceError, match=message):
        read_performance(text, "p")


# -- torch ------------------------------------------------------------------------------------------------------------


def test_torch_trace():
    performance = sample("trace.json")
    assert performance.device == "NVIDIA H100 80GB HBM3"
    assert len(performance.kernels) == 2  # neither the host's events nor the arrows
    one = kernel(performance)
    assert (one.time_us, one.calls) == (35.0, 2)
    assert one.counters == {"grid_size": 64.0}


def test_a_trace_may_be_a_bare_list():
    events = json.loads((DATA / "trace.json").read_text())["traceEvents"]
    assert kernel(read_performance(json.dumps(events), "p")).time_us == 35.0


def test_torch_table():
    performance = sample("key_averages.txt")
    names = [k.name for k in performance.kernels]
    assert names[0] == KERNEL and "aten::copy_" in names and "aten::contiguous" not in names
    assert kernel(performance).time_us == pytest.approx(35.1)
    assert kernel(performance).calls == 10


def test_bad_torch_tables():
    text = (DATA / "key_averages.txt").read_text()
    with pytest.raises(SourceError, match="without device times"):
        read_performance(text.replace("Self CUDA", "Self PAPI"), "p")
    with pytest.raises(SourceError, match="is no time"):
        read_performance(text.replace(" 351.000us", "-351.000us"), "p")
    with pytest.raises(SourceError, match="is no time"):
        read_performance(text.replace("351.000us", "    nanus"), "p")
    with pytest.raises(SourceError, match="rule of dashes"):
        read_performance(text.replace("-----", ""), "p")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param('{"traceEvents": [{"ph": "X"', "broken JSON", id="cut off"),
        pytest.param('{"traceEvents": []}', "without device kernels", id="no events"),
        pytest.param('{"traceEvents": [1, null, {"cat": 3}]}', "without device kernels", id="no objects"),
        pytest.param('{"traceEvents": [{"ph":"X","cat":"kernel","name":"k","dur":-1}]}', "is no time", id="negative"),
        pytest.param('{"traceEvents": [{"ph":"X","cat":"kernel","name":"k","dur":NaN}]}', "no number", id="NaN"),
        pytest.param('{"traceEvents": [{"ph":"X","cat":"kernel","name":"k","dur":"3"}]}', "no number", id="text"),
        pytest.param('{"a": 1}', "neither", id="other JSON"),
        pytest.param("[]", "neither", id="empty list"),
        pytest.param("[" * 100_000, "broken JSON", id="deep"),
        pytest.param('{"traceEvents": ' + "9" * 5000, "broken JSON", id="a very long number"),
        pytest.param('[{"frame": {"name": "r"}, "metrics": {}, "children": []}]', "without times", id="Proton, empty"),
        pytest.param('[{"frame": {"name": "r"}, "metrics": {"time (ns)": -4}}]', "is no time", id="Proton, negative"),
        pytest.param('[{"frame": {"name": "r"}, "metrics": {"time (ns)": NaN}}]', "no number", id="Proton, NaN"),
        pytest.param('[{"frame": {"name": "r"}, "metrics": 3, "children": [1, {"frame": 2}]}]', "without times", id="Proton, odd"),
    ],
)  # fmt: skip
def test_bad_json(text, message):
    with pytest.raises(SourceError, match=message):
        read_performance(text, "p")


def test_proton():
    performance = sample("proton.hatchet")
    assert performance.source == "Proton profile"
    one = kernel(performance)
    assert (one.time_us, one.calls) == (35.1, 10)
    assert len(performance.kernels) == 2


# -- files ------------------------------------------------------------------------------------------------------------


def test_files(tmp_path):
    packed = tmp_path / "t.json.gz"
    packed.write_bytes(gzip.compress((DATA / "trace.json").read_bytes()))
    data = read_performance_file(str(packed))
    assert kernel(read_performance(data.text, data.path)).time_us == 35.0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param(b"\xff\xfe\x00", "not text", id="binary"),
        pytest.param(b"\x1f\x8bjunk", "broken gzip", id="broken gzip"),
        pytest.param(gzip.compress(b" " * (MAX_BYTES + 1)), "larger than 64 MB", id="a small file that unpacks to a large one"),
    ],
)  # fmt: skip
def test_unreadable_files(tmp_path, content, message):
    path = tmp_path / "p"
    path.write_bytes(content)
    with pytest.raises(SourceError, match=message):
        read_performance_file(str(path))


def test_missing_files(tmp_path):
    for path in (tmp_path, tmp_path / "none", "a\0b"):
        with pytest.raises(SourceError):
            read_performance_file(str(path))
