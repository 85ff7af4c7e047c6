from kernlint.rules.faults import FaultRule


class LostLiteral(FaultRule):
    code = "KL780"
    name = "lost-literal"
    kinds = frozenset(["lost-literal"])
    methods = (("lost-literal", "Compute with the literal in float32."),)
    summary = "a literal beside a float16 tile is zero or infinite in float16"
    what_it_does = """
        Finds Python numbers in arithmetic with a float16 tile that float16 cannot hold: at most 2^-25 in magnitude,
        which rounds to zero, or at least 65520, which rounds to infinity. At info level where the type of the tile is
        not known.
        """
    why = """
        A literal takes the type of the tile beside it. `x + 1e-8` adds nothing, so the division that it was to
        protect divides by zero; `-1e9` as a mask value is -inf.
        """
    when_not = """
        bfloat16, which has the range of float32. Numbers passed as kernel arguments, which are float32 and widen the
        tile.
        """
    fix_safety = "Unsafe: the tile is cast to float32, and so is what is computed from it. More exact."
    evidence = """
        Compiled with Triton 3.9, the constant in the example is fp16 0.0 in the IR. An epsilon of 1e-12 lost in this
        way gave NaN in a layer norm (DeepSpeed issue 581). Pattern row BUG-066.
        """
    references = ("https://github.com/deepspeedai/DeepSpeed/issues/581",)

    bad = """
        @triton.jit
        def reciprocal(x, o, B: tl.constexpr):
            c = tl.arange(0, B)
            v = tl.load(x + c)
            tl.store(o + c, 1.0 / (v + 1e-8))

        def run(x):
            assert x.dtype == torch.float16
            o = torch.empty_like(x)
            reciprocal[(1,)](x, o, B=1024)
            return o
        """
    good = bad.replace("tl.load(x + c)", "tl.load(x + c).to(tl.float32)")
    example = "1.0 / (v + 1e-8)  # float16: 1e-8 is 0"
    use_instead = "1.0 / (v.to(tl.float32) + 1e-8)"
