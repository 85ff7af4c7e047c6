from kernlint.rules.base import mapped
from kernlint.rules.faults import RefusalRule


class Fp8FormatOfAnotherDevice(RefusalRule):
    code = "KL806"
    name = "fp8-format-of-another-device"
    summary = "an fp8 type that the device does not support"
    kinds = frozenset(["fp8-type"])

    what_it_does = """
        Finds casts to, and kernel arguments of, an fp8 type that the back end of the device (`--device`) does not
        have: e4m3fn (`tl.float8e4nv`) below compute capability 8.9, e4m3fnuz (`tl.float8e4b8`) and
        e5m2fnuz on NVIDIA.
        """
    why = """
        The compiler raises `type fp8e4nv not supported in this architecture`. The fnuz formats have another range
        (240 in place of 448), so a maximum written as a literal is wrong on the other vendor.
        """
    when_not = """
        Types passed in as `tl.constexpr`, which the host chooses from the target.
        """
    fix_safety = "No automatic fix: which format, and with it which largest value, is the author's to say."
    evidence = """
        Compiled on Triton 3.9: fp8e4nv is refused for sm_80, fp8e4b8 for NVIDIA. Pattern row BUG-075.
        """
    references = (
        "https://github.com/triton-lang/triton/issues/4319",
        "https://github.com/triton-lang/triton/issues/6542",
    )

    example_device = "a100-80gb-sxm"
    bad = mapped("v.to(tl.float8e4nv)")
    good = bad.replace("tl.float8e4nv", "tl.float8e5")
    launch = "kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    example = "v.to(tl.float8e4nv)  # on an A100"
    use_instead = "v.to(FP8)  # a tl.constexpr chosen from the target"
