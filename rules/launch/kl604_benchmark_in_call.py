from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from kernlint.interpret.torch.arguments import tensors_in
from kernlint.records import dataclass
from kernlint.rules.base import Rule, elementwise
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.launch.per_call import Routine, each_time, per_call, routines
from kernlint.rules.proofs.dataflow import storages
from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.testing import is_benchmark, is_reported
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import walk
from kernlint.workload import HostSync, Launch, Span, Tensor, Workload

#: Calls that time another piece of code.
_TIMERS = frozenset(
    {
        "triton.testing.do_bench",
        "triton.testing.do_bench_cudagraph",
        "torch.utils.benchmark.Timer",
        "timeit.timeit",
        "timeit.repeat",
    }
)
#: Where the time between two CUDA events is asked for, and what makes such events.
_ELAPSED = "elapsed_time"
_EVENTS = frozenset({"torch.cuda.Event", "torch.cuda.streams.Event", "torch.Event"})


#: What a call spends on it, in microseconds: a candidate and a wait for the device at the least, `do_bench` of several at the most.
_US = (50.0, 1e6)


class BenchmarkInCall(Rule):
    code = "KL604"
    name = "benchmark-in-call"
    severity = "error"
    summary = "every call times candidate configurations before it does its work"
    what_it_does = """
        Finds timing code (`do_bench`, CUDA events with `elapsed_time`) on the path that each call of the entry runs, where the
        call returns what a kernel computes: not behind a cache lookup, an `is None` test, `lru_cache` or in `__init__`.
        """
    why = """
        The call runs every candidate, once to compile and again to time it, and waits for the device in between. The work is
        done many times over, and the host never runs ahead of the device.
        """
    when_not = (
        "Benchmark and tuning functions, which return times or print them, and choose nothing by them. Timing code behind a cache "
        "that the shapes are the key of."
    )
    fix_safety = "Safe for results: the same kernel runs with one configuration."
    evidence = """
        Of correct LLM-written kernels with measured speed, those with a benchmark loop in `forward` always ran below 0.5x of
        PyTorch, 0.08x in the median (corpus study named in the project's design notes). Pattern row PERF-086.
        """

    bad = elementwise("double", "{} * 2.0")
    good = bad.replace(
        "@", '@triton.autotune([triton.Config({"BLOCK": b}) for b in (512, 1024, 2048)], key=["n"])\n        @'
    )
    launch = """n = x.numel()
                best, best_ms = 1024, float("inf")
                for block in (512, 1024, 2048):
                    start = torch.cuda.Event(enable_timing=True)
                    end = torch.cuda.Event(enable_timing=True)
                    start.record()
                    double[(triton.cdiv(n, block),)](x, y, n, BLOCK=block)
                    end.record()
                    torch.cuda.synchronize()
                    ms = start.elapsed_time(end)
                    if ms < best_ms:
                        best, best_ms = block, ms
                double[(triton.cdiv(n, best),)](x, y, n, BLOCK=best)"""
    good_launch = """n = x.numel()
                double[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, n)"""
    inputs = "torch.randn(1024, 1024)"
    example = "for config in CONFIGS:\n    ...\n    ms = start.elapsed_time(end)"
    use_instead = "@triton.autotune(CONFIGS, key=[...])\n@triton.jit\ndef kernel(...): ..."

    def check(self, context: Context) -> Iterable[Finding]:
        if not _may_time(context.program.kernel) or not _returns_work(context.workload):
            return
        for timing in _timings(context):
            span = context.program.kernel.span(timing.place)
            routine = timing.routine
            launch = context.workload.launches()[0]
            yield self.finding(
                f"`{routine.symbol}` times kernels with {timing.what} on every call",
                span,
                routine.symbol,
                (
                    Evidence(f"{timing.what} in `{routine.symbol}`, behind no cache", span),
                    Evidence(
                        f"`{context.workload.entry}` returns a tensor that `{launch.kernel.name}` is passed",
                        launch.span,
                    ),
                ),
                Change(
                    None,
                    f"`{routine.symbol}` compiles and times candidate configurations on every call and waits for the device "
                    "each time, before the launch whose result it returns.",
                    "Choose the configuration once: `@triton.autotune` at module level with the sizes as its key, or a table.",
                    f"Delete the timing code around line {span.line}, decorate the kernel with `@triton.autotune(configs, key=[...])` "
                    "at module level, and launch it once.",
                    priced=False,
                    saves_us=_US,
                ),
                kernel=launch.kernel.name,
            )


@dataclass(frozen=True)
class _Timing:
    place: cst.CSTNode
    what: str
    routine: Routine


def _may_time(module: Module) -> bool:
    """Whether anything in ``module`` measures time: most modules do not, and need no closer look."""
    return _ELAPSED in module.text or not _TIMERS.isdisjoint(module.calls)


def _timings(context: Context) -> Iterator[_Timing]:
    """The first timing call of each routine that every call runs."""
    module = context.program.kernel
    done = _executed(context.workload)
    launching = {r.name for r in routines(module) if any(module.span(r.node).contains(span) for span in done)}

    def enters(branch: cst.If) -> bool:
        # A condition on sizes whose branch was followed; one that a cache answers is no call's daily work.
        called = (dotted_name(node.func) or "" for node in module.within(branch.body, cst.Call))
        followed = any(module.span(branch).contains(span) for span in done)
        return not _asks_cache(branch.test) and (followed or any(name.split(".")[-1] in launching for name in called))

    reached, imports = per_call(module, context.workload.entry, enters), module.imports
    makes_events = any(
        origin_of(node.func, imports) in _EVENTS
        for routine in reached
        for node in module.within(routine.node, cst.Call)
    )
    for routine in reached:
        if is_benchmark(routine.node, module):
            continue  # a benchmark, whatever it returns
        for node in each_time(routine, enters):
            if type(node) is not cst.Call:
                continue
            if origin_of(node.func, imports) in _TIMERS:
                what = f"`{(origin_of(node.func, imports) or '').rsplit('.', 1)[-1]}`"
            elif makes_events and isinstance(node.func, cst.Attribute) and node.func.attr.value == _ELAPSED:
                what = "CUDA events"
            else:
                continue
            # A call that prints or returns the time, and chooses nothing by it, is a measurement.
            if routine.symbol != context.workload.entry or not is_reported(node, routine.node, module):
                yield _Timing(node, what, routine)
            break


def _returns_work(workload: Workload) -> bool:
    """Whether the call returns a tensor that a launch is passed: its work, where a benchmark would return times, whatever it
    saves for a backward pass."""
    passed = [
        value for launch in workload.launches() for value in launch.arguments.values() if isinstance(value, Tensor)
    ]
    return bool(storages(passed) & storages([*tensors_in([workload.result])]))


def _executed(workload: Workload) -> list[Span]:
    """Where the code stands that the call was followed to: its launches, and what waits for them."""
    return [step.span for step in workload.all_steps if isinstance(step, (Launch, HostSync))]


def _asks_cache(test: cst.BaseExpression) -> bool:
    """Whether a condition is a lookup: ``key not in table``, ``best is None``, ``not self.tuned``."""
    for node in walk(test):
        if isinstance(node, (cst.In, cst.NotIn, cst.Is, cst.IsNot, cst.Not)):
            return True
    return isinstance(test, (cst.Name, cst.Attribute, cst.Call))
