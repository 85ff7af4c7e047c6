from kernlint.rules.faults import RefusalRule


class BlockNotAPowerOfTwo(RefusalRule):
    code = "KL705"
    name = "block-not-a-power-of-two"
    summary = "an extent of a block is not a power of two, or the block is too large"
    kinds = frozenset(["not-power-of-two", "too-large"])
    if_certain = frozenset(["not-power-of-two", "too-large"])

    what_it_does = """
        Finds `tl.arange`, `tl.zeros`, `tl.full`, `tl.reshape` and the like whose extent, with the values of the
        launch, is not a power of two, is empty, or makes a block of more than 1,048,576 elements.
        """
    why = """
        The compiler raises `arange's range must be a power of 2`. A kernel that takes a model dimension for its block
        works for 64 and 128 and fails for 96.
        """
    when_not = """
        Extents that no launch in view fixes.
        """
    fix_safety = """
        No automatic fix: a block of `triton.next_power_of_2(D)` needs a mask at every access and a fitting `other`.
        """
    evidence = """
        Compiled: `arange's range must be a power of 2` on Triton 3.9 for sm_90. Pattern row BUG-037. Of 723 evaluated
        LLM-written kernels 10 failed for this reason.
        """
    references = (
        "https://github.com/sgl-project/sglang/issues/25672",
        "https://github.com/vllm-project/vllm/issues/49157",
    )

    bad = """
        @triton.jit
        def kernel(x, y, stride, D: tl.constexpr):
            i = tl.program_id(0) * stride + tl.arange(0, D)
            tl.store(y + i, tl.load(x + i) * 2.0)
        """
    good = (
        bad.replace("D: tl.constexpr):", "D: tl.constexpr, BLOCK: tl.constexpr):\n            d = tl.arange(0, BLOCK)")
        .replace("tl.arange(0, D)", "d")
        .replace("tl.load(x + i) * 2.0", "tl.load(x + i, mask=d < D) * 2.0, mask=d < D")
    )
    launch = "kernel[(x.shape[0],)](x, y, x.stride(0), D=x.shape[1])"
    good_launch = "kernel[(x.shape[0],)](x, y, x.stride(0), D=x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))"
    inputs = "torch.randn(64, 96)"
    example = "d = tl.arange(0, D)  # D = 96"
    use_instead = "d = tl.arange(0, BLOCK)  # BLOCK = triton.next_power_of_2(D), masked with d < D"
