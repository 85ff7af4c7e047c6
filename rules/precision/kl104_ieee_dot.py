"""KL104."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from kernlint.interpret.edits import Edits
from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.source import node_at
from kernlint.workload import Dot, Launch, Operand
from kernlint.workload import dtype as dt


class IeeeDot(Rule):
    code = "KL104"
    name = "ieee-dot"
    category = "precision"
    severity = "warning"
    summary = 'fp32 tl.dot with input_precision="ieee" leaves the tensor cores'
    what_it_does = """
        Finds `tl.dot` calls with `input_precision="ieee"` or `allow_tf32=False` whose operands are two fp32 tensors as they lie
        in memory: a plain matrix product. The precision must be written down, at the dot, at the launch or as the kernel's
        default; one that a caller or an environment variable chooses is somebody's decision.
        """
    why = """
        There are no fp32 tensor cores: an ieee dot is computed by the FMA units, at a tenth of the tf32 rate or less.
        """
    when_not = """
        The result needs the full fp32 mantissa. Operands that the kernel computed itself (triangular solves, gates, states of
        a recurrence) are left alone: there ieee is nearly always deliberate. `input_precision="tf32x3"` gives
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
            for dot, loops in launch.kernel.walk(Dot):
                assert isinstance(dot, Dot)
                if not loops:
                    continue  # a single small product gains nothing
                if dot.precision != "ieee" or dot.span in seen or not _plain_fp32(dot.a) or not _plain_fp32(dot.b):
                    continue
                if not _written_down(context, launch, dot):
                    continue
                seen.add(dot.span)
                change = Change(
                    context.variant.then(Edits(precisions=frozenset({(dot.span, "tf32")}))),
                    "The fp32 dot asks for ieee precision, which no tensor core offers, so it runs on the FMA units.",
                    'Use `input_precision="tf32"` (or "tf32x3" where nearly full fp32 accuracy is needed) so that the dot runs '
                    "on the tensor cores.",
                    f'At line {dot.span.line} set `input_precision="tf32"`, compare the error against the reference, and take '
                    '"tf32x3" where it is too large.',
                )
                yield Finding(
                    self,
                    self.severity,
                    f"`{launch.kernel.name}` runs its fp32 tl.dot in ieee precision",
                    dot.span,
                    launch.kernel.name,
                    launch.kernel.name,
                    (Evidence(f"both operands are float32 in memory and the precision is {dot.precision}", dot.span),),
                    change,
                )


def _plain_fp32(operand: Operand) -> bool:
    """Whether an operand is known to be fp32 in memory and comes straight from there (a narrower one: KL103)."""
    return operand.known and operand.direct and operand.dtype == dt.FLOAT32 and not operand.casts


def _written_down(context: Context, launch: Launch, dot: Dot) -> bool:
    """Whether the source says the precision outright: a literal at the dot, or a constexpr of the kernel that the launch or
    the kernel's signature gives as a literal."""
    call = node_at(context, dot.span, cst.Call)
    value = _keyword(call, "input_precision") or _keyword(call, "allow_tf32") if call is not None else None
    if not isinstance(value, cst.Name) or value.value in ("True", "False"):
        return isinstance(value, (cst.SimpleString, cst.Name))
    if value.value not in launch.constexprs:
        return False
    if value.value not in launch.explicit:
        return True
    site = node_at(context, launch.span, cst.Call)
    given = _keyword(site, value.value) if site is not None else None
    return isinstance(given, cst.SimpleString) or (isinstance(given, cst.Name) and given.value in ("True", "False"))


def _keyword(call: cst.Call, name: str) -> cst.BaseExpression | None:
    return next((a.value for a in call.args if a.keyword is not None and a.keyword.value == name), None)
