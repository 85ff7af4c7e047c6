from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Finding
from kernlint.rules.precision.upcast import WIDENED_DOTS, Upcast, of_one_loop, upcast_finding, upcasts
from kernlint.rules.proofs.dot_tiles import MAX_EXACT_K, contracted
from kernlint.workload import Dot, Launch, Span


class Int8UpcastBeforeDot(Rule):
    code = "KL101"
    name = "int8-upcast-before-dot"
    at_any_size = True
    summary = "int8 operands are cast to a floating type before tl.dot"
    what_it_does = """
        Finds `tl.dot` calls whose two operands are both int8 in memory and are widened to a floating type on the way,
        through `.to`, `tl.cast`, a helper, a multiplication with a scale or an offset such as a zero point, provided that these
        can wait until behind the loop: they are the same all along K and in each step of the loop. What an offset adds is the
        offset times the sums of the other operand along K. Follows the values, so names and comments do not matter.
        """
    why = """
        Tensor cores multiply int8 at twice the rate of fp16 and four times that of tf32, and hold four times as many
        values per byte of shared memory as fp32. The cast throws that away and spends ALU work on every tile. On Hopper
        the int8 dot is fast only when both operands are contiguous along K, so the change includes the layout when the
        source can provide it.
        """
    when_not = """
        Only one operand is int8 (weight-only quantisation): there is no mixed dot. K above 131,071: int32 could
        overflow. The device has no int8 tensor cores.
        """
    fix_safety = """
        Safe while K <= 131,071: the int32 sum is exact, where fp32 accumulation rounds. Where calls decide K, the launcher asserts it;
        unsafe where it has no name for K, or nothing says that the program takes no other elements, which need the cast. A change
        of layout is safe where the copy it removes has no other reader.
        """
    evidence = """
        H100, M=128, N=K=2048, tile 64x64x32: 63.6 us with a transposed copy and tf32; 62 us with only the dot swapped;
        13.1 us with an int8 dot that reads the weight in place (`calibration/facts/h100-seed.txt`). 4096^3, best
        tile: int8 K-major 122 us, N-major 503 us (`h100-gemm.csv`). Pattern row PERF-003.
        """
    references = (
        "https://docs.nvidia.com/cuda/parallel-thread-execution/#asynchronous-warpgroup-level-matrix-shared-memory-layout",
    )

    bad = WIDENED_DOTS.replace("torch.float32", "torch.int8")
    good = (
        bad.replace("(BM, BN), tl.float32", "(BM, BN), tl.int32")
        .replace(").to(tl.float32)\n", ")\n")
        .replace(", acc)", ", acc.to(tl.float32))")
    )
    example = "acc += tl.dot(x.to(tl.float32), y.to(tl.float32))"
    use_instead = "acc += tl.dot(x, y)  # int8 operands, int32 accumulator"

    def check(self, context: Context) -> Iterable[Finding]:
        if context.device.peak_int8_tensor_dense_tops is None:
            return
        found = upcasts(context, lambda dtype: dtype.name == "int8")
        exact = (one for one in found if (_contracted(one.launch, one.dot.span) or 0) <= MAX_EXACT_K)
        for upcast, together in of_one_loop(exact):
            yield upcast_finding(
                self,
                context,
                upcast,
                together,
                f"The int8 operands are cast to {upcast.wide} in registers, so {_unit(context, upcast)} and each tile takes "
                f"{'twice' if upcast.wide.bits == 16 else f'{upcast.wide.bits // 8} times'} the shared memory.",
                "the int8 tiles themselves and accumulate in int32",
            )


def _unit(context: Context, upcast: Upcast) -> str:
    """What multiplies the widened operands."""
    if upcast.wide.bits != 32:
        return f"the tensor cores run at the {upcast.wide} rate"
    if upcast.dot.precision == "ieee":
        return "each product is a multiply-add of fp32 outside the tensor cores"
    return f"the tensor cores run at the {context.device.single_precision} rate"


def _contracted(launch: Launch, dot: Span) -> int | None:
    """The whole K that the dot at ``dot`` sums over, where its loop's trip count is known."""
    for node, loops in launch.kernel.walk(Dot):
        if isinstance(node, Dot) and node.span == dot:
            return contracted(node, loops)
    return None
