from __future__ import annotations

from collections.abc import Iterable

from kernlint.headroom.causes import Cause
from kernlint.rules.algorithm.accumulation import only_adds
from kernlint.rules.algorithm.step_loops import STAGES, StateLoop, read_state_loop
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.parallel_loops import same_each_time
from kernlint.rules.proofs.pricing import causes_at
from kernlint.rules.wording import listed
from kernlint.workload import Repeat, concrete


class ElementwiseTimeLoop(Rule):
    code = "KL509"
    name = "elementwise-time-loop"
    bottleneck = "launch"
    operator = "generate"
    summary = "a Python loop launches one step of a recurrence at a time, though no program needs another one's state"
    what_it_does = """
        Finds Python loops that launch one kernel per step (or several, whose programs each go on with what they wrote), where
        a step depends on the one before through a state of which each program reads only what it wrote itself, so that no
        program ever needs what another one computed: gated scans, leaky integrators and moving averages over time, where each
        element meets only itself; and recurrences of which a program holds the whole state of a sequence: Viterbi and forward
        scores, connectionist temporal classification, edit distances, Sinkhorn iterations on small matrices. The state may be
        handed on in place, through two buffers in turn, in new tensors or as the row before of a result.
        """
    why = """
        Every step costs a launch, and carries the state through memory, for a handful of operations. A program that loops over
        the steps itself keeps its part of the state in registers, and one launch does it all.
        """
    when_not = """
        The step multiplies the state with a matrix by `tl.dot` (KL507), or reads elements of the state that other programs
        write, such as the neighbours of its block: then programs would have to wait for each other. Steps that only add a
        term to the state (KL601).
        """
    evidence = """
        The launches are priced by what an H100 takes for them (`calibration/facts/h100-overheads.json`); a launch does nothing
        else for the first microseconds. Pattern row PERF-069.
        """

    bad = """
        @triton.jit
        def leak(x, state, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            s = tl.load(state + i, mask=i < n) * 0.9 + tl.load(x + i, mask=i < n)
            tl.store(state + i, s, mask=i < n)
            tl.store(y + i, s, mask=i < n)

        """
    good = """
        @triton.jit
        def leak(x, y, steps, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            s = tl.zeros((BLOCK,), tl.float32)
            for t in tl.range(steps, num_stages=4):
                s = s * 0.9 + tl.load(x + t * n + i, mask=i < n)
                tl.store(y + t * n + i, s, mask=i < n)

        """
    launch = """steps, n = x.shape
                state = torch.zeros(n, device=x.device)
                for t in range(steps):
                    leak[(triton.cdiv(n, 256),)](x[t], state, y[t], n, BLOCK=256)"""
    good_launch = """steps, n = x.shape
                leak[(triton.cdiv(n, 256),)](x, y, steps, n, BLOCK=256)"""
    inputs = "torch.randn(256, 65536)"
    example = "for t in range(steps):\n    leak[grid](x[t], state, y[t], n, BLOCK=256)"
    use_instead = "leak[grid](x, y, steps, n, BLOCK=256)  # for t in tl.range(steps): state stays in registers"

    def check(self, context: Context) -> Iterable[Finding]:
        for repeat in context.workload.steps:
            found = state_loop(context, repeat) if isinstance(repeat, Repeat) else None
            if found is None or only_adds(found):
                continue
            for cause in causes_at(context, steps=(found.repeat,)):
                yield self._finding(found, cause)

    def _finding(self, found: StateLoop, cause: Cause | None) -> Finding:
        launch, repeat, count = found.launch, found.repeat, concrete(found.repeat.count)
        kernel, programs = launch.kernel.name, launch.programs
        kernels = listed([f"`{name}`" for name in found.kernels])
        launches = "one launch" if len(found.kernels) == 1 else f"one launch of each of {kernels},"
        names = list(dict.fromkeys(state.name for state in found.states))
        state = " and ".join(f"`{name}`" for name in names)
        what = "an elementwise" if found.elementwise else "a"
        fixed = [launch.name_of(load.base) for load in found.fixed]
        kept = " and ".join(f"`{name}`" for name in dict.fromkeys(fixed))
        return self.finding(
            f"a Python loop launches {kernels} for each of {count} steps of {what} recurrence",
            repeat.span,
            repeat.function,
            (
                Evidence(f"{launches} of {programs} programs in each of {count} iterations", launch.span),
                *(
                    Evidence(
                        f"`{one.name}` is read here at elements that no program but the same writes, in the step before",
                        one.load.span,
                    )
                    for one in found.states
                ),
            ),
            _change(found, state, kept),
            cause,
            kernel=kernel,
        )


def _change(found: StateLoop, state: str, kept: str) -> Change:
    count, line = concrete(found.repeat.count), found.repeat.span.line
    kernel = listed([f"`{name}`" for name in found.kernels])
    several = len(found.kernels) > 1
    into = f"one kernel that does what {kernel} do" if several else kernel
    where = "with the state in registers" if found.in_registers else "with a barrier between them"
    load = (f"load {state} once, " if found.in_registers else "") + (
        f"load {kept}, which no step changes, before the steps, " if kept else ""
    )
    if found.in_registers:
        steps = (
            f"loop with `tl.range({count}, num_stages={STAGES})` over the steps, advance the addresses by the stride, and keep the "
            "state in a variable"
        )
    else:
        steps = (
            f"loop with `range({count})` over the steps, advance the addresses by the stride, and let `tl.debug_barrier()` "
            f"stand between the store of {state} and the loads of the next step"
        )
    return Change(
        None,
        f"{(count or 0) * len(found.kernels)} launches run one after the other, each for one step of a few operations, and {state} "
        "goes to memory and back between them.",
        f"Loop over the {count} steps inside {into} {where}, and launch it once.",
        f"Pass the whole tensors with the stride of a step; in {into} {load}{steps}; drop the Python loop at line {line}.",
    )


def state_loop(context: Context, repeat: Repeat) -> StateLoop | None:
    """``repeat`` as the steps of a recurrence, where no iteration ends it or does something else."""
    return read_state_loop(repeat) if same_each_time(context, repeat, decided=False) else None
