from __future__ import annotations

from collections.abc import Iterable

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.correctness.strides import uses
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.repair import Repair, mending
from kernlint.workload import Span


@dataclass(frozen=True)
class MadeContiguous(Repair):
    """The program that makes the tensor given as ``parameter`` contiguous before the ``launch``."""

    launch: Span
    parameter: str


class AssumesContiguous(Rule):
    code = "KL771"
    name = "assumes-contiguous"
    default = False
    summary = "a kernel takes a tensor of the caller to be contiguous, and nothing checks that it is"
    what_it_does = """
        Finds tensors that the caller hands in, of two dimensions or more, whose addresses contain none of their
        strides, where neither `.contiguous()`, a reshape nor an assert makes them contiguous.
        """
    why = """
        A transposed or sliced argument is read as if it were dense: wrong numbers, no error.
        """
    when_not = """
        Off by default: in most libraries a decorator or the caller sees to the layout, which no single file shows.
        """
    fix_safety = """
        Safe: `x = x.contiguous()` in front of the launch, which copies nothing where it is contiguous. Refused for
        tensors that a kernel writes. Passing the strides avoids the copy.
        """
    evidence = """
        One of the most frequent causes in public reports of wrong results from kernels. Pattern row BUG-055.
        """

    bad = """
        @triton.jit
        def row_sum(x, o, N, B: tl.constexpr):
            r, c = tl.program_id(0), tl.arange(0, B)
            tl.store(o + r, tl.sum(tl.load(x + r * N + c, mask=c < N, other=0.0), axis=0))

        def run(x):
            rows, columns = x.shape
            o = torch.empty(rows, device=x.device)
            row_sum[(rows,)](x, o, columns, B=1024)
            return o
        """
    good = bad.replace("rows, columns = x.shape", "x = x.contiguous()\n            rows, columns = x.shape")
    example = "row_sum[grid](x, o, x.shape[1], B=1024)"
    use_instead = "x = x.contiguous()\nrow_sum[grid](x, o, x.shape[1], B=1024)"

    def check(self, context: Context) -> Iterable[Finding]:
        if context.workload.bare:
            return
        seen = set()
        for use in uses(context.workload):
            tensor, base = use.tensor, use.access.base
            open_layout = tensor.storage.origin == "input" and tensor.strides is None
            several = tensor.shape is not None and len(tensor.shape) > 1
            if not open_layout or not several or use.owners or (use.launch.span, base) in seen:
                continue
            seen.add((use.launch.span, base))
            yield self.finding(
                f"`{use.launch.kernel.name}` takes `{tensor.name or base}` to be contiguous, and nothing checks that it is",
                use.access.span,
                use.launch.kernel.name,
                (Evidence(f"`{base}` is `{tensor.name or base}` in this launch", use.launch.span),),
                mending(
                    context,
                    MadeContiguous(use.launch.span, base),
                    f"`{use.launch.kernel.name}` takes `{tensor.name or base}` to be contiguous",
                    "Make it contiguous before the launch, which copies nothing where it is, or pass its strides.",
                ),
            )
