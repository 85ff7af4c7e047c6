from kernlint.rules.faults import FaultRule


class LowPrecisionSum(FaultRule):
    code = "KL778"
    name = "low-precision-sum"
    of_compiler = True
    kinds = frozenset(["low-precision-sum"])
    methods = (("low-precision-sum", "Add up in float32."),)
    summary = "tl.sum or tl.cumsum adds up float16 or bfloat16 values in that type"
    what_it_does = """
        Finds `tl.sum` and `tl.cumsum` of a tile of half precision without `dtype=`. At info level where the type is
        not known and no cast is in view.
        """
    why = """
        The reduction tree adds in the type of its input: bfloat16 keeps 8 bits, so that a sum of a few hundred equal
        values stops growing. float32 additions cost the same.
        """
    when_not = """
        Maxima and minima, which are exact. Integers, which are widened to 32 bits. A remark where the tree's roundings, one a
        level, stay within what `torch.testing` allows of the type: up to 4 float16 values, up to 16 bfloat16 values.
        """
    fix_safety = """
        Unsafe: the input is cast to float32, so that the sum, and what is computed from it, is float32. More exact.
        """
    evidence = """
        Compiled for sm_90 the reduction of a bfloat16 tile is a bf16 addition (Triton 3.9); PyTorch's compiler
        inserts the cast for this reason (pytorch issue 141052). Pattern row BUG-064.
        """
    references = ("https://github.com/pytorch/pytorch/issues/141052",)

    bad = """
        @triton.jit
        def total(x, o, n, B: tl.constexpr):
            c = tl.arange(0, B)
            v = tl.load(x + c, mask=c < n, other=0.0)
            tl.store(o, tl.sum(v, axis=0))

        def run(x):
            assert x.dtype == torch.bfloat16
            o = torch.empty(1, device=x.device, dtype=torch.float32)
            total[(1,)](x, o, x.numel(), B=1024)
            return o
        """
    good = bad.replace("other=0.0)", "other=0.0).to(tl.float32)")
    example = "tl.sum(v, axis=0)  # bfloat16"
    use_instead = "tl.sum(v.to(tl.float32), axis=0)"
