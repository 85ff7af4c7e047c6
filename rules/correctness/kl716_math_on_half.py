from kernlint.rules.base import mapped
from kernlint.rules.faults import RefusalRule


class MathOnHalf(RefusalRule):
    code = "KL716"
    name = "math-on-half"
    summary = "a function that only takes fp32 and fp64 is called on another type"
    kinds = frozenset(["math-type"])
    if_certain = frozenset(["math-type"])
    methods = (("math-type", "Cast the operand to float32 first."),)

    what_it_does = """
        Finds `tl.exp`, `tl.log`, `tl.sqrt`, `tl.sin`, `tl.erf`, `tl.sigmoid`, functions of libdevice and the like on
        fp16, bf16 or integer operands. The types that each function takes are read from the release's sources.
        """
    why = """
        The compiler raises `Expected dtype ['fp32', 'fp64'] but got bf16`. A kernel tested in fp32 fails on its first
        half-precision input.
        """
    when_not = """
        `tl.abs`, `tl.maximum`, `tl.where`, which take all types; operands of unknown type.
        """
    fix_safety = """
        Safe: the operand is cast to float32. What follows is computed in float32 too. Unsafe where other element types
        that the program takes need no fix.
        """
    evidence = """
        Compiled: the message above on Triton 3.9 for sm_90. Pattern row BUG-043.
        """

    bad = mapped("v * tl.sigmoid(v)")
    good = bad.replace("tl.sigmoid(v", "tl.sigmoid(v.to(tl.float32)")
    launch = "kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    inputs = "torch.randn(64, 64, dtype=torch.bfloat16)"
    example = "v = tl.load(x + i)  # bf16\ntl.sigmoid(v)"
    use_instead = "v = tl.load(x + i).to(tl.float32)\ntl.sigmoid(v)"
