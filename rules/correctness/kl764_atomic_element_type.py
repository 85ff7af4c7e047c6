from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.iteration_domain import sites
from kernlint.workload import Dtype
from kernlint.workload.access import Atomic


class AtomicElementType(Rule):
    code = "KL764"
    name = "atomic-element-type"
    severity = "error"
    at_any_size = True
    summary = "an atomic on an element type that Triton cannot lower"
    what_it_does = """
        Finds atomics whose tensor is known to be of an 8- or 16-bit integer type or bool, `atomic_max` and
        `atomic_min` on half precision, and bitwise atomics on half precision.
        """
    why = "The kernel does not compile: there is no such instruction, and Triton does not emulate it."
    when_not = "Tensors whose type is not in view are left alone."
    fix_safety = "No automatic fix: accumulate in int32 or float32 and cast afterwards."
    evidence = """
        The row's compile for sm_90 (Triton 3.9.0): `atomic_max does not support bf16`. Pattern row BUG-036. No gain:
        wrong results have no speed.
        """
    references = (
        "https://github.com/triton-lang/triton/issues/1387",
        "https://github.com/pytorch/pytorch/issues/97016",
        "https://github.com/triton-lang/triton/issues/7011",
    )

    bad = """
        @triton.jit
        def k(x, o, B: tl.constexpr):
            a = tl.arange(0, B)
            tl.atomic_max(o + a, tl.load(x + a))
        def run(x):
            o = torch.zeros(16, dtype=torch.bfloat16)
            k[(1,)](x, o, B=16)
        """
    good = bad.replace("+ a)", "+ a).to(tl.float32)").replace("torch.bfloat16", "torch.float32")

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.workload.launches():
            for site in sites(launch.kernel, Atomic):
                atomic, tensor = site.node, launch.tensor(site.access.base)
                if not isinstance(atomic, Atomic) or tensor is None or tensor.dtype is None or atomic.span in seen:
                    continue
                if atomic.dtype == tensor.dtype and _refused(atomic.op, tensor.dtype):
                    seen.add(atomic.span)
                    yield self.finding(
                        f"`tl.atomic_{atomic.op}` does not support {tensor.dtype}, the type of `{tensor.name or atomic.base}`",
                        atomic.span,
                        launch.kernel.name,
                        (Evidence(f"`{atomic.base}` is {tensor.dtype}", tensor.storage.span),),
                    )


def _refused(op: str, dtype: Dtype) -> bool:
    if dtype.kind == "bool" or (dtype.is_integer and dtype.bits < 32):
        return True
    if dtype.is_float and dtype.bits == 16:
        return op in ("max", "min", "and", "or", "xor")
    return False
