from kernlint.rules.faults import RefusalRule


class RecursiveKernelFunction(RefusalRule):
    code = "KL727"
    name = "recursive-kernel-function"
    compiler_only = True
    summary = "a jit function calls itself"
    kinds = frozenset(["recursion"])

    what_it_does = """
        Finds jit functions that call themselves, directly or through others.
        """
    why = """
        The compiler expands calls while it walks the body, also behind a compile-time `return`: it never ends,
        without a message.
        """
    when_not = """
        There is no legal recursion.
        """
    fix_safety = "No automatic fix: how deep the recursion goes is not known."
    evidence = """
        Compiled: the compiler was still running after 25 s (an earlier probe: five minutes) on Triton 3.9. Pattern
        row BUG-054.
        """

    bad = """
        @triton.jit
        def power(v, d: tl.constexpr):
            if d == 0:
                return v
            return power(v + 1, d - 1)

        @triton.jit
        def kernel(x, y):
            tl.store(y, power(tl.load(x), 3))
        """
    good = bad.replace(
        "if d == 0:\n                return v\n            return power(v + 1, d - 1)",
        "for _ in tl.static_range(d):\n                v += 1\n            return v",
    )
    launch = "kernel[(1,)](x, y)"
    example = "return power(v + 1, d - 1)"
    use_instead = "for _ in tl.static_range(d):\n    v += 1"
