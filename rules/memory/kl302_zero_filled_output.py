from __future__ import annotations

from collections.abc import Iterable

from kernlint.interpret.edits import Edits
from kernlint.operators.drop import DROP, Unfilled
from kernlint.rules.base import Rule, elementwise
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name
from kernlint.rules.registry import find_rule
from kernlint.workload import Span


class ZeroFilledOutput(Rule):
    code = "KL302"
    name = "zero-filled-output"
    operator = "drop"
    summary = "torch.zeros or full fills a tensor that the next launch overwrites completely"
    what_it_does = """
        Finds `torch.zeros`, `ones`, `full` and their `_like` and `new_` forms whose memory is touched next by a launch that
        only stores to it and whose store provably reaches every element: the grid times the tile covers the tensor, and a
        mask bounds the tail only.
        """
    why = """
        The fill is a kernel of its own that writes the whole tensor once more, for values that nobody ever reads. For a small
        tensor it costs a launch, for a large one as much time as the output itself.
        """
    when_not = """
        Atomics and split-K sums into the tensor. Kernels that skip elements (padding rows, invalid experts) and rely on
        the zeros. Stores under a run-time branch or a data-dependent mask. Another path of the function that returns the tensor
        without the launch (look for early returns).
        """
    fix_safety = """
        Unsafe: every element is written before anything reads it on the path and at the sizes that were followed; at other sizes a
        grid that rounds down, or a block shorter than a row, leaves elements as they are.
        """
    evidence = """
        H100: `zeros_like` of 4096 x 4096 halves takes 11.0 us, of 64 x 64 1.1 us and 8.4 us of host time
        (`calibration/facts/h100-torch-ops.csv`). Pattern row PERF-036.
        """

    bad = elementwise("scale", "{} * 2.0")
    launch = "scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    makes = "y = torch.zeros_like(x)"
    good_makes = "y = torch.empty_like(x)"
    inputs = "torch.randn(4096, 4096, dtype=torch.float16)"
    example = "y = torch.zeros_like(x)\nkernel[grid](x, y, n)  # stores to all of y"
    use_instead = "y = torch.empty_like(x)\nkernel[grid](x, y, n)"

    def check(self, context: Context) -> Iterable[Finding]:
        settled = _with_other_passes(context)
        for proof in DROP.proven(context):
            if not isinstance(proof, Unfilled) or proof.op.span in settled:
                continue
            op, launch = proof.op, proof.launch
            if any(fault.certain for fault in launch.faults) and not context.program.other_vendor:
                continue  # it overwrites nothing, as the launch fails
            tensor = op.writes[0]
            name = tensor_name(launch.tensor(launch.bound_to(tensor.storage.id)[0]), "the output")
            shape = ", ".join(map(str, tensor.shape or ()))
            size = f", {tensor.nbytes / 1e6:.1f} MB" if tensor.nbytes else ""
            kernel = launch.kernel.name
            change = Change(
                DROP.apply(context, [proof]),
                f"Each call first fills `{name}` ([{shape}]{size}) in a kernel of its own, and `{kernel}` then overwrites all "
                "of it.",
                f"Allocate `{name}` uninitialised: `{kernel}` writes every element before anything reads it.",
                f"Replace `{op.name}` at line {op.span.line} by its `empty` form.",
            )
            yield self.finding(
                f"`{op.name}` fills `{name}`, which `{kernel}` overwrites completely", op.span,
                op.function,
                (
                    Evidence(f"{op.name} writes [{shape}] {tensor.dtype}", op.span),
                    Evidence(f"the next step to touch it is `{kernel}`, which stores to every element", launch.span),
                ),
                change, kernel=kernel,
            )  # fmt: skip


def _with_other_passes(context: Context) -> frozenset[Span]:
    """Fills that KL301 removes together with the copies beside them; where sizes are open it says nothing."""
    spans: set[Span] = set()
    for finding in find_rule("KL301").check(context) if context.gpu_us(context.variant) is not None else ():
        variant = finding.change.variant if finding.change is not None else None
        edits = variant.edits if variant is not None else Edits()
        if edits.skipped - context.variant.edits.skipped:
            spans |= edits.unfilled
    return frozenset(spans)
