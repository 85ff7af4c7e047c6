from kernlint.rules.faults import FaultRule


class ZeroDivisor(FaultRule):
    code = "KL776"
    name = "zero-divisor"
    of_values = True
    kinds = frozenset(["zero-divisor"])
    summary = "a tile is divided by its largest magnitude, which is zero for a tile of zeros"
    what_it_does = """
        Finds divisions by a value that was made from `tl.max(tl.abs(x))` by scaling alone, as in dynamic
        quantisation. A warning where the quotient, or what is computed from it, is stored as a float; elsewhere a remark.
        """
    why = """
        A block of zeros (padding, a dead channel) gives 0/0 = NaN for every element of it, or a scale of infinity
        that does so later.
        """
    when_not = """
        A lower bound (`tl.maximum(scale, 1e-12)`), an added epsilon, or a `tl.where` that replaces the divisor or the
        result. Comparisons, `tl.clamp`, minima, maxima and integers, which a NaN does not pass, are what makes it a remark.
        """
    fix_safety = """
        No automatic fix: the lower bound depends on the format.
        """
    evidence = """
        All-zero rows gave NaN in the fp8 and int8 quantisation kernels of two libraries (ROCm/aiter issue 4288,
        huggingface/kernels-community issue 680); the example does so under Triton's interpreter. Pattern row BUG-062.
        """
    references = ("https://github.com/ROCm/aiter/issues/4288",)

    bad = """
        @triton.jit
        def quantise(x, q, s, B: tl.constexpr):
            c = tl.arange(0, B)
            v = tl.load(x + c)
            scale = tl.max(tl.abs(v), axis=0) / 448.0
            tl.store(q + c, v / scale)
            tl.store(s, scale)

        def run(x):
            assert x.dtype == torch.float32
            q, s = torch.empty_like(x), torch.empty(1, device=x.device)
            quantise[(1,)](x, q, s, B=1024)
            return q, s
        """
    good = bad.replace("tl.max(tl.abs(v), axis=0) / 448.0", "tl.maximum(tl.max(tl.abs(v), axis=0) / 448.0, 1e-12)")
    example = "scale = tl.max(tl.abs(v)) / 448.0\nq = v / scale"
    use_instead = "scale = tl.maximum(tl.max(tl.abs(v)) / 448.0, 1e-12)"
