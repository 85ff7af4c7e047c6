from kernlint.rules.faults import RefusalRule


class UnavailableDotPrecision(RefusalRule):
    code = "KL807"
    name = "unavailable-dot-precision"
    summary = "input_precision that the device does not have"
    kinds = frozenset(["dot-precision"])

    what_it_does = """
        Finds `tl.dot(..., input_precision=...)` with a literal that the back end of the device (`--device`) does not
        offer: `tf32` on AMD other than gfx942, `tf32x3` on all AMD devices.
        """
    why = """
        The compiler raises `input_precision must be one of ('ieee', 'bf16x3', 'bf16x6')`.
        """
    when_not = """
        NVIDIA devices, which have all of them.
        """
    fix_safety = "No automatic fix: another precision computes other numbers."
    evidence = """
        Compiled: the message above for gfx90a on Triton 3.9. Pattern row BUG-076.
        """
    references = ("https://github.com/triton-lang/triton/issues/3498",)

    example_device = "mi250x-gcd"
    bad = """
        @triton.jit
        def kernel(x, y, D: tl.constexpr):
            i = tl.arange(0, D)
            t = i[:, None] * D + i[None, :]
            a = tl.load(x + t)
            tl.store(y + t, tl.dot(a, a, input_precision="tf32x3"))
        """
    good = bad.replace("tf32x3", "ieee")
    launch = "kernel[(1,)](x, y, D=64)"
    example = 'tl.dot(a, b, input_precision="tf32x3")  # on gfx90a'
    use_instead = "tl.dot(a, b, input_precision=PRECISION)  # a tl.constexpr chosen from the target"
