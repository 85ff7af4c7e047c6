"""Latencies as people write them: ``0.063 ms``, ``Triton: 63 us, PyTorch: 55 us``, ``my_kernel: 12.3 us``."""

from __future__ import annotations

import re

from kernlint.errors import SourceError
from kernlint.perf.model import KernelMeasurement, Performance, checked_us, longest_first
from kernlint.perf.units import microseconds, number

#: Every part has a longest length, so that no line takes more than linear time.
_TIME = re.compile(
    r"(?<![\w.,])(?P<value>[-\u2212]?(?:\d[\d,]{0,30}(?:\.\d{0,30})?(?:e[-+]?\d{1,4})?|\.\d{1,30}|nan|inf(?:inity)?))[ \t]{0,8}"
    r"(?P<unit>(?:nano|micro|milli)?seconds?|[num\u00b5\u03bc]?s(?:ecs?|econds?)?|secs?)\b",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(r"[,;|]|\s-+\s|\bvs\.?\b|\band\b|\bversus\b", re.IGNORECASE)
_SETTING = re.compile(r"^\W*\w+\s*=\s*[\d.]+\W*$")
_WORD = re.compile(r"[A-Za-z_][\w.]*")
_KERNEL = re.compile(r"^[A-Za-z_]\w*$")

_REFERENCE = frozenset({"pytorch", "torch", "reference", "eager", "baseline", "cublas", "cudnn", "compile"})
#: What a latency of the whole call may be called by.
_CALL = frozenset(
    """triton kernel latency time runtime duration total call forward model modelnew current custom our ours mean median
    average avg measured execution gpu device wall end to per the is takes took of about around approximately p50 kernels
    implementation generated code performance elapsed cuda elapsed_time latency_ms whole""".split()
)
#: What says that a number is no latency of its own.
_SPREAD = frozenset(
    "std stdev stddev deviation min max p90 p95 p99 p1 p5 p10 minimum maximum host cpu compilation".split()
)


def read_latencies(text: str, name: str) -> Performance:
    """The latencies in ``text``; nothing where it holds none.

    A number with a unit of time belongs to the words before it: PyTorch or reference, a kernel's name, or else the whole
    call. Raises ``SourceError`` for a time that is none (negative, zero, NaN) and for two times of one thing.
    """
    call: list[float] = []
    reference: list[float] = []
    kernels: dict[str, float] = {}
    for line in text.splitlines():
        end = 0
        for found in _TIME.finditer(line):
            label, end = line[end : found.start()], found.end()
            if label.rstrip().endswith(("\u00b1", "+/-", "+-")):
                continue
            piece = _label(label)
            words = _WORD.findall(piece)
            us = _microseconds(found, name)
            kernel = _kernel(piece, words)
            lower = {word.lower() for word in words}
            if lower & _SPREAD:
                continue
            if lower & _REFERENCE:
                reference.append(us)
            elif kernel is not None:
                if kernels.setdefault(kernel, us) != us:
                    raise SourceError(f"{name}: two times for {kernel}: {kernels[kernel]:g} and {us:g} us")
            elif not words or lower & _CALL:
                call.append(us)
    return Performance(
        longest_first(KernelMeasurement(kernel, us) for kernel, us in kernels.items()),
        _one(call, "the call", name),
        "latencies",
        "",
        _one(reference, "PyTorch", name),
    )


def _microseconds(found: re.Match[str], name: str) -> float:
    value, unit = number(found["value"].replace("\u2212", "-")), microseconds(found["unit"])
    assert value is not None and unit is not None
    return checked_us(value * unit, name)


def _label(text: str) -> str:
    """What a number belongs to: the words behind the last separator, settings such as ``M=128`` left out."""
    pieces = [piece for piece in _SEPARATOR.split(text) if _WORD.search(piece) and not _SETTING.match(piece)]
    return pieces[-1] if pieces else ""


def _kernel(label: str, words: list[str]) -> str | None:
    """The kernel that ``label`` names: its one word with an underscore, or one other word alone before a colon."""
    rest = [word.strip(".") for word in words if word.lower() not in _CALL]
    named = [word for word in rest if "_" in word]
    if not named and len(words) == 1 and (label.rstrip().endswith((":", "=", "`"))):
        named = rest
    return named[0] if len(named) == 1 and _KERNEL.match(named[0]) else None


def _one(times: list[float], what: str, name: str) -> float | None:
    if len(set(times)) > 1:
        raise SourceError(f"{name}: several times for {what}: {', '.join(f'{us:g}' for us in times[:4])} us")
    return times[0] if times else None
