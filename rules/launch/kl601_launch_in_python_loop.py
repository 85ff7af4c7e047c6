from __future__ import annotations

from collections.abc import Iterable

from kernlint.headroom.causes import Cause
from kernlint.rules.algorithm.accumulation import only_adds
from kernlint.rules.algorithm.kl509_elementwise_time_loop import state_loop
from kernlint.rules.algorithm.step_loops import StateLoop
from kernlint.rules.base import Rule, elementwise
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name
from kernlint.rules.proofs.overshoots import rounded_up
from kernlint.rules.proofs.parallel_loops import Loop, independent_loop
from kernlint.rules.proofs.pricing import causes_at
from kernlint.workload import Expr, Launch, Opaque, Repeat, concrete


class LaunchInPythonLoop(Rule):
    code = "KL601"
    name = "launch-in-python-loop"
    operator = "generate"
    summary = "a Python loop launches one small kernel per batch element, expert or chunk"
    what_it_does = """
        Finds Python loops around kernel launches whose iterations are independent of each other: no iteration reads what
        another wrote, no variable is handed from one to the next, and the views they pass differ by a fixed offset. Finds also
        loops whose iterations add one term each to the same tensor in place, element by element: the terms are independent.
        """
    why = """
        Every launch costs host time and a start-up on the device, and a grid that is sized for one element leaves most SMs
        idle. The iterations could all run at once: the loop variable is a grid axis. A sum that is added to in place is read
        and written once a term, where one pass over all terms keeps it in registers.
        """
    when_not = """
        Loops that carry state from one iteration to the next (time steps, iterative solvers). Loops over pieces of different
        shape. An iteration that fills the device by itself gains only the launch overhead.
        """
    evidence = """
        H100: a Triton launch takes 21 us of host time and a kernel replayed in a graph at least 1.3 us
        (`calibration/facts/h100-overheads.json`). Pattern row PERF-074 (a Python loop over MoE experts).
        """

    bad = elementwise("double", "{} * 2.0")
    good = bad.replace(
        "            tl.store(y + i, tl.load(x + i,",
        "            row = tl.program_id(1) * n\n            tl.store(y + row + i, tl.load(x + row + i,",
    )
    launch = """for b in range(x.shape[0]):
                    double[(triton.cdiv(x.shape[1], 1024),)](x[b], y[b], x.shape[1], BLOCK=1024)"""
    good_launch = "double[(triton.cdiv(x.shape[1], 1024), x.shape[0])](x, y, x.shape[1], BLOCK=1024)"
    inputs = "torch.randn(64, 8192)"
    example = "for b in range(B):\n    kernel[(tiles,)](x[b], y[b], ...)"
    use_instead = "kernel[(tiles, B)](x, y, x.stride(0), y.stride(0), ...)  # b = tl.program_id(1)"

    def check(self, context: Context) -> Iterable[Finding]:
        for repeat in context.workload.steps:
            if not isinstance(repeat, Repeat):
                continue
            found = state_loop(context, repeat)
            if found is not None and only_adds(found):
                for cause in causes_at(context, steps=(repeat,)):
                    yield self._accumulation(found, cause)
                continue
            loop = independent_loop(context, repeat)
            if loop is None or _in_pieces(loop.count):
                continue
            for cause in causes_at(context, steps=(repeat,)):
                yield self._independent(loop, cause)

    def _independent(self, loop: Loop, cause: Cause | None) -> Finding:
        repeat = loop.repeat
        launches = [step for step in loop.body if isinstance(step, Launch)]
        names = list(dict.fromkeys(launch.kernel.name for launch in launches))
        kernels = " and ".join(f"`{name}`" for name in names)
        programs = launches[0].programs
        small = f" of {programs} programs" if programs is not None else ""
        axis = min(2, len(launches[0].grid))
        moving = [tensor_name(tensor, "a tensor") for tensor in loop.moving]
        return self.finding(
            f"a Python loop launches {kernels} {loop.count} times, once per independent iteration",
            repeat.span,
            repeat.function,
            (
                Evidence(
                    f"{len(launches)} launch{'es' * (len(launches) > 1)}{small} in each of {loop.count} iterations",
                    launches[0].span,
                ),
                Evidence(
                    "no iteration reads what another wrote; they differ by the offset into "
                    f"{', '.join(f'`{name}`' for name in dict.fromkeys(moving))}",
                    repeat.span,
                ),
            ),
            Change(
                None,
                f"{kernels} is launched {loop.count} times from a Python loop, one grid{small} at a time, so the call pays "
                f"{loop.count} times the launch overhead and each launch uses only its own few programs.",
                f"Launch once for all {loop.count} iterations: make the loop variable grid axis {axis}.",
                f"Pass the whole tensors and their strides along the looped dimension, add grid axis {axis} of {loop.count}, offset "
                f"every pointer by `tl.program_id({axis})` times its stride, and drop the loop at line {repeat.span.line} with "
                "the views and allocations inside it.",
            ),
            cause,
            kernel=names[0],
        )

    def _accumulation(self, found: StateLoop, cause: Cause | None) -> Finding:
        """The finding for a loop that adds one term at a time to a tensor."""
        (state,) = found.states
        launch, repeat, count = found.launch, found.repeat, concrete(found.repeat.count)
        kernel = launch.kernel.name
        return self.finding(
            f"a Python loop launches `{kernel}` {count} times to add one term each to `{state.name}`",
            repeat.span,
            repeat.function,
            (
                Evidence(f"one launch of {launch.programs} programs in each of {count} iterations", launch.span),
                Evidence(
                    f"each stores `{state.name}` as it was with something added that does not depend on it",
                    state.load.span,
                ),
            ),
            Change(
                None,
                f"`{state.name}` is read and written {count} times, once for each launch, for one addition each.",
                f"Add up all {count} terms in one launch of `{kernel}`, with the sum in registers.",
                f"Pass the whole tensors with the stride of a term; in `{kernel}` load `{state.name}` once, loop over the {count} terms, "
                f"and store the sum after the loop; drop the Python loop at line {repeat.span.line}.",
            ),
            cause,
            kernel=kernel,
        )


def _in_pieces(count: object) -> bool:
    """Whether a loop goes over pieces (``range(0, n, 16)``, ``range(0, n, max(LIMIT // m, 1))``): somebody bounds the memory
    that one iteration takes, and there is seldom more than one."""
    if not isinstance(count, Expr):
        return False
    bounded = any(isinstance(atom, Opaque) and atom.op in ("max", "min") for atom in count.atoms())
    return bounded or rounded_up(count) is not None
