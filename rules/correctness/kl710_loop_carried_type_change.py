from kernlint.rules.faults import RefusalRule


class LoopCarriedTypeChange(RefusalRule):
    code = "KL710"
    name = "loop-carried-type-change"
    compiler_only = True
    summary = "a variable changes its type from one iteration to the next"
    kinds = frozenset(["constexpr-reassigned", "loop-carried-type"])
    if_certain = frozenset(["constexpr-reassigned", "loop-carried-type"])
    methods = (("loop-carried-type", "Begin with a float literal."),)

    what_it_does = """
        Compares the type of each variable before a loop with the type that an iteration leaves: `0` is int32, `0.0`
        is float32, `tl.zeros(..., tl.float16)` stays half only while nothing promotes it. A `tl.constexpr` that is
        assigned again is reported too.
        """
    why = """
        The compiler raises `Loop-carried variable s has initial type int32 but is re-assigned to fp32 in loop`. The
        interpreter accepts it, so CPU tests pass.
        """
    when_not = """
        `tl.static_range` loops, which are unrolled. Types that no source fixes.
        """
    fix_safety = """
        Safe where an integer literal in front of the loop becomes float32 in it: `0` becomes `0.0`. Unsafe
        where other element types that the program takes need no fix. Refused elsewhere.
        """
    evidence = """
        Compiled: the message above on Triton 3.9 for sm_90. Pattern row BUG-042. Of 723 evaluated LLM-written kernels
        4 failed for this reason.
        """

    bad = """
        @triton.jit
        def kernel(x, y, n):
            s = 0
            for i in range(n):
                s += tl.load(x + i)
            tl.store(y, s)
        """
    good = bad.replace("s = 0", "s = 0.0")
    launch = "kernel[(1,)](x, y, x.numel())"
    example = "s = 0\nfor i in range(n):\n    s += tl.load(x + i)"
    use_instead = "s = 0.0\nfor i in range(n):\n    s += tl.load(x + i)"
