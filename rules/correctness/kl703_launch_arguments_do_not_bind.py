from kernlint.rules.base import mapped
from kernlint.rules.faults import RefusalRule


class LaunchArgumentsDoNotBind(RefusalRule):
    code = "KL703"
    name = "launch-arguments-do-not-bind"
    summary = "a launch gives an argument twice, forgets one, or names one that the kernel does not have"
    kinds = frozenset(["launch-duplicate", "launch-missing", "launch-unexpected"])

    what_it_does = """
        Binds the arguments of each launch to the kernel's parameters the way the launcher does: positional and
        keyword arguments, values that autotune configurations and heuristics add, options of the back end. A
        parameter that is bound twice, or not at all, and a keyword that is neither a parameter nor an option are
        reported.
        """
    why = """
        The launch raises. The most frequent form is a block size or `num_warps` that the launch gives although the
        autotuner sets it: a configuration always passes on num_warps, num_stages and num_ctas.
        """
    when_not = """
        Launches with `*args` or `**kwargs` that cannot be followed.
        """
    fix_safety = "No automatic fix: which argument is missing, or too many, is the author's to say."
    evidence = """
        Read from the launcher and the autotuner of Triton 3.2 to 3.9 (`fn.run(*args, **kwargs,
        **config.all_kwargs())`). Of 723 evaluated LLM-written kernels 27 failed through a parameter set twice and 7
        through a missing or unexpected one.
        """

    bad = mapped("v * 2.0").replace(
        "@triton.jit",
        """@triton.autotune(configs=[triton.Config({"BLOCK": 1024}, num_warps=8)], key=["n"])
        @triton.jit""",
    )
    launch = "kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    good_launch = 'kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, x.numel())'
    example = "kernel[grid](x, y, n, BLOCK=1024)  # BLOCK is autotuned"
    use_instead = "kernel[grid](x, y, n)"
