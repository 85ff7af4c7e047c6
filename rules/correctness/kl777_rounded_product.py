from kernlint.rules.faults import FaultRule


class RoundedProduct(FaultRule):
    code = "KL777"
    name = "rounded-product"
    of_values = True
    kinds = frozenset(["rounded-product"])
    methods = (("rounded-product", "Multiply in float32."),)
    summary = "products of half-precision values are rounded to half precision before they are added in float32"
    what_it_does = """
        Finds a float32 accumulator of a loop to which the product of two float16 or bfloat16 values is added. At info
        level where the types are not known.
        """
    why = """
        The multiplication happens in the type of its operands: each product loses 13 or 16 bits before the
        accumulator, which was made float32 on purpose, sees it. A float32 multiplication costs the same on a GPU.
        """
    when_not = """
        `tl.dot`, which accumulates exact products. Operands of which one is float32.
        """
    fix_safety = """
        One operand is cast to float32 before the multiplication; the result changes by its rounding only. Unsafe
        where the product has a name of its own, which becomes float32, or where its type is not known
        or not the only one that the program takes.
        """
    evidence = """
        Compiled for sm_90 the product is a bf16 multiplication followed by an extension (Triton 3.9). A convolution
        kernel diverged from its CUDA twin for this reason (vllm issue 52887). Pattern row BUG-063.
        """
    references = ("https://github.com/vllm-project/vllm/issues/52887",)

    bad = """
        @triton.jit
        def weighted_sum(x, w, o, n, B: tl.constexpr):
            c = tl.arange(0, B)
            total = tl.zeros((B,), tl.float32)
            for i in range(n):
                total += tl.load(x + i * B + c) * tl.load(w + i * B + c)
            tl.store(o + c, total)

        def run(x, w):
            assert x.dtype == torch.bfloat16 and w.dtype == torch.bfloat16
            o = torch.empty(1024, device=x.device)
            weighted_sum[(1,)](x, w, o, x.numel() // 1024, B=1024)
            return o
        """
    good = bad.replace("tl.load(x + i * B + c)", "tl.load(x + i * B + c).to(tl.float32)")
    example = "total += x * w  # bfloat16"
    use_instead = "total += x.to(tl.float32) * w"
