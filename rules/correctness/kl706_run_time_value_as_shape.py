from kernlint.rules.faults import RefusalRule


class RunTimeValueAsShape(RefusalRule):
    code = "KL706"
    name = "run-time-value-as-shape"
    summary = "a run-time value where a compile-time constant is needed"
    kinds = frozenset(["runtime-shape"])
    methods = (("runtime-shape", "Annotate it `tl.constexpr`."),)

    what_it_does = """
        Finds bounds of `tl.arange` and `tl.static_range` and extents of `tl.zeros`, `tl.full`, `tl.reshape` that are
        run-time values: parameters without `tl.constexpr`, loaded values, and numbers that plain assignment has made
        run-time values (`half = BLOCK // 2`).
        """
    why = """
        The compiler raises `arange's arguments must be of type tl.constexpr`. Assignment without the annotation `:
        tl.constexpr` turns a compile-time number into a tensor.
        """
    when_not = """
        Parameters annotated `tl.constexpr`, and locals such as `half: tl.constexpr = BLOCK // 2`.
        """
    fix_safety = """
        Safe for a local number made of constexprs, and for a parameter that the launches in view give a power of two;
        unsafe where no launch says what it gets. Refused where the value is computed at run time.
        """
    evidence = """
        Compiled: `arange's arguments must be of type tl.constexpr` on Triton 3.9 for sm_90. Pattern row BUG-038. Of
        723 evaluated LLM-written kernels 16 failed for this reason.
        """
    references = ("https://github.com/triton-lang/triton/issues/3722",)

    bad = """
        @triton.jit
        def kernel(x, y, BLOCK: tl.constexpr):
            half = BLOCK // 2
            i = tl.program_id(0) * half + tl.arange(0, half)
            tl.store(y + i, tl.load(x + i) * 2.0)
        """
    good = bad.replace("half =", "half: tl.constexpr =")
    launch = "kernel[(8,)](x, y, BLOCK=1024)"
    example = "half = BLOCK // 2\ni = tl.arange(0, half)"
    use_instead = "half: tl.constexpr = BLOCK // 2\ni = tl.arange(0, half)"
