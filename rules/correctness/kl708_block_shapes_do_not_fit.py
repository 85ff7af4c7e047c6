from kernlint.rules.faults import RefusalRule


class BlockShapesDoNotFit(RefusalRule):
    code = "KL708"
    name = "block-shapes-do-not-fit"
    summary = "blocks of shapes that do not broadcast, or an axis that a block does not have"
    kinds = frozenset(["hint-rank", "shape-mismatch", "tensor-rank"])
    if_certain = frozenset(["shape-mismatch", "tensor-rank"])

    what_it_does = """
        Finds operands whose shapes do not broadcast, a mask or value of another shape than the pointers it belongs
        to, a reduction over an axis that the block does not have (or over one value), reshapes that change the number
        of elements, and new axes beyond the rank.
        """
    why = """
        The compiler raises `Cannot make_shape_compatible` or `reduction axis must be < inputs rank`.
        """
    when_not = """
        Shapes that no launch in view fixes.
        """
    fix_safety = "No automatic fix: which of the two shapes is meant is the author's to say."
    evidence = """
        Read from the semantic analysis of Triton 3.2 to 3.9. Of 723 evaluated LLM-written kernels 10 failed for this
        reason. The silent case, a 1-D mask spread along the wrong axis of a square tile, is pattern row BUG-014.
        """

    bad = """
        @triton.jit
        def kernel(x, y, M: tl.constexpr, N: tl.constexpr):
            m, n = tl.arange(0, M), tl.arange(0, N)
            tl.store(y + m[:, None] * N + n[None, :], tl.load(x + m[:, None] * N + n[None, :]) + m)
        """
    good = bad.replace(") + m", ") + m[:, None]")
    launch = "kernel[(1,)](x, y, M=32, N=64)"
    example = "tile + m  # [32, 64] + [32]"
    use_instead = "tile + m[:, None]"
