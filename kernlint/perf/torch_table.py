"""The table that ``prof.key_averages().table()`` of ``torch.profiler`` prints."""

from __future__ import annotations

import re

from kernlint.errors import SourceError
from kernlint.perf.model import KernelMeasurement, Performance, checked_us, longest_first
from kernlint.perf.units import microseconds, number

_CALLS = "# of Calls"
_SELF_DEVICE = re.compile(r"^Self (?:CUDA|Device|XPU|HIP|GPU|PrivateUse1)$", re.IGNORECASE)
_RULE = re.compile(r"^\s*-{3,}(?:\s+-{3,})+\s*$")
_TIME = re.compile(r"^(?P<value>[-+\w.,]+?)\s*(?P<unit>[num\u00b5\u03bc]?s)$")


def is_table(text: str) -> bool:
    """Whether ``text`` holds such a table."""
    return any(_CALLS in line and "Name" in line for line in text.splitlines())


def read_table(text: str, name: str) -> Performance:
    """The rows that took device time themselves: kernels and the torch calls that launched them.

    The rule of dashes says how wide the name is; all behind it is words, because torch lets wide cells push their
    neighbours aside. Raises ``SourceError`` for a table without a device column, or a cell that is no time.
    """
    lines = text.splitlines()
    at = next(index for index, line in enumerate(lines) if _CALLS in line and "Name" in line)
    rule = next((line for line in (*lines[at + 1 : at + 2], *lines[max(0, at - 1) : at]) if _RULE.match(line)), None)
    if rule is None:
        raise SourceError(f"{name}: a profiler table without its rule of dashes")
    first = rule.index("-")
    name_end = first + len(rule[first:].split()[0])
    head = re.split(r"\s{2,}", lines[at].strip())
    time_at = next((column for column, title in enumerate(head) if _SELF_DEVICE.match(title)), None)
    if time_at is None or _CALLS not in head:
        raise SourceError(f"{name}: a profiler table without device times: profile with ProfilerActivity.CUDA")
    calls_at = head.index(_CALLS)
    kernels = []
    for line in lines[at + 1 :]:
        kernel, cells = line[:name_end].strip(), line[name_end:].split()
        if _RULE.match(line) or not kernel or len(cells) < calls_at:
            continue
        total = _microseconds(cells[time_at - 1], f"{name}: {kernel}")
        calls = number(cells[calls_at - 1])
        if calls is None or not 1 <= calls < 1e9:
            raise SourceError(f"{name}: {kernel}: {cells[calls_at - 1]!r} is no number of calls")
        if total:
            kernels.append(KernelMeasurement(kernel, checked_us(total / calls, f"{name}: {kernel}"), int(calls)))
    if not kernels:
        raise SourceError(f"{name}: a profiler table in which nothing took device time")
    return Performance(longest_first(kernels), None, "torch profiler table")


def _microseconds(cell: str, what: str) -> float:
    found = _TIME.match(cell)
    value = number(found["value"]) if found else None
    unit = microseconds(found["unit"]) if found else None
    if value is None or unit is None or not value >= 0:
        raise SourceError(f"{what}: {cell!r} is no time")
    return value * unit
