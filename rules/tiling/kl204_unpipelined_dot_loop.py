from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernlint.cost.comparing import speedup
from kernlint.records import replace
from kernlint.rules.base import MATMUL, Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.counterparts import launches_at
from kernlint.rules.proofs.dot_tiles import fits, setting
from kernlint.rules.proofs.shared_memory import overflowing
from kernlint.rules.tiling.tuning_lists import MoreConfigurations, all_followed, alone, configured, written
from kernlint.workload import Dot, Launch, Loop, Span
from kernlint.workload.steps import map_launch

#: Launch options that only AMD's back end knows.
_OF_AMD = frozenset({"waves_per_eu", "matrix_instr_nonkdim", "kpack"})
#: Stages to try with the tiles of a list.
_STAGES = (2, 3, 4)
#: Configurations to add, and how much slower than the best of them another may be.
_ADDED = 3
_NEAR = 1.1


class UnpipelinedDotLoop(Rule):
    code = "KL204"
    name = "unpipelined-dot-loop"
    silent_if_open = True
    summary = "num_stages=1, or nothing else for the autotuner, switches software pipelining of a dot loop off"
    what_it_does = """
        Finds launches with `num_stages=1` of kernels whose `tl.dot` sits in a `range` loop and whose operands are
        loaded in it, and autotuned ones whose configurations, all of them, say `num_stages=1`.
        """
    why = """
        With one stage each K-step waits for its own loads: memory latency and tensor work add up instead of
        overlapping. The compiled code has no `cp.async` at all.
        """
    when_not = """
        Autotuned launches that have the choice, or whose configurations a pruning function narrows. Loops of one iteration.
        Kernels whose shared memory allows one stage only, or tuned for AMD.
        """
    fix_safety = """
        Safe: the same arithmetic in the same order; more shared memory. A tuner gets up to three of its own tiles with more
        stages beside those it has, and may then take another tile than before, which adds up in another order.
        """
    evidence = """
        H100, fp16 micro-benchmarks of one to five stages (`calibration/facts`). Pattern row PERF-020; compiled code
        without cp.async: `triton.compile` for sm_90.
        """

    bad = MATMUL
    launch = "matmul[(8, 32)](a, b, c, 4096, 4096, BM=128, BN=128, BK=64, num_warps=8, num_stages=1)"
    good_launch = "matmul[(8, 32)](a, b, c, 4096, 4096, BM=128, BN=128, BK=64, num_warps=8, num_stages=3)"
    takes, makes = "a, b", "c = torch.empty(1024, 4096, device=a.device, dtype=torch.float16)"
    inputs = "torch.randn(1024, 4096, dtype=torch.float16), torch.randn(4096, 4096, dtype=torch.float16)"
    example = "matmul[grid](a, b, c, N, K, BM=128, BN=128, BK=64, num_warps=8, num_stages=1)"
    use_instead = "matmul[grid](a, b, c, N, K, BM=128, BN=128, BK=64, num_warps=8, num_stages=3)"

    def check(self, context: Context) -> Iterable[Finding]:
        listed: set[Span] = set()
        for launch in context.distinct_launches():
            looped = _looped(launch)
            if looped is None or any(one.num_stages != 1 for one in launch.configurations):
                continue
            # A tuner with one configuration has nothing to choose.
            if launch.autotuned and launch.alternatives:
                if launch.span not in listed:
                    listed.add(launch.span)
                    yield from self._of_list(context, launch, *looped)
                continue
            dot, loop = looped
            variants = {s: context.variant.then(setting(launch, {"num_stages": s})) for s in (2, 3, 4)}
            variants = {s: variant for s, variant in variants.items() if fits(context, variant, launch, dot)}
            if not variants:
                continue
            timed = {s: time for s, v in variants.items() if (time := context.gpu_us(v)) is not None}
            if not timed and _for_amd(launch):
                continue
            stages = min(timed, key=lambda s: timed[s]) if timed else min(max(variants), 3)
            variant = variants[stages]
            before = context.gpu_us(context.variant)
            if timed and before is not None and timed[stages] >= before:
                continue
            where = f"at line {launch.span.line}"
            if launch.tuning is not None:
                where = f"in the configuration at line {launch.tuning.span.line}"
            change = Change(
                variant,
                f"num_stages=1 turns software pipelining off: each of the {loop.trip} K-steps first waits for its loads from "
                "memory and only then feeds the tensor cores.",
                f"Launch with num_stages={stages}, so that the loads of the next K-steps run while the tensor cores work.",
                f"Set num_stages={stages} {where}; shared memory grows to {stages} operand tiles, which fits.",
            )
            yield self.finding(
                f"`{launch.kernel.name}` runs its tl.dot loop with num_stages=1",
                launch.span,
                launch.kernel.name,
                (
                    Evidence("launched with num_stages=1", launch.span),
                    Evidence("tl.dot in a loop that could be pipelined", dot.span),
                ),
                change,
                severity=self.severity if timed else "info",
            )

    def _of_list(self, context: Context, launch: Launch, dot: Dot, loop: Loop) -> Iterator[Finding]:
        """The finding on a tuner all of whose configurations have one stage."""
        tuning = launch.tuning
        if tuning is None or not all_followed(launch) or context.variant.transforms or _for_amd(launch):
            return
        added = _pipelined(context, launch)
        variant = context.variant.then(transform=added) if added is not None else None
        after = context.after(variant) if variant is not None else None
        if added is None or variant is None or after is None:
            return
        if speedup(context.estimate(context.workload), context.estimate(after), "gpu")[1] <= 1.0:
            return
        kernel, count = launch.kernel.name, len(launch.configurations)
        stages = " and ".join(map(str, sorted({one.num_stages for one in added.configurations})))
        change = Change(
            variant,
            f"All {count} configurations of the autotuner have num_stages=1, which turns software pipelining off: each of the "
            f"{loop.trip} K-steps first waits for its loads from memory and only then feeds the tensor cores.",
            f"Offer the autotuner of `{kernel}` its tiles with num_stages={stages} too, so that the loads of the next K-steps run "
            "while the tensor cores work.",
            f"At line {tuning.span.line} add {', '.join(map(written, added.configurations))} to the configurations.",
        )
        yield self.finding(
            f"`{kernel}` is tuned among {count} configurations that all run its tl.dot loop with num_stages=1",
            launch.span,
            kernel,
            (
                Evidence(f"{count} configurations, all with num_stages=1", tuning.span),
                Evidence("tl.dot in a loop that could be pipelined", dot.span),
            ),
            change,
        )


def _looped(launch: Launch) -> tuple[Dot, Loop] | None:
    """The first dot of ``launch`` in a loop that the compiler pipelines by the number of stages of the launch."""
    for dot, loops in launch.kernel.walk(Dot):
        if isinstance(dot, Dot) and loops and loops[-1].kind != "while" and loops[-1].num_stages is None:
            return dot, loops[-1]
    return None


def _pipelined(context: Context, launch: Launch) -> MoreConfigurations | None:
    """The best configurations of ``launch`` with the stages that suit each best; None where none fits."""
    places = launches_at(context.workload, launch.span)
    timed: dict[tuple[int, int], float] = {}
    for index in range(len(launch.configurations)):
        for stages in _STAGES:
            us = _us_with(context, launch.span, index, stages)
            if us is not None:
                timed[index, stages] = us
    fastest = {index: min((s for i, s in timed if i == index), key=lambda s: timed[index, s]) for index, _ in timed}
    ranked = sorted(fastest.items(), key=lambda one: timed[one])
    best = [one for one in ranked if timed[one] <= _NEAR * timed[ranked[0]]][:_ADDED]
    configurations = []
    for index, stages in best:
        same = launch.configurations[index]
        added = configured(launch, same, same.num_warps, stages)
        if added is None:
            return None
        configurations.append(added)
    if not configurations or any(len(one.alternatives) != len(launch.alternatives) for one in places):
        return None
    launches = tuple(tuple(_with(one, index, stages) for index, stages in best) for one in places)
    assert launch.tuning is not None
    return MoreConfigurations(launch.span, launch.tuning.span, tuple(configurations), launches)


def _with(launch: Launch, index: int, stages: int) -> Launch:
    """The configuration number ``index`` of ``launch`` with this many stages."""
    return replace(alone(launch, index), num_stages=stages)


def _us_with(context: Context, span: Span, index: int, stages: int) -> float | None:
    """Microseconds of the program with that configuration alone; None where it does not fit or cannot be priced."""
    workload = map_launch(context.workload, span, lambda launch: _with(launch, index, stages))
    if any(overflowing(one, context.device) for one in launches_at(workload, span)):
        return None
    return context.estimate(workload).gpu_us


def _for_amd(launch: Launch) -> bool:
    """Whether the launch or its tuner sets options of AMD's back end, whose pipelining is another matter."""
    set_by_tuner = launch.tuning.parameters if launch.tuning is not None else frozenset[str]()
    return bool(_OF_AMD & (launch.explicit | launch.constexprs.keys() | set_by_tuner))
