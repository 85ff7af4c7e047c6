from kernlint.rules.base import mapped
from kernlint.rules.faults import RefusalRule


class CallDoesNotBind(RefusalRule):
    code = "KL728"
    name = "call-does-not-bind"
    summary = "a call inside a kernel whose arguments do not fit the function"
    kinds = frozenset(["bad-call", "descriptor", "loop-bound"])

    if_certain = frozenset({"loop-bound"})
    what_it_does = """
        Binds the arguments of calls inside a kernel to the parameters that the target release gives the function of
        `triton.language`, or to those of a jit helper: unknown keywords, too many arguments, missing ones. Loop
        bounds that are floats or blocks and descriptors whose last stride is not 1 are reported too.
        """
    why = """
        The compiler raises a TypeError at the first launch.
        """
    when_not = """
        Calls with `*args`; parameters that a release has removed: see KL801.
        """
    fix_safety = "No automatic fix: which argument is missing, or too many, is the author's to say."
    evidence = """
        The parameters of each release are read from its sources by `tools/triton_api.py`.
        """

    bad = mapped("v").replace("y + i, v, mask=i < n", "y + tl.program_id(0), tl.sum(v, dim=0)")
    good = bad.replace(" dim", " axis")
    launch = "kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    example = "tl.sum(v, dim=0)"
    use_instead = "tl.sum(v, axis=0)"
