"""KL785."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from kernlint.interpret.reading.launching import may_launch
from kernlint.records import dataclass, replace
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.tree import Module

_CLOCKS = frozenset(
    f"time.{name}{unit}" for name in ("time", "perf_counter", "monotonic", "process_time") for unit in ("", "_ns")
)
#: The last parts of calls after which the device has finished.
_SYNCS = frozenset("synchronize item cpu tolist numpy do_bench do_bench_cudagraph elapsed_time".split())


class UnsynchronisedTiming(Rule):
    code = "KL785"
    name = "unsynchronised-timing"
    category = "correctness"
    severity = "warning"
    lexical = True
    summary = "a host clock is read after a launch without waiting for the device"
    what_it_does = """
        Finds two readings of a host clock (`time.time`, `time.perf_counter` ...) in one function, with a kernel launch between them,
        direct or through a function of the module, and no wait for the device after the last launch. A reading that a wait and
        a third one follow takes the time of issuing beside the whole, which is not reported; where others stand around work of the
        host alone, or a setting turns the reading on, it is a remark.
        """
    why = """
        A launch returns at once. What is measured is how fast the host issues launches, and on the first call how long Triton compiles;
        the kernel's own time is not in it.
        """
    when_not = "Measuring the launch overhead itself: suppress it, with the reason."
    fix_safety = """
        No automatic fix: `triton.testing.do_bench`, CUDA events and `torch.cuda.synchronize()` each measure something
        else.
        """
    evidence = "How CUDA streams work; nothing is measured. Pattern row BUG-079."

    bad = """
        import time
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def fill(x, B: tl.constexpr):
            tl.store(x + tl.arange(0, B), 1.0)

        def bench(x):
            begin = time.perf_counter()
            for _ in range(100):
                fill[(1,)](x, B=1024)
            return (time.perf_counter() - begin) / 100
        """
    good = bad.replace("    return (time", "    torch.cuda.synchronize()\n            return (time")
    example = "fill[grid](x, B=1024)\nseconds = time.perf_counter() - begin"
    use_instead = "milliseconds = triton.testing.do_bench(lambda: fill[grid](x, B=1024))"

    def check(self, context: Context) -> Iterable[Finding]:
        module = context.program.kernel
        for gap in _gaps(module):
            launch, clock = module.span(gap.launch), module.span(gap.clock)
            yield Finding(
                self,
                "info" if gap.aside else self.severity,
                f"`{gap.function}` reads the clock while the launch at line {launch.line} may still run",
                clock,
                gap.function,
                "",
                (Evidence("nothing waits for the device after the launch", launch),),
            )


@dataclass(frozen=True)
class _Gap:
    """A ``launch`` in ``function`` that no wait stands between and the reading of ``clock``."""

    function: str
    launch: cst.CSTNode
    clock: cst.CSTNode
    #: The clock is read only if somebody wants a log, or others of its readings stand around work of the host alone: the time of
    #: issuing may be what is meant.
    aside: bool = False


def _gaps(module: Module) -> Iterator[_Gap]:
    if not any(origin.partition(".")[0] == "time" for origin in module.imports.values()):
        return  # nothing reads a clock
    launching, waiting = may_launch(module), _waiting(module)
    for function in module.of(cst.FunctionDef):
        gap = _unsynchronised(function, module, launching, waiting)
        if gap is not None:
            yield gap


def _waiting(module: Module) -> set[str]:
    """The last parts of calls that wait for the device, those of functions of the module that make such a call included."""
    called = [
        (function.name.value, set(map(_last, module.own(function.body, cst.Call))))
        for function in module.of(cst.FunctionDef)
    ]
    found = set(_SYNCS)
    while more := {name for name, names in called if name not in found and names & found}:
        found |= more
    return found


def _last(call: cst.Call) -> str:
    """The last part of what is called: ``item`` of ``x.sum().item()``."""
    function = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    return function.value if isinstance(function, cst.Name) else ""


def _unsynchronised(
    function: cst.FunctionDef, module: Module, launching: frozenset[str], waiting: set[str]
) -> _Gap | None:
    readings, waited, phases = 0, False, False
    pending: cst.CSTNode | None = None
    gap: _Gap | None = None  # of a reading after which nothing decisive has come
    between: set[str] = set()  # what was called since the last reading
    for call in module.own(function.body, cst.Call):
        if origin_of(call.func, module.imports) in _CLOCKS:
            if gap is not None and waited:
                gap = None  # the time to the end is taken too, beside that of issuing
            elif readings and pending is not None and gap is None:
                gap = _Gap(function.name.value, pending, call)
            phases, readings, between = phases or between == {"host"}, readings + 1, set()
        elif _last(call) in waiting:
            pending, waited = None, gap is not None
            between.add("wait")
        elif readings and (isinstance(call.func, cst.Subscript) or dotted_name(call.func) in launching):
            if gap is not None:
                break
            pending = call
            between.add("launch")
        elif readings:
            between.add("host")
    if gap is None:
        return None
    inside = (module.within(branch, cst.Call) for branch in module.own(function.body, cst.If))
    logged = any(gap.clock in calls and gap.launch not in calls for calls in inside)
    return replace(gap, aside=phases or logged)
