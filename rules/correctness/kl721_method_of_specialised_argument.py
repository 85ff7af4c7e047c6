from kernlint.rules.faults import RefusalRule


class MethodOfSpecialisedArgument(RefusalRule):
    code = "KL721"
    name = "method-of-specialised-argument"
    summary = ".to(...) on an integer argument that is a constant when it is 1"
    kinds = frozenset(["specialised-scalar"])
    methods = (("specialised-scalar", "Write `tl.cast(argument, type)`, which takes compile-time numbers too."),)

    what_it_does = """
        Finds `argument.to(...)` on integer parameters of a kernel without annotation. It is an error where a launch
        in view passes 1, information where the value is open.
        """
    why = """
        An integer argument of value 1 is specialised: inside the kernel it is a plain number, and `'int' object has
        no attribute 'to'`. A stride is 1 for exactly one layout, often not the tested one.
        """
    when_not = """
        Arguments of other known values; floats; `tl.cast(argument, ...)`.
        """
    fix_safety = "Safe: `x.to(T)` becomes `tl.cast(x, T)`, which takes compile-time numbers too."
    evidence = """
        Compiled: `AttributeError("'int' object has no attribute 'to'")` on Triton 3.9 for sm_90. Pattern row BUG-048.
        """

    bad = """
        @triton.jit
        def kernel(x, y, stride, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i * stride.to(tl.int64)))
        """
    good = bad.replace("stride.to(tl.int64", "tl.cast(stride, tl.int64")
    launch = "kernel[(1,)](x, y, x.stride(1), BLOCK=64)"
    example = "stride.to(tl.int64)"
    use_instead = "tl.cast(stride, tl.int64)"
