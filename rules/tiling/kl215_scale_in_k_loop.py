from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import MATMUL, Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.pricing import gain
from kernlint.rules.proofs.source_text import text_at
from kernlint.rules.tiling.scaled_product import ScaleBehindLoop, scaled_products
from kernlint.workload import Compute
from kernlint.workload import dtype as dt
from kernlint.workload.values import Value


class ScaleInKLoop(Rule):
    code = "KL215"
    name = "scale-in-k-loop"
    silent_if_open = True
    summary = "each step of the K loop multiplies its product by a factor that does not depend on K"
    what_it_does = """
        Finds K loops that add `tl.dot(a, b) * scale` to an fp32 accumulator which starts from zeros, where no iteration
        changes `scale`: a scale of the whole tensor, of each row or of each column.
        """
    why = """
        The tensor core adds a product to its accumulator in place. A product that has to be scaled first is a second tile in
        registers, which the FMA units multiply and add element by element on every step, while the tensor core waits for
        nothing else. The factor can be taken out of the sum and applied once.
        """
    when_not = """
        Scales that change along K (groups or blocks of a quantised operand), accumulators that are rescaled between the
        steps (online softmax), integer accumulators.
        """
    fix_safety = """
        By hand safe up to rounding: the same products in fp32, scaled once behind the sum instead of one by one. Where that is the
        change of the verdict, `kernlint fix --unsafe-fixes` may write the kernel anew.
        """
    evidence = """
        H100, predicted by the cost model: 4096^3 in fp16 with tile 128x128x64, 325 us scaled in the loop and 252 us behind it.
        Pattern row PERF-005 (Triton issue 793: 254 and 419 TOPS on an A100 with two forms of the scale; registers of a
        thread 112 and 60 with Triton 3.9 for sm_90).
        """
    references = ("https://github.com/triton-lang/triton/issues/793",)

    bad = (
        MATMUL.replace("(a, b, c,", "(a, b, scale, c,")
        .replace("acc = tl.zeros", "s = tl.load(scale + n)\n            acc = tl.zeros")
        .replace("(start + k)[:, None] * N + n[None, :]", "n[None, :] * K + (start + k)[:, None]")
        .replace("acc = tl.dot(x, y, acc)", "acc += tl.dot(x, y) * s[None, :]")
    )
    good = bad.replace("acc += tl.dot(x, y) * s[None, :]", "acc += tl.dot(x, y)").replace(
        "acc.to(tl.float16)", "(acc * s[None, :]).to(tl.float16)"
    )
    launch = "matmul[(32, 32)](a, b, scale, c, 4096, 4096, BM=128, BN=128, BK=64, num_warps=8, num_stages=3)"
    takes, makes = "a, b, scale", "c = torch.empty(4096, 4096, device=a.device, dtype=torch.float16)"
    inputs = "*(torch.randn(4096, 4096, dtype=torch.float16) for _ in range(2)), torch.randn(4096)"
    example = "for ...:\n    acc += tl.dot(x, y) * scale"
    use_instead = "for ...:\n    acc += tl.dot(x, y)\nacc *= scale"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.distinct_launches():
            for found in scaled_products(launch.kernel):
                dot = next(node for node in launch.kernel.dots() if node.id == found.dot.node)
                if dot.span in seen or dot.out != dt.FLOAT32:
                    continue
                seen.add(dot.span)
                update, tile = found.total.total, dot.m * dot.n * dot.batch
                spans = {one.span for one in (update, *found.multiplied)}
                gone = {node.span for node in found.total.nest[-1].body if isinstance(node, Compute)
                        and node.span in spans and node.dtype == dt.FLOAT32 and node.elements == tile}  # fmt: skip
                if len(gone) < 2:
                    continue
                variant = context.variant.then(transform=ScaleBehindLoop(launch.span, dot.span, frozenset(gone)))
                expected = gain(context, variant)
                if expected is not None and expected <= 1.0:
                    continue
                factor = " * ".join(_factor(context, one) for one in found.factors)
                kernel, accumulator = launch.kernel.name, found.accumulator
                yield self.finding(
                    f"`{kernel}` multiplies each product of its K loop by `{factor}`, which no step changes",
                    update.span, kernel,
                    (
                        Evidence(f"a [{dot.m}, {dot.n}] product is scaled and added in each iteration", dot.span),
                        Evidence(f"`{factor}` is the same in each iteration", found.multiplied[0].span),
                    ),
                    Change(
                        variant,
                        f"Each K-step multiplies and adds {tile:,} products on the FMA units and keeps them in "
                        "registers beside the accumulator, instead of letting the tensor core add in place.",
                        f"Accumulate the products as they are and multiply by `{factor}` once behind the loop.",
                        f"Write `{accumulator} += tl.dot(a, b)` in the loop and `{accumulator} *= {factor}` behind it.",
                    ),
                )  # fmt: skip


def _factor(context: Context, value: Value) -> str:
    """``value`` as the source says it."""
    text = value.name or text_at(context, value.span)
    return f"({text})" if value.op in ("+", "-") and not value.name else text
