from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.source_text import node_at

_SAID = frozenset({"input_precision", "allow_tf32"})


class ImplicitTf32(Rule):
    code = "KL779"
    name = "implicit-tf32"
    default = False
    summary = "a float32 tl.dot without input_precision multiplies in tf32 on NVIDIA and in float32 on AMD"
    what_it_does = """
        Finds `tl.dot` calls on float32 operands that say nothing about their precision.
        """
    why = """
        tf32 keeps 10 bits of each operand. PyTorch's matmul of float32 tensors does not use it unless asked to, so
        that results differ by 1e-3, and differ between vendors.
        """
    when_not = """
        Off by default: for most kernels tf32 is what was meant. Half-precision operands.
        """
    fix_safety = """
        No automatic fix: which precision is meant is the author's to say. `input_precision` of ieee is several times
        slower than tf32.
        """
    evidence = """
        The default was seen in the IR of Triton 3.9 for sm_90. Pattern row BUG-065.
        """

    bad = """
        @triton.jit
        def product(x, y, o, D: tl.constexpr):
            i = tl.arange(0, D)
            t = i[:, None] * D + i[None, :]
            tl.store(o + t, tl.dot(tl.load(x + t), tl.load(y + t)))

        def run(x, y):
            assert x.dtype == torch.float32 and y.dtype == torch.float32
            o = torch.empty(64, 64, device=x.device)
            product[(1,)](x, y, o, D=64)
            return o
        """
    good = bad.replace("tl.load(y + t))", 'tl.load(y + t), input_precision="ieee")')
    example = "tl.dot(x, y)  # float32"
    use_instead = 'tl.dot(x, y, input_precision="ieee")'

    def check(self, context: Context) -> Iterable[Finding]:
        seen = set()
        for launch in context.launches():
            for dot in launch.kernel.dots():
                wide = all(side.known and side.dtype.name == "float32" for side in (dot.a, dot.b))
                call = node_at(context, dot.span, cst.Call) if wide and dot.precision == "tf32" else None
                if call is None or dot.span in seen or len(call.args) > 3:
                    continue
                if any(arg.keyword is not None and arg.keyword.value in _SAID for arg in call.args):
                    continue
                seen.add(dot.span)
                yield self.finding(
                    f"`{launch.kernel.name}` multiplies float32 operands in tf32, by default",
                    dot.span,
                    launch.kernel.name,
                    (Evidence("both operands are float32", dot.span),),
                )
