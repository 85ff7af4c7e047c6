from kernlint.rules.faults import RefusalRule


class BlockThroughOnePointer(RefusalRule):
    code = "KL707"
    name = "block-through-one-pointer"
    summary = "a block of values or a block mask goes through a single pointer"
    kinds = frozenset(["block-pointer-mask", "block-through-scalar", "other-without-mask"])

    what_it_does = """
        Finds `tl.load`, `tl.store` and atomics through one pointer (no block of offsets) whose mask, `other` or value
        is a block, and `other` without a mask.
        """
    why = """
        The compiler raises `Mask argument cannot be block type if pointer argument is not a block`, or `` `other`
        cannot be provided without `mask` ``.
        """
    when_not = """
        Values reduced to one number first.
        """
    fix_safety = "No automatic fix: whether a block of addresses or one value is meant is the author's to say."
    evidence = """
        Compiled: both messages on Triton 3.9 for sm_90. Pattern row BUG-016. Of 723 evaluated LLM-written kernels 12
        failed for this reason.
        """
    references = ("https://github.com/triton-lang/triton/issues/1017",)

    bad = """
        @triton.jit
        def kernel(x, y, n, BLOCK: tl.constexpr):
            i = tl.arange(0, BLOCK)
            tl.store(y + tl.program_id(0), tl.load(x + i, mask=i < n))
        """
    good = bad.replace("tl.load(x + i, mask=i < n", "tl.sum(tl.load(x + i, mask=i < n, other=0.0)")
    launch = "kernel[(1,)](x, y, x.numel(), BLOCK=1024)"
    example = "tl.store(y + pid, block)"
    use_instead = "tl.store(y + pid, tl.sum(block))  # or y + pid * BLOCK + i"
