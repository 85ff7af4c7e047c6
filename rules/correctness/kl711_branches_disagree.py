from kernlint.rules.faults import RefusalRule


class BranchesDisagree(RefusalRule):
    code = "KL711"
    name = "branches-disagree"
    compiler_only = True
    summary = "a variable has two types after a run-time condition, or exists in one branch only"
    kinds = frozenset(["branch-type", "branch-undefined"])
    if_certain = frozenset(["branch-type", "branch-undefined"])

    what_it_does = """
        Compares the variables that the two branches of an `if` on a run-time value leave. A variable whose types
        differ, or that only one branch (or only the body of a loop) defines and that is used later, is reported; so
        are the two values of a conditional expression.
        """
    why = """
        The compiler raises `Mismatched type for v between then block and else block`, or `v is not defined`. The
        interpreter takes one branch and sees nothing.
        """
    when_not = """
        Conditions on `tl.constexpr` values, of which only one branch is compiled.
        """
    fix_safety = "No automatic fix: which value the other branch should leave is the author's to say."
    evidence = """
        Compiled: `NameError('v is not defined')` on Triton 3.9 for sm_90. Pattern row BUG-053.
        """

    bad = """
        @triton.jit
        def kernel(x, y, n):
            if n > 3:
                v = tl.load(x)
            tl.store(y, v)
        """
    good = bad.replace("def kernel(x, y, n):", "def kernel(x, y, n):\n            v = 0.0")
    launch = "kernel[(1,)](x, y, x.numel())"
    example = "if n > 3:\n    v = tl.load(x)\ntl.store(y, v)"
    use_instead = "v = 0.0\nif n > 3:\n    v = tl.load(x)\ntl.store(y, v)"
