from __future__ import annotations

from collections.abc import Iterable

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Finding


class HostCodeRaises(Rule):
    code = "KL795"
    name = "host-code-raises"
    severity = "error"
    at_any_size = True
    summary = "the Python around a launch raises before the kernel runs"
    what_it_does = """
        Finds, on the way to a launch, parameters of a `triton.Config` read as its attributes (`config.BLOCK`), a kernel
        handed to `triton.autotune` in place of the key and launched from what that returns, shapes unpacked into more or fewer
        names than the tensor has dimensions, `.view` of a tensor whose strides allow no such view, and functions of the file that
        are called without an argument or with one that they do not take.
        """
    why = """
        `AttributeError: 'Config' object has no attribute 'BLOCK'`, `TypeError: 'function' object is not subscriptable`,
        `ValueError: too many values to unpack`, `RuntimeError: view size is not compatible with input tensor's size and
        stride`: the call never gets as far as the kernel.
        """
    when_not = """
        Code in a `try` statement; shapes and strides that nothing in view fixes (inputs of unknown shape, results of library
        calls); a warning where only some calls come past it.
        """
    fix_safety = "No automatic fix: what the code meant is the author's to say."
    evidence = """
        Run with Triton 3.9 and torch 2.13: the messages above. Triton 3.2 to 3.9 give a configuration the same attributes.
        """

    bad = """
        configs = [triton.Config({"BLOCK": 512}), triton.Config({"BLOCK": 1024})]

        @triton.autotune(configs=configs, key=["n"])
        @triton.jit
        def kernel(x, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

        def copy(x):
            y = torch.empty_like(x)
            kernel[(triton.cdiv(x.numel(), configs[0].BLOCK),)](x, y, x.numel())
            return y
        """
    good = bad.replace(
        "(triton.cdiv(x.numel(), configs[0].BLOCK),)", 'lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)'
    )
    example = "kernel[(triton.cdiv(x.numel(), configs[0].BLOCK),)](x, y, x.numel())"
    use_instead = 'kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())'

    def check(self, context: Context) -> Iterable[Finding]:
        for fault in context.workload.faults:
            yield self.finding(
                fault.text,
                fault.span,
                fault.function,
                severity=self.severity if fault.certain else "warning",
            )
