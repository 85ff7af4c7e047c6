from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import MATMUL, Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding, tensor_name
from kernlint.rules.proofs.operand_layout import k_major_remedy, operand_tensor, wants_k_major


class OperandNotKMajor(Rule):
    code = "KL305"
    name = "operand-not-k-major"
    summary = "an 8-bit or tf32 dot operand is not contiguous along K on Hopper"
    what_it_does = """
        Finds `tl.dot` operands of 8-bit or fp32 type that are loaded straight from a tensor whose memory is contiguous
        along the other axis than K, on devices whose tensor cores need K-contiguous operands, where the source offers
        the other layout: a per-call copy that made it so, or a parameter that can be stored the other way round.
        """
    why = """
        Hopper's wgmma reads 16-bit operands in either order from shared memory, 8-bit and 32-bit ones only
        K-contiguous. Triton then loads the operand synchronously, without cp.async, and shuffles it through registers.
        """
    when_not = """
        16-bit operands. Devices before sm_90. An operand that is an input of the call: transposing it per call costs
        more.
        """
    fix_safety = "Safe: the same numbers, read in another order. A weight keeps its shape and its state dict; only its strides change."
    evidence = """
        H100, 4096^3, best tile of each layout: int8 122 us K-major, 503 us N-major; tf32 498 us and 1,370 us
        (`calibration/facts/h100-gemm.csv`). Pattern row PERF-047.
        """

    bad = (
        MATMUL.replace("N, K, BM", "N, K, sbk, sbn, BM")
        .replace("* N + n[None, :])\n", "* sbk + n[None, :] * sbn)\n")
        .replace("float32", "int32")
        .replace(".to(tl.float16)", "")
        + """
        def launch(a, w):
            assert a.dtype == torch.int8 and w.dtype == torch.int8
            (M, K), N = a.shape, w.shape[0]
            b = w.t().contiguous()
            c = torch.empty(M, N, device=a.device, dtype=torch.int32)
            matmul[(M // 64, N // 64)](a, b, c, N, K, b.stride(0), b.stride(1), BM=64, BN=64, BK=64)
            return c

        class ModelNew(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.w = torch.nn.Parameter(torch.zeros(1024, 1024, dtype=torch.int8), requires_grad=False)

            def forward(self, x):
                return launch(x, self.w)

        def get_inputs():
            return [torch.zeros(1024, 1024, dtype=torch.int8)]
        """
    )
    good = bad.replace(".contiguous()", "")
    example = "b = w.t().contiguous()  # [K, N], contiguous along N"
    use_instead = "b = w.t()  # a [K, N] view, contiguous along K"

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.launches():
            for dot in launch.kernel.dots():
                for side in ("a", "b"):
                    operand = getattr(dot, side)
                    if not wants_k_major(context.device, operand.dtype) or (dot.span, side) in seen:
                        continue
                    if dot.precision == "ieee" and operand.dtype.bits == 32:
                        continue  # no tensor core involved
                    remedy = k_major_remedy(context, context.variant, launch, dot, side)
                    if remedy is None:
                        continue
                    seen.add((dot.span, side))
                    name = tensor_name(operand_tensor(launch, operand), "the operand")
                    change = Change(
                        remedy.variant,
                        f"Operand {side} of the {operand.dtype} dot, `{name}`, is not contiguous along K, so Hopper's tensor cores "
                        "cannot read it from shared memory: it is loaded synchronously and shuffled through registers.",
                        remedy.method[0].upper() + remedy.method[1:] + ".",
                        remedy.plan,
                    )
                    text = f"`{name}` has stride {operand.k_stride} along K and {operand.other_stride} along the other axis"
                    yield self.finding(
                        f"operand `{name}` of the {operand.dtype} tl.dot in `{launch.kernel.name}` is not K-contiguous",
                        dot.span,
                        launch.kernel.name,
                        (Evidence(text, operand.span), *remedy.evidence),
                        change,
                    )
