from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import libcst as cst

from kernlint.interpret.reading.launching import may_launch
from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding, doubted
from kernlint.rules.proofs.compiled import run_otherwise
from kernlint.rules.proofs.jit_functions import jit_functions
from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.testing import CLOCKS
from kernlint.syntax.tree import Module

#: The last parts of calls after which the device has finished.
_SYNCS = frozenset("synchronize item cpu tolist numpy do_bench do_bench_cudagraph elapsed_time".split())


class UnsynchronisedTiming(Rule):
    code = "KL785"
    name = "unsynchronised-timing"
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
            runner = _interpreter(context, gap.launch)
            yield self.finding(
                f"`{gap.function}` reads the clock while the launch at line {launch.line} may still run",
                clock,
                gap.function,
                (Evidence("nothing waits for the device after the launch", launch),),
                doubts=doubted(gap.may_be_meant, "the time of issuing may be what is asked for")
                + doubted(runner, f"`{runner}` may hand the launch to an interpreter, which returns when it is done"),
                kernel="",
            )


def _interpreter(context: Context, launch: cst.CSTNode) -> str:
    """What may hand ``launch`` to an interpreter: a decorator of its kernel, or, where it does not name one, of any in the module."""
    names = {kernel.name for kernel in jit_functions(context.program.kernel)}
    called = launch.func.value if isinstance(launch, cst.Call) and isinstance(launch.func, cst.Subscript) else None
    kernels = names & {dotted_name(called) if called is not None else None} or names
    return next(filter(None, (run_otherwise(context, kernel) for kernel in sorted(kernels))), "")


@dataclass(frozen=True)
class _Gap:
    """A ``launch`` in ``function`` that no wait stands between and the reading of ``clock``."""

    function: str
    launch: cst.CSTNode
    clock: cst.CSTNode
    #: Whether the time of issuing may be what is asked for: the clock is read only if somebody wants a log, or other readings
    #: stand around work of the host alone.
    may_be_meant: bool


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


#: Calls of a function as letters, in order: ``c`` reads a clock, ``l`` may launch, ``w`` waits for the device, ``h`` is another one.
#: A launch after which nothing waits ...
_RUNNING = re.compile("l[^w]*$")
#: ... and what takes the time to the end as well, after a reading that takes that of issuing.
_WHOLE_TIMED_TOO = re.compile("[^lw]*w[^l]*c")
#: Readings around work of the host alone.
_HOST_TIMED = re.compile("ch+c")


def _unsynchronised(
    function: cst.FunctionDef, module: Module, launching: frozenset[str], waiting: set[str]
) -> _Gap | None:
    calls = list(module.own(function.body, cst.Call))
    letters = "".join(_letter(call, module, launching, waiting) for call in calls)
    first = letters.find("c")
    for place in range(first + 1, len(letters) if first >= 0 else 0):
        running = _RUNNING.search(letters, first, place)
        if letters[place] != "c" or running is None or _WHOLE_TIMED_TOO.match(letters, place + 1):
            continue
        launch, clock = calls[letters.rindex("l", first, place)], calls[place]
        branches = (module.within(branch, cst.Call) for branch in module.own(function.body, cst.If))
        logged = any(clock in inside and launch not in inside for inside in branches)
        return _Gap(function.name.value, launch, clock, logged or _HOST_TIMED.search(letters) is not None)
    return None


def _letter(call: cst.Call, module: Module, launching: frozenset[str], waiting: set[str]) -> str:
    if origin_of(call.func, module.imports) in CLOCKS:
        return "c"
    if _last(call) in waiting:
        return "w"
    return "l" if isinstance(call.func, cst.Subscript) or dotted_name(call.func) in launching else "h"
