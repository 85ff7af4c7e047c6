from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Finding
from kernlint.rules.precision.upcast import DOTS, of_one_loop, upcast_finding, upcasts


class Fp8UpcastBeforeDot(Rule):
    code = "KL102"
    name = "fp8-upcast-before-dot"
    at_any_size = True
    summary = "fp8 operands are cast to a wider type before tl.dot"
    what_it_does = """
        Finds `tl.dot` calls whose two operands are both the same fp8 type in memory and are widened before the dot, on
        devices with fp8 tensor cores. Where a deeper BLOCK_K is then predicted to pay and fits, so that a step along K loads as
        many bytes as before, the change takes it along.
        """
    why = """
        fp8 tensor cores run at twice the rate of fp16. The cast costs that, doubles or quadruples the shared memory of
        a tile, and every element passes through the ALUs.
        """
    when_not = """
        The device has no fp8 tensor cores (before sm_89, or gfx90a). Operands of different fp8 types. On Hopper an fp8
        dot with few K-steps may keep fewer accumulator bits than fp32; see Fix safety.
        """
    fix_safety = """
        Unsafe: products are exact, but Hopper accumulates fp8 dots with about 14 bits between promotions
        (`max_num_imprecise_acc`), so long sums can differ in the last digits.
        """
    evidence = """
        H100, 4096^3, best tile of each: fp8 114 us, upcast to fp16 277 us (`calibration/facts/h100-gemm.csv`).
        Pattern row PERF-047.
        """

    bad = DOTS.replace("torch.float32", "torch.float8_e4m3fn").replace("x, y", "x.to(tl.float16), y.to(tl.float16)")
    good = bad.replace("x.to(tl.float16), y.to(tl.float16)", "x, y")
    example = "acc = tl.dot(x.to(tl.float16), y.to(tl.float16), acc)"
    use_instead = "acc = tl.dot(x, y, acc)"

    def check(self, context: Context) -> Iterable[Finding]:
        if context.device.peak_fp8_tensor_dense_fp32acc_tflops is None:
            return
        for upcast, together in of_one_loop(upcasts(context, lambda dtype: dtype.is_fp8)):
            yield upcast_finding(
                self,
                context,
                upcast,
                together,
                f"The fp8 operands are widened to {upcast.wide} in registers, so the tensor cores run at half the fp8 rate "
                "or less and each tile takes more shared memory.",
                "the fp8 tiles themselves",
            )
