"""KL104."""

from __future__ import annotations

from collections.abc import Iterable

from kernlint.interpret.edits import Edits
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.workload import dtype as dt


class IeeeDot(Rule):
    code = "KL104"
    name = "ieee-dot"
    category = "precision"
    severity = "warning"
    summary = 'fp32 tl.dot with input_precision="ieee" leaves the tensor cores'
    what_it_does = """
        Finds `tl.dot` calls of fp32 operands with `input_precision="ieee"` or `allow_tf32=False`.
        """
    why = """
        There are no fp32 tensor cores: an ieee dot is computed by the FMA units, at a tenth of the tf32 rate or less.
        """
    when_not = """
        The result needs the full fp32 mantissa (triangular solves, gates, losses). `input_precision="tf32x3"` gives
        nearly that from three tensor-core dots. AMD devices without tf32 have only ieee.
        """
    fix_safety = (
        "Unsafe: tf32 keeps 10 bits of the operands' mantissa. tf32x3 keeps nearly all of it at a third of the rate."
    )
    evidence = """
        H100, M=N=K=2048, tile 64x64x32, 4 warps, the same operands: ieee 499 us, tf32 166 us
        (`benchmarks/facts/h100-seed.txt`); with the best tile of each 773 us against 64 us (`h100-gemm.csv`).
        Pattern row PERF-001.
        """

    bad = """
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def kernel(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
            m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
            acc = tl.zeros((BM, BN), tl.float32)
            for start in range(0, K, BK):
                x = tl.load(a + m[:, None] * K + (start + k)[None, :])
                y = tl.load(b + (start + k)[:, None] + n[None, :] * K)
                acc = tl.dot(x, y, acc, input_precision="ieee")
            tl.store(c + m[:, None] * BN + n[None, :], acc)

        def launch(a, b):
            assert a.dtype == torch.float32 and b.dtype == torch.float32
            c = torch.empty(64, 64, device=a.device)
            kernel[(1,)](a, b, c, 4096, BM=64, BN=64, BK=32)
            return c
        """
    good = """
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def kernel(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
            m, n, k = tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, BK)
            acc = tl.zeros((BM, BN), tl.float32)
            for start in range(0, K, BK):
                x = tl.load(a + m[:, None] * K + (start + k)[None, :])
                y = tl.load(b + (start + k)[:, None] + n[None, :] * K)
                acc = tl.dot(x, y, acc, input_precision="tf32x3")
            tl.store(c + m[:, None] * BN + n[None, :], acc)

        def launch(a, b):
            assert a.dtype == torch.float32 and b.dtype == torch.float32
            c = torch.empty(64, 64, device=a.device)
            kernel[(1,)](a, b, c, 4096, BM=64, BN=64, BK=32)
            return c
        """
    example = 'acc = tl.dot(x, y, acc, input_precision="ieee")'
    use_instead = 'acc = tl.dot(x, y, acc, input_precision="tf32")  # or "tf32x3"'

    def check(self, context: Context) -> Iterable[Finding]:
        if context.device.peak_tf32_tensor_dense_tflops is None:
            return
        seen = set()
        for launch in context.launches():
            for dot in launch.kernel.dots():
                both_fp32 = dot.a.dtype == dt.FLOAT32 and dot.b.dtype == dt.FLOAT32
                widened = dot.a.casts and dot.b.casts  # then the upcast is the cause: KL103
                if dot.precision != "ieee" or not both_fp32 or widened or dot.span in seen:
                    continue
                seen.add(dot.span)
                change = Change(
                    context.variant.then(Edits(precisions=frozenset({(dot.span, "tf32")}))),
                    "The fp32 dot asks for ieee precision, which no tensor core offers, so it runs on the FMA units.",
                    'Use `input_precision="tf32"` (or "tf32x3" where nearly full fp32 accuracy is needed) so that the dot runs '
                    "on the tensor cores.",
                    f'At line {dot.span.line} set `input_precision="tf32"`, compare the error against the reference, and take '
                    '"tf32x3" where it is too large.',
                    automatic=True,
                )
                yield Finding(
                    self,
                    self.severity,
                    f"`{launch.kernel.name}` runs its fp32 tl.dot in ieee precision",
                    dot.span,
                    launch.kernel.name,
                    launch.kernel.name,
                    (Evidence(f"both operands are float32 and the precision is {dot.precision}", dot.span),),
                    change,
                )
