from kernlint.rules.base import mapped
from kernlint.rules.faults import RefusalRule


class UnknownTritonName(RefusalRule):
    code = "KL701"
    name = "unknown-triton-name"
    summary = "a name that no release of Triton has"
    kinds = frozenset(["missing-name"])

    what_it_does = """
        Finds names of `triton.language` (and of `tl.math`, libdevice and `triton` itself) that no release from 3.2 to
        3.9 has, and that none had before.
        """
    why = """
        The compiler raises an AttributeError at the first launch. Names that PyTorch, NumPy or CUDA have (`tl.any`,
        `tl.tanh`, `tl.barrier`) are a habit of models that write kernels.
        """
    when_not = """
        Names that a later or earlier release has: see KL801. Attributes of modules that are not in the table.
        """
    fix_safety = "No automatic fix: what was meant by a name that Triton never had is the author's to say."
    evidence = """
        Compiled: `module 'triton.language' has no attribute 'any'` on Triton 3.9 for sm_90; the names of each release
        are read from its sources by `tools/triton_api.py`. Pattern row BUG-070. Of 723 evaluated LLM-written kernels
        35 failed for this reason.
        """
    references = ("https://github.com/triton-lang/triton/issues/4938",)

    bad = mapped("tl.tanh(v)")
    good = "\n        from triton.language.extra import libdevice\n" + bad.replace("tl.tanh", "libdevice.tanh")
    launch = "kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    example = "tl.store(y + i, tl.tanh(v), mask=i < n)"
    use_instead = "from triton.language.extra import libdevice\n\ntl.store(y + i, libdevice.tanh(v), mask=i < n)"
