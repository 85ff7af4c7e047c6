from kernlint.rules.faults import FaultRule


class FalseAssumption(FaultRule):
    code = "KL784"
    name = "false-assumption"
    kinds = frozenset(["false-assumption"])
    methods = (("false-assumption", "Assume what holds for the first program too: `>=` in the place of `>`."),)
    summary = "tl.assume states a condition that the program with index 0 breaks"
    what_it_does = """
        Finds `tl.assume(condition)` whose condition, computed for the program with index 0 along every axis, is
        false.
        """
    why = """
        Every grid has that program. The compiler removes what it need not do under the assumption, bounds checks and
        branches included, and the program with index 0 computes something else.
        """
    when_not = """
        Conditions on sizes and strides that hold for the values passed, and those that no source settles.
        """
    fix_safety = "Safe: `>` becomes `>=` beside 0. Refused for other conditions."
    evidence = """
        `tl.assume(pid > 0)` folds `pid == 0` to false in the IR (Triton 3.9). Pattern row BUG-078.
        """
    references = ("https://triton-lang.org/main/python-api/triton.language.html",)

    bad = """
        @triton.jit
        def double(x, o, B: tl.constexpr):
            pid = tl.program_id(0)
            tl.assume(pid > 0)
            c = pid * B + tl.arange(0, B)
            tl.store(o + c, tl.load(x + c) * 2)

        def run(x):
            o = torch.empty_like(x)
            double[(triton.cdiv(x.numel(), 1024),)](x, o, B=1024)
            return o
        """
    good = bad.replace("pid > 0", "pid >= 0")
    example = "tl.assume(pid > 0)"
    use_instead = "tl.assume(pid >= 0)"
