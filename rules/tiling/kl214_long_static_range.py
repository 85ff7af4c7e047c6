from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from kernlint.rules.base import Option, Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.launch.sizes import per_call_sizes
from kernlint.rules.proofs.iteration_domain import symbols_of
from kernlint.rules.proofs.kernel_source import kernels_once
from kernlint.rules.proofs.source_text import names_in, node_at
from kernlint.workload import Launch, Loop, concrete

#: Copies of a loop body from which on compile time and the instruction cache suffer more than unrolling can give.
MOST = 64


class LongStaticRange(Rule):
    code = "KL214"
    name = "long-static-range"
    silent_if_open = True
    options = (Option("most-iterations", MOST, "How many copies of a loop body are not too many.", 1),)
    summary = "tl.static_range unrolls a loop many times over, or as often as a size of the call says"
    what_it_does = f"""
        Finds `tl.static_range` loops of more than {MOST} iterations, and those whose count is a `tl.constexpr` that the launch
        fills with the first extent of its tensors (those at info level: it may be a small one).
        """
    why = """
        Every iteration becomes code of its own. Compile time grows with the count (faster than linearly), the instruction cache
        overflows, and a count that follows the input compiles a new kernel for each value.
        """
    when_not = "Short loops, and loops that index constexpr tuples or change the type of what they carry."
    fix_safety = "Safe: `range` runs the same iterations."
    evidence = """
        No time of our own: Triton unrolls the body while it builds the kernel, so that what is compiled grows with the count.
        The row's threads report minutes of compile time. Pattern row PERF-022.
        """

    bad = """
        @triton.jit
        def decay(x, y, N, T: tl.constexpr, BLOCK: tl.constexpr):
            c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            h = tl.zeros((BLOCK,), tl.float32)
            for t in tl.static_range(T):
                h = h * 0.9 + tl.load(x + t * N + c)
                tl.store(y + t * N + c, h)
        """
    good = bad.replace("tl.static_range(T)", "range(T)")
    launch = "decay[(x.shape[1] // 128,)](x, y, x.shape[1], x.shape[0], BLOCK=128)"
    inputs = "torch.randn(512, 1024)"
    example = "for t in tl.static_range(T):"
    use_instead = "for t in range(T):"

    def check(self, context: Context) -> Iterable[Finding]:
        varying = per_call_sizes(context)
        most = context.option(self, "most-iterations")
        seen = set()
        for launch in kernels_once(context):
            for loop in launch.kernel.nodes(Loop):
                if loop.kind != "tl.static_range" or loop.span in seen:
                    continue
                trip, opened = concrete(loop.trip), _open_bound(context, launch, loop)
                by_size = [n for n in opened if symbols_of(launch.open_constexprs.get(n, 0)) & varying]
                if not by_size and (opened or trip is None or trip <= most):
                    continue
                seen.add(loop.span)
                count = f"as often as {', '.join(by_size)} says" if by_size else f"{trip} times"
                kernel = launch.kernel.name
                proof = [f"{name} is {launch.open_constexprs[name]} at the launch" for name in by_size]
                yield self.finding(
                    f"tl.static_range unrolls a loop of `{kernel}` {count}",
                    loop.span,
                    kernel,
                    (
                        Evidence(
                            f"the body is compiled {count}; above {MOST} copies it costs more than it gives", loop.span
                        ),
                        *(Evidence(text, launch.span) for text in proof),
                    ),
                    Change(
                        None,
                        f"The loop body of `{kernel}` is compiled {count}: long compile times, and more code than the "
                        "instruction cache holds.",
                        "Use `range` (or `tl.range` with a loop unroll factor) and pass the count as a run-time argument.",
                        f"Replace `tl.static_range` at line {loop.span.line} by `range`, and drop `tl.constexpr` from the count.",
                        priced=False,
                    ),
                    severity="info" if by_size else self.severity,
                )


def _open_bound(context: Context, launch: Launch, loop: Loop) -> list[str]:
    """The constexprs in the bounds of ``loop`` whose values the source does not fix."""
    opened = {text.split(" = ")[0] for text in launch.kernel.assumed} | set(launch.open_constexprs)
    statement = node_at(context, loop.span, cst.For)
    return sorted(opened & names_in(statement.iter)) if statement is not None else []
