"""KL720."""

from __future__ import annotations

from kernlint.rules.refusals import RefusalRule


class PlainGlobalInKernel(RefusalRule):
    code = "KL720"
    name = "plain-global-in-kernel"
    category = "correctness"
    severity = "error"
    summary = "a kernel reads a module variable that is no tl.constexpr"
    kinds = frozenset(["plain-global"])
    methods = (("plain-global", "Make the value by `tl.constexpr(...)`."),)

    what_it_does = """
        Finds names in a kernel that stand for numbers, strings or containers of the module which were not made by
        `tl.constexpr(...)`. The annotation `X: tl.constexpr = 3` at module level makes none.
        """
    why = """
        The compiler raises `Cannot access global variable X from within @jit'ed function`. The interpreter reads the
        global, so CPU tests pass.
        """
    when_not = """
        Values that are `tl.constexpr(...)`, modules, jit functions and element types; globals used as default values
        of parameters.
        """
    fix_safety = """
        Safe: `tl.constexpr(...)` around the value changes nothing on the host but its type. Unsafe where host code
        reads the variable; refused for containers and for what is assigned several times.
        """
    evidence = """
        Compiled: the message above on Triton 3.9 for sm_90. Pattern row BUG-047.
        """

    bad = """
        SCALE: tl.constexpr = 2.0

        @triton.jit
        def kernel(x, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            v = tl.load(x + i, mask=i < n)
            tl.store(y + i, v * SCALE, mask=i < n)

        class ModelNew(torch.nn.Module):
            def forward(self, x):
                y = torch.empty_like(x)
                kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
                return y

        def get_inputs():
            return [torch.randn(64, 64)]
        """
    good = bad.replace("SCALE: tl.constexpr = 2.0", "SCALE = tl.constexpr(2.0)")
    example = "SCALE = 2.0"
    use_instead = "SCALE = tl.constexpr(2.0)"
