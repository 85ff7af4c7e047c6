from kernlint.rules.faults import FaultRule


class InfiniteDifference(FaultRule):
    code = "KL774"
    name = "infinite-difference"
    of_values = True
    kinds = frozenset(["infinite-difference"])
    summary = "an online softmax takes exp(-inf - -inf) where a row has no valid element yet"
    what_it_does = """
        Finds `tl.exp` and `tl.exp2` of a difference whose two sides may both be -inf: a running maximum that begins
        at -inf, and the maximum of scores that a mask read from memory set to -inf. Follows the values through
        `tl.where`, `tl.max`, `tl.maximum` and scaling.
        """
    why = """
        -inf - -inf is NaN. A row whose first tile is masked altogether turns into NaN at once and stays NaN, since
        the accumulator is rescaled by it in every later step.
        """
    when_not = """
        Masks of indices (causal, bounds, lengths): the first tile of a row then has a valid element. A finite lowest
        value such as -1e30. A guard on the way, `tl.where(m == -float("inf"), 0.0, m)`, or around it, `if tl.max(valid) > 0:`.
        """
    fix_safety = """
        No automatic fix: what a row without valid elements should give is the author's to say.
        """
    evidence = """
        Seen in sparse and prefix attention kernels in production (vllm issues 48364 and 4405); the example gives NaN
        under Triton's interpreter. Pattern row BUG-060.
        """
    references = ("https://github.com/vllm-project/vllm/issues/48364",)

    bad = """
        @triton.jit
        def log_sum_exp(x, valid, o, n, B: tl.constexpr):
            m = -float("inf")
            total = 0.0
            for start in range(0, n, B):
                c = start + tl.arange(0, B)
                q = tl.where(tl.load(valid + c) != 0, tl.load(x + c), -float("inf"))
                new = tl.maximum(m, tl.max(q, axis=0))
                safe = new
                total = total * tl.exp(m - safe) + tl.sum(tl.exp(q - safe), axis=0)
                m = new
            tl.store(o, m + tl.log(total))

        def run(x, valid):
            assert x.dtype == torch.float32 and valid.dtype == torch.int8
            o = torch.empty(1, device=x.device)
            log_sum_exp[(1,)](x, valid, o, x.numel(), B=1024)
            return o
        """
    good = bad.replace("safe = new", 'safe = tl.where(new == -float("inf"), 0.0, new)')
    example = "p = tl.exp(q - new)"
    use_instead = 'safe = tl.where(new == -float("inf"), 0.0, new)\np = tl.exp(q - safe)'
