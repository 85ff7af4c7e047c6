from kernlint.rules.faults import RefusalRule


class TensorElementAccess(RefusalRule):
    code = "KL709"
    name = "tensor-element-access"
    summary = "elements of a tensor are read or assigned by index"
    kinds = frozenset(["tensor-index"])

    what_it_does = """
        Finds subscripts of run-time values other than None and `:`: numbers, names, slices with bounds, and
        assignments to elements.
        """
    why = """
        A tensor lives in registers of many threads; Triton has no element access: `unsupported tensor index`. Arrays
        in registers or shared memory, as CUDA has them, do not exist.
        """
    when_not = """
        Tuples, and `tl.extract_slice`-like extensions of other back ends.
        """
    fix_safety = """
        No automatic fix: a reduction under a mask, `tl.gather` and a second load all pick an element, at different
        costs.
        """
    evidence = """
        Compiled: `unsupported tensor index: constexpr[0]` on Triton 3.9 for sm_90. Pattern row BUG-051. Of 723
        evaluated LLM-written kernels 8 failed for this reason alone.
        """

    bad = """
        @triton.jit
        def kernel(x, y, BLOCK: tl.constexpr):
            v = tl.load(x + tl.arange(0, BLOCK))
            tl.store(y, v[0])
        """
    good = bad.replace(
        "v = tl.load(x + tl.arange(0, BLOCK))\n            tl.store(y, v[0])",
        "i = tl.arange(0, BLOCK)\n            v = tl.load(x + i)\n            tl.store(y, tl.sum(tl.where(i == 0, v, 0.0)))",
    )
    launch = "kernel[(1,)](x, y, BLOCK=1024)"
    example = "v[0]"
    use_instead = "tl.sum(tl.where(i == 0, v, 0.0))  # or tl.gather, or load it again"
