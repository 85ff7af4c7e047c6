from __future__ import annotations

from collections.abc import Iterator

from kernlint.interpret.vendor import needs_nvidia
from kernlint.rules.faults import RefusalRule
from kernlint.rules.finding import Context, Doubt
from kernlint.workload import Fault


class UnsupportedDot(RefusalRule):
    code = "KL715"
    name = "unsupported-dot"
    summary = "operands that tl.dot does not multiply"
    kinds = frozenset(["dot-least", "dot-shape", "dot-type"])
    if_certain = frozenset(["dot-least", "dot-shape", "dot-type"])
    methods = (
        ("dot-type", "Give both operands one type; cast the result instead of asking for an `out_dtype` of bfloat16."),
    )

    what_it_does = """
        Finds `tl.dot` of operands whose types differ or are not multiplied at all, whose inner extents differ, that
        are smaller than the least tile of the target release, or with `out_dtype=tl.bfloat16`.
        """
    why = """
        The compiler raises `Both operands must be same dtype`, `Input shapes should have M >= 16, N >= 16 and K >=
        16` and the like; the interpreter accepts a tile that is too small.
        """
    when_not = """
        Types and extents that no source fixes; two fp8 formats, which may be mixed. AMD devices pad small tiles: these are
        a remark where neither a device that was named nor an import tells that the program is for NVIDIA's. From Triton
        3.5 M and N may be 1; K needs 16 for 16-bit, 32 for 8-bit, and from 3.9 only 8 for 32-bit operands.
        """
    fix_safety = """
        An `out_dtype` of bfloat16 becomes a cast of the result, which is safe. Of a float32 operand beside a half one
        the fix is unsafe: it rounds it to the type of the other. Refused for other types, and for tiles that are too
        small.
        """
    evidence = """
        Compiled for sm_90 on Triton 3.9: least (1, 1, 16) for fp16, (1, 1, 32) for int8 and fp8, (1, 1, 8) for fp32;
        earlier releases from their back ends' sources. Pattern rows BUG-039, BUG-040, BUG-041.
        """
    references = (
        "https://github.com/state-spaces/mamba/issues/855",
        "https://github.com/triton-lang/triton/issues/8426",
    )

    bad = """
        @triton.jit
        def kernel(x, y, M: tl.constexpr, K: tl.constexpr):
            m, k = tl.arange(0, M), tl.arange(0, K)
            a = tl.load(x + m[:, None] * K + k[None, :])
            b = tl.load(x + k[:, None] * M + m[None, :])
            tl.store(y + m[:, None] * M + m[None, :], tl.dot(tl.exp(a.to(tl.float32)), b))
        """
    good = bad.replace("tl.float32))", "tl.float32)).to(tl.float16)")
    launch = "kernel[(1,)](x, y, M=16, K=16)"
    inputs = "torch.randn(64, 64, dtype=torch.float16)"
    example = "tl.dot(tl.exp(a.to(tl.float32)), b)  # b is fp16"
    use_instead = "tl.dot(tl.exp(a.to(tl.float32)).to(b.dtype), b)"

    def doubts_of(self, fault: Fault, context: Context) -> Iterator[Doubt]:
        yield from super().doubts_of(fault, context)
        if fault.kind == "dot-least" and not (context.device_named or needs_nvidia(context.program.kernel)):
            yield Doubt("AMD GPUs multiply tiles of any size, and nothing tells which vendor's GPU the program is for")
