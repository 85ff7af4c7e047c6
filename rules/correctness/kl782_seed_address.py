from kernlint.rules.faults import FaultRule


class SeedAddress(FaultRule):
    code = "KL782"
    name = "seed-address"
    kinds = frozenset(["seed-address"])
    methods = (("seed-address", "Load the seed."),)
    summary = "the seed of a random number generator is the address of a tensor"
    what_it_does = """
        Finds `tl.rand`, `tl.randn` and `tl.randint` whose first argument is a pointer parameter that was not loaded.
        """
    why = """
        The address becomes the seed. It is the same for as long as the allocator hands out the same block, and
        differs between runs whatever the user seeds.
        """
    when_not = """
        A seed passed as an integer.
        """
    fix_safety = """
        Safe: the seed is loaded, `tl.load(seed)`. Unsafe unless each launch passes a tensor that is made beside it, and all launches were
        followed: others may pass a number.
        """
    evidence = """
        A dropout kernel used the address of the seed tensor (xformers issue 173). Pattern row BUG-068.
        """
    references = ("https://github.com/facebookresearch/xformers/issues/173",)

    bad = """
        @triton.jit
        def noise(o, seed, B: tl.constexpr):
            row = tl.program_id(0)
            c = row * B + tl.arange(0, B)
            tl.store(o + c, tl.rand(seed, c))

        def run():
            o = torch.empty(64, 1024, device="cuda")
            seed = torch.randint(0, 1 << 30, (1,), device="cuda")
            noise[(64,)](o, seed, B=1024)
            return o
        """
    good = bad.replace("tl.rand(seed, c)", "tl.rand(tl.load(seed), c)")
    example = "tl.rand(seed, c)"
    use_instead = "tl.rand(tl.load(seed), c)"
