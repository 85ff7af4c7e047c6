from kernlint.rules.faults import FaultRule


class InfinityTimesZero(FaultRule):
    code = "KL787"
    name = "infinity-times-zero"
    of_values = True
    kinds = frozenset(["infinite-product"])
    if_certain = frozenset(["infinite-product"])
    summary = "an exponential that may overflow is multiplied by a mask, which makes it NaN where it should be 0"
    what_it_does = """
        Finds products of a tile of booleans, or of the numbers they were cast to, with an exponential of loaded data that nothing
        bounds, or of the difference of a row and a column of the same data, which takes both signs; and that are stored.
        """
    why = """
        `exp` is infinite from 88.8 on in float32, and infinity times 0 is NaN: the element that the mask was to remove spoils
        the sum or the product that it gets into. With decays that are summed up, half of the differences are positive.
        """
    when_not = """
        A `tl.where` on the exponent or on the product; exponents with an upper bound. Inputs that are never that large.
        """
    fix_safety = "No automatic fix: the mask may have to go into the exponent, or around the product."
    evidence = """
        The example gives NaN above the diagonal for decays of -2 a step and 64 steps under Triton's interpreter, the good one 0.
        """

    bad = """
        @triton.jit
        def decays(g, y, n, B: tl.constexpr):
            i = tl.arange(0, B)
            total = tl.cumsum(tl.load(g + i, mask=i < n, other=0.0), 0)
            decay = tl.exp(total[:, None] - total[None, :]) * (i[:, None] >= i[None, :])
            tl.store(y + i[:, None] * n + i[None, :], decay, mask=(i[:, None] < n) & (i[None, :] < n))

        def run(g):
            assert g.dtype == torch.float32
            n = g.shape[0]
            y = torch.empty(n, n, device=g.device)
            decays[(1,)](g, y, n, B=triton.next_power_of_2(n))
            return y
        """
    good = bad.replace(
        "decay = tl.exp(total[:, None] - total[None, :]) * (i[:, None] >= i[None, :])",
        "decay = tl.where(i[:, None] >= i[None, :], tl.exp(total[:, None] - total[None, :]), 0.0)",
    )
    example = "decay = tl.exp(total[:, None] - total[None, :]) * (i[:, None] >= i[None, :])"
    use_instead = "decay = tl.where(i[:, None] >= i[None, :], tl.exp(total[:, None] - total[None, :]), 0.0)"
