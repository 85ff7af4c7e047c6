from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from kernlint.rules.faults import RefusalRule
from kernlint.rules.finding import Context, Doubt
from kernlint.rules.proofs.source_text import node_at
from kernlint.workload import Fault


class UnsupportedKernelSyntax(RefusalRule):
    code = "KL704"
    name = "unsupported-kernel-syntax"
    compiler_only = True
    summary = "a statement or expression that kernels do not support"
    kinds = frozenset(["constant-while", "unpacked-tensor", "unsupported-syntax"])

    what_it_does = """
        Finds syntax in a jit function that the code generator of the target release has no visitor for: `break`,
        `continue`, `try`, lambdas, comprehensions, nested functions, `else` after a loop, chained comparisons (before
        3.9), chains of `and`/`or` without parentheses (before 3.4), and a `while` whose condition is a compile-time
        constant.
        """
    why = """
        The compiler raises `UnsupportedLanguageConstruct` at the first launch; the interpreter runs the same code
        without complaint.
        """
    when_not = """
        Code under a compile-time condition that is false, which is never compiled. A remark where a kernel that nothing
        in view launches ends by a `raise`, its author's own refusal. Releases that support the construct: name one with
        `--target-triton`.
        """
    fix_safety = "No automatic fix: the statement has to be written in another way, for which there is no rule."
    evidence = """
        Which nodes each release visits is read from its code generator by `tools/triton_api.py`. Of 723 evaluated
        LLM-written kernels 16 failed for this reason.
        """

    bad = """
        @triton.jit
        def kernel(x, y, n, BLOCK: tl.constexpr):
            for start in range(0, n, BLOCK):
                i = start + tl.arange(0, BLOCK)
                if start > 4096:
                    break
                tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)
        """
    good = bad.replace("for start in range(0, n, BLOCK):", "for start in range(0, min(n, 4097), BLOCK):").replace(
        "                if start > 4096:\n                    break\n", ""
    )
    launch = "kernel[(1,)](x, y, x.numel(), BLOCK=1024)"
    example = "for start in range(0, n, BLOCK):\n    if start > 4096:\n        break"
    use_instead = "for start in range(0, min(n, 4097), BLOCK):\n    ..."

    def doubts_of(self, fault: Fault, context: Context) -> Iterator[Doubt]:
        yield from super().doubts_of(fault, context)
        if context.workload.bare and node_at(context, fault.span, cst.Raise) is not None:
            yield Doubt("the kernel is not meant to be compiled, and nothing launches it")
