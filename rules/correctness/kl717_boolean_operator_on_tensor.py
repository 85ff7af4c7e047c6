from kernlint.rules.faults import RefusalRule


class BooleanOperatorOnTensor(RefusalRule):
    code = "KL717"
    name = "boolean-operator-on-tensor"
    summary = "and, or, not on operands that are no booleans"
    kinds = frozenset(["boolean-operand"])
    methods = (("boolean-operand", "Use `&`, `|` and comparisons with zero, each in parentheses."),)

    what_it_does = """
        Finds `and`, `or` and `not` on run-time values whose type is not boolean.
        """
    why = """
        The compiler raises `Cannot bitcast data-type of size 32 to data-type of size 1`. The interpreter accepts it.
        """
    when_not = """
        Booleans and compile-time values; blocks of booleans compile, with a deprecation warning (KL802).
        """
    fix_safety = """
        No automatic fix: `and` becomes `&`, `not x` becomes `x == 0`, and operands that are no comparisons are compared with zero.
        """
    evidence = """
        Compiled: `Cannot bitcast data-type of size 8 to data-type of size 1` on Triton 3.9 for sm_90. Pattern row
        BUG-045.
        """

    bad = """
        @triton.jit
        def kernel(x, flags, y, n, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            m = (i < n) and not tl.load(flags + i)
            tl.store(y + i, tl.load(x + i, mask=m), mask=i < n)
        """
    good = bad.replace("and not tl.load(flags + i", "& (tl.load(flags + i) == 0")
    launch = "kernel[(1,)](x, torch.zeros(1024, dtype=torch.int8, device=x.device), y, x.numel(), BLOCK=1024)"
    example = "m = (i < n) and not skip"
    use_instead = "m = (i < n) & (skip == 0)"
