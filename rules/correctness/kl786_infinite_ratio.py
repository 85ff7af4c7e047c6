from kernlint.rules.faults import FaultRule


class InfiniteRatio(FaultRule):
    code = "KL786"
    name = "infinite-ratio"
    of_values = True
    kinds = frozenset(["infinite-ratio"])
    if_certain = frozenset(["infinite-ratio"])
    summary = "a quotient of two exponentials of the data is NaN where both overflow"
    what_it_does = """
        Finds quotients whose numerator and denominator both grow with an exponential of the same loaded data, and that are
        stored: `exp(x) / (1 + exp(x))`, `(exp(2x) - 1) / (exp(2x) + 1)`, `exp(x) / sum(exp(x))` without the row's maximum.
        """
    why = """
        `exp` is infinite from 88.8 on in float32, so that the quotient, which is mathematically 1, is inf / inf = NaN.
        """
    when_not = """
        Exponents with an upper bound: less a maximum, clamped, negated magnitudes; a `tl.where` that replaces the quotient.
        Inputs that are never that large.
        """
    fix_safety = """
        No automatic fix: `tl.sigmoid(x)`, `1 / (1 + exp(-x))` and `libdevice.tanh` are bounded, and a softmax subtracts the row's
        maximum first; results differ in the last bits.
        """
    evidence = """
        The example gives NaN for x = 100 under Triton's interpreter; the good one gives 1.
        """

    bad = """
        @triton.jit
        def sigmoid(x, y, n, B: tl.constexpr):
            i = tl.program_id(0) * B + tl.arange(0, B)
            v = tl.load(x + i, mask=i < n)
            e = tl.exp(v)
            tl.store(y + i, e / (1.0 + e), mask=i < n)

        def run(x):
            assert x.dtype == torch.float32
            y = torch.empty_like(x)
            sigmoid[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), B=1024)
            return y
        """
    good = bad.replace("e = tl.exp(v)", "e = tl.exp(-v)").replace("e / (1.0 + e)", "1.0 / (1.0 + e)")
    example = "e = tl.exp(v)\ntl.store(y + i, e / (1.0 + e), mask=i < n)"
    use_instead = "e = tl.exp(-v)\ntl.store(y + i, 1.0 / (1.0 + e), mask=i < n)"
