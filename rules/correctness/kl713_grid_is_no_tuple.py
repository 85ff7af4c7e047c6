from kernlint.rules.base import mapped
from kernlint.rules.faults import RefusalRule


class GridIsNoTuple(RefusalRule):
    code = "KL713"
    name = "grid-is-no-tuple"
    summary = "the launch grid is a number, holds a float or is no function of one argument, or a kernel asks for a fourth axis"
    kinds = frozenset(["bad-grid", "grid-function", "program-axis"])
    methods = (("bad-grid", "Write the grid as a tuple."),)

    what_it_does = """
        Evaluates the grid of each launch, grid functions included: a number in place of a tuple, a float extent (`n /
        BLOCK`), a grid function that cannot be called with one argument (`def grid():`), and `tl.program_id` of an axis
        above 2 are reported.
        """
    why = """
        The launch raises `object of type 'int' has no len()`, or refuses the float; it calls a grid function with the
        meta-parameters.
        """
    when_not = """
        Grids that cannot be followed.
        """
    fix_safety = "Safe: a number is put into a tuple, a quotient becomes `triton.cdiv(...)`."
    evidence = """
        Run: TypeError at launch on Triton 3.9. Pattern row BUG-022.
        """
    references = ("https://github.com/triton-lang/triton/issues/5704",)

    bad = mapped("v * 2.0")
    launch = 'kernel[lambda meta: triton.cdiv(x.numel(), meta["BLOCK"])](x, y, x.numel(), BLOCK=1024)'
    good_launch = 'kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel(), BLOCK=1024)'
    example = 'grid = lambda meta: triton.cdiv(n, meta["BLOCK"])'
    use_instead = 'grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)'
