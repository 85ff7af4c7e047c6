from kernlint.rules.faults import RefusalRule


class BlockAsCondition(RefusalRule):
    code = "KL718"
    name = "block-as-condition"
    summary = "a block decides an if, a while or a conditional expression"
    kinds = frozenset(["block-condition"])
    methods = (("block-condition", "Choose with `tl.where`."),)

    what_it_does = """
        Finds conditions of `if`, `while` and conditional expressions that are blocks of more than one element.
        """
    why = """
        A branch is taken by a whole program; the compiler refuses a block as its condition, the interpreter fails or
        takes the first element.
        """
    when_not = """
        Conditions reduced to one value with `tl.max` or `tl.sum`.
        """
    fix_safety = """
        No automatic fix: an `if` that gives one variable a value becomes `tl.where`, which computes both values and makes every access.
        """
    evidence = """
        Compiled: refused on Triton 3.9 for sm_90. Pattern row BUG-046.
        """

    bad = """
        @triton.jit
        def kernel(x, y, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            v = tl.load(x + i)
            if v > 0:
                v = v * 2
            tl.store(y + i, v)
        """
    good = bad.replace("if v > 0:\n                v = v * 2", "v = tl.where(v > 0, v * 2, v)")
    launch = "kernel[(1,)](x, y, BLOCK=1024)"
    example = "if v > 0:\n    v = v * 2"
    use_instead = "v = tl.where(v > 0, v * 2, v)"
