from kernlint.rules.faults import FaultRule


class SharedRandomNumbers(FaultRule):
    code = "KL781"
    name = "shared-random-numbers"
    kinds = frozenset(["shared-random-numbers"])
    summary = "all programs of a grid draw the same random numbers"
    what_it_does = """
        Finds `tl.rand`, `tl.randn` and `tl.randint` whose seed and offset are the same in every program of a grid
        that has more than one.
        """
    why = """
        The generator is a pure function of seed and offset. Without the program's index in one of them each row or
        block gets the same mask, and dropout drops the same elements everywhere.
        """
    when_not = """
        A seed that is loaded, or an offset that was not followed. One program. A mask that is shared on purpose:
        suppress it.
        """
    fix_safety = """
        No automatic fix: the offset should be the global index of the element, which the author knows best.
        """
    evidence = """
        Under Triton's interpreter both rows of the example get equal numbers. Duplicated offsets corrupted dropout
        masks in a compiler (pytorch issue 198333). Pattern row BUG-068.
        """
    references = ("https://github.com/pytorch/pytorch/issues/198333",)

    bad = """
        @triton.jit
        def noise(o, seed, B: tl.constexpr):
            row = tl.program_id(0)
            c = tl.arange(0, B)
            tl.store(o + row * B + c, tl.rand(seed, c))

        def run(seed: int):
            o = torch.empty(64, 1024, device="cuda")
            noise[(64,)](o, seed, B=1024)
            return o
        """
    good = bad.replace("tl.rand(seed, c)", "tl.rand(seed, row * B + c)")
    example = "tl.rand(seed, c)"
    use_instead = "tl.rand(seed, row * B + c)"
