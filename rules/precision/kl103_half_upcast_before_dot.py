from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Finding
from kernlint.rules.precision.rounding import rounded_findings
from kernlint.rules.precision.upcast import WIDENED_DOTS, of_one_loop, upcast_finding, upcasts
from kernlint.rules.proofs.softmax_state import softmax_state


class HalfUpcastBeforeDot(Rule):
    code = "KL103"
    name = "half-upcast-before-dot"
    at_any_size = True
    summary = "fp16 or bf16 operands are cast to fp32 before tl.dot"
    what_it_does = """
        Finds `tl.dot` calls whose two operands are both fp16 or both bf16 in memory and are cast to fp32 before the
        dot. Where a deeper BLOCK_K is then predicted to pay and fits, so that a step along K loads as many bytes as before, the
        change takes it along. Also loops of such dots of which some take, beside a widened tensor, what the kernel computed (a
        backward pass), as KL104 describes them for ieee dots; an online softmax is KL106's.
        """
    why = """
        A dot of 16-bit operands already accumulates in fp32 and its products are exact in fp32, so the cast adds no
        accuracy. It halves the tensor-core rate (tf32), or with `input_precision="ieee"` leaves the tensor cores
        altogether, doubles the shared memory of a tile and costs ALU work.
        """
    when_not = """
        Something is computed on the fp32 values before the dot, and what rounding it does is multiplied on in the next
        iteration, or the kernel stores something wider. The rule stays silent there.
        """
    fix_safety = """
        Safe: products of 16-bit values are exact in the fp32 accumulator; only the order of the sum may differ. Unsafe where nothing
        says that the program takes no other elements: fp32 ones may be multiplied in another precision then. Unsafe where something
        computed is rounded: fp16 has the 10 bits of tf32's mantissa, but ends at 65,504; bf16 has 7.
        """
    evidence = """
        H100, best tile of each: at 4096^3 fp16 195 us, upcast to tf32 534 us; at 2048^3 fp16 26 us, upcast and ieee
        774 us (`calibration/facts/h100-gemm.csv`). Pattern rows PERF-002 and PERF-004.
        """

    bad = WIDENED_DOTS.replace("torch.float32", "torch.bfloat16").replace(
        "None] + n[None, :] * K", "None] * BN + n[None, :]"
    )
    good = bad.replace(").to(tl.float32)\n", ")\n")
    example = "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))"
    use_instead = "acc += tl.dot(x, y)  # fp16 operands, fp32 accumulator"

    def check(self, context: Context) -> Iterable[Finding]:
        for upcast, together in of_one_loop(upcasts(context, lambda dtype: dtype.is_float and dtype.bits == 16)):
            ieee = upcast.dot.precision == "ieee"
            unit = (
                "leaves the tensor cores for fp32 FMA units"
                if ieee
                else f"runs at the {context.device.single_precision} rate, below that of 16-bit operands"
            )
            yield upcast_finding(
                self,
                context,
                upcast,
                together,
                f"The {upcast.narrow} operands are cast to fp32 before tl.dot, which {unit} without any gain in accuracy, "
                "and each tile takes twice the shared memory.",
                f"the {upcast.narrow} tiles themselves (it accumulates in fp32 anyway)",
            )
        slow = f"take fp32 operands, at the {context.device.single_precision} rate, below that of 16-bit ones"
        yield from rounded_findings(
            self, context, "tf32", slow, lambda site, _: softmax_state(site.launch.kernel, site.loop) is None
        )
