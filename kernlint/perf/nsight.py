"""Nsight Compute as CSV: ``ncu --csv --page raw`` (a column per metric, units in the second row) and ``--page details``
(a row per metric; what ``--metrics`` prints by itself looks the same, and with ``--print-summary per-kernel`` there is an
average over the invocations)."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator

from kernlint.errors import SourceError
from kernlint.perf.model import Gathered, Performance, checked_us, longest_first
from kernlint.perf.units import microseconds, number

_KERNEL = "Kernel Name"
_MOST_ROWS = 200_000
_DURATIONS = frozenset({"gpu__time_duration.sum", "gpu__time_duration.avg", "duration"})

#: Counter by metric name in lower case: the raw name, then that of the details page (older releases last).
_COUNTERS = {
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "dram_pct",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed": "dram_pct",
    "dram throughput": "dram_pct",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "memory_pct",
    "memory throughput": "memory_pct",
    "sol memory": "memory_pct",
    "memory [%]": "memory_pct",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": "l2_pct",
    "lts__t_sectors.avg.pct_of_peak_sustained_elapsed": "l2_pct",
    "l2 cache throughput": "l2_pct",
    "l1tex__throughput.avg.pct_of_peak_sustained_elapsed": "l1_pct",
    "l1tex__throughput.avg.pct_of_peak_sustained_active": "l1_pct",
    "l1/tex cache throughput": "l1_pct",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "sm_pct",
    "compute (sm) throughput": "sm_pct",
    "sol sm": "sm_pct",
    "sm [%]": "sm_pct",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "occupancy_pct",
    "achieved occupancy": "occupancy_pct",
    "launch__grid_size": "grid_size",
    "grid size": "grid_size",
    "launch__registers_per_thread": "registers",
    "registers per thread": "registers",
}
#: Metrics of the same name in two sections of the details page: only that in percent is the counter.
_PERCENT = frozenset({"dram_pct", "memory_pct", "l2_pct", "l1_pct", "sm_pct", "occupancy_pct", "tensor_pct"})


def is_nsight(text: str) -> bool:
    """Whether a line of ``text`` is the head of such a table."""
    return any(_KERNEL in line and "," in line for line in text.splitlines())


def read_nsight(text: str, name: str) -> Performance:
    """The kernels in ``text``, means over their launches.

    Raises ``SourceError`` where a column is missing, a row is cut off, or a value is no time.
    """
    head, rows = _table(text, name)
    device = ""
    gathered: dict[str, Gathered] = {}
    launches: dict[str, set[str]] = {}
    page = "raw" if "Metric Name" not in head else "details"
    measure = _raw(head, rows, name) if page == "raw" else _details(head, rows, name)
    for kernel, launch, runs, metric, unit, text_value in measure:
        if metric == "device__attribute_display_name":
            device = text_value
            continue
        one = gathered.setdefault(kernel, Gathered())
        launches.setdefault(kernel, set()).update(f"{launch}/{run}" for run in range(runs))
        _add(one, metric.lower(), unit, text_value, f"{name}: {kernel}")
    kernels = [one.measurement(kernel, len(launches[kernel])) for kernel, one in gathered.items()]
    useful = [kernel for kernel in kernels if kernel.time_us is not None or kernel.counters]
    if not useful:
        raise SourceError(
            f"{name}: Nsight Compute output without a metric that kernlint reads (gpu__time_duration.sum ...)"
        )
    return Performance(longest_first(useful), None, f"Nsight Compute CSV ({page} page)", device)


def _table(text: str, name: str) -> tuple[list[str], list[list[str]]]:
    """The head of the table and its rows; what the profiled program printed before it is skipped."""
    lines = text.splitlines()
    start = next(index for index, line in enumerate(lines) if _KERNEL in line and "," in line)
    table = "\n".join(line for line in lines[start:] if not line.startswith("=="))
    try:
        rows = []
        for row in csv.reader(io.StringIO(table), strict=True):
            rows.append(row)
            if len(rows) > _MOST_ROWS:
                raise SourceError(f"{name}: more than {_MOST_ROWS} rows")
    except csv.Error as error:
        raise SourceError(f"{name}: broken CSV: {error}") from None
    return [cell.strip() for cell in rows[0]], [row for row in rows[1:] if row]


_Measure = tuple[str, str, int, str, str, str]


def _raw(head: list[str], rows: list[list[str]], name: str) -> Iterator[_Measure]:
    """(kernel, launch, runs, metric, unit, value) of a table with a column per metric."""
    kernel_at = _column(head, _KERNEL, name)
    units = [""] * len(head)
    for count, row in enumerate(rows):
        if len(row) < len(head):
            raise SourceError(f"{name}: row {count + 2} of the table has {len(row)} of {len(head)} columns")
        if not row[kernel_at].strip():
            units = row
            continue
        for column, metric in enumerate(head):
            if "__" in metric and row[column].strip():
                yield row[kernel_at], str(count), 1, metric, units[column], row[column]


def _details(head: list[str], rows: list[list[str]], name: str) -> Iterator[_Measure]:
    """The same of a table with a row per metric."""
    kernel_at, metric_at = _column(head, _KERNEL, name), _column(head, "Metric Name", name)
    value_name = "Metric Value" if "Metric Value" in head else "Average"
    value_at = _column(head, value_name, name)
    unit_at = head.index("Metric Unit") if "Metric Unit" in head else None
    launch_at = head.index("ID") if "ID" in head else None
    runs_at = head.index("Invocations") if "Invocations" in head else None
    last = max(kernel_at, metric_at, value_at)
    for count, row in enumerate(rows):
        if len(row) <= last:
            raise SourceError(f"{name}: row {count + 2} of the table has {len(row)} of {len(head)} columns")
        if row[metric_at].strip() and row[value_at].strip():
            launch = row[launch_at] if launch_at is not None else ""
            runs = number(row[runs_at]) if runs_at is not None and runs_at < len(row) else 1
            times = int(runs) if runs is not None and 1 <= runs <= 1e6 else 1
            unit = row[unit_at] if unit_at is not None else ""
            yield row[kernel_at], launch, times, row[metric_at].strip(), unit, row[value_at]


def _column(head: list[str], wanted: str, name: str) -> int:
    if wanted not in head:
        raise SourceError(f"{name}: Nsight Compute output without the column {wanted!r}")
    return head.index(wanted)


def _add(one: Gathered, metric: str, unit: str, text: str, what: str) -> None:
    if metric in _DURATIONS:
        value, factor = number(text), microseconds(unit or "ns")
        if value is None or factor is None:
            raise SourceError(f"{what}: {text!r} {unit} is no time")
        one.total_us += checked_us(value * factor, what)
        one.timed += 1
        return
    counter = _COUNTERS.get(metric)
    if counter is None and "tensor" in metric and "pct_of_peak" in metric:
        counter = "tensor_pct"
    value = number(text)
    if counter is None or value is None or not math.isfinite(value) or value < 0:
        return
    if counter in _PERCENT and unit and unit.strip() != "%":
        return
    if counter == "tensor_pct" and one.counters.get(counter):
        # Several tensor pipes are reported side by side: the busiest one tells.
        one.counters[counter] = [max(value, one.counters[counter][0])]
        return
    one.add_counter(counter, value)
