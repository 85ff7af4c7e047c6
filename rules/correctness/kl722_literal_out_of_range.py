from __future__ import annotations

from kernlint.rules.base import mapped
from kernlint.rules.faults import RefusalRule
from kernlint.rules.finding import Context
from kernlint.workload import Fault


class LiteralOutOfRange(RefusalRule):
    code = "KL722"
    name = "literal-out-of-range"
    summary = "an integer literal does not fit into the type of the other operand"
    kinds = frozenset(["literal-range"])

    def method_of(self, fault: Fault, context: Context) -> str:
        return f"Convert the other operand first, `.to(tl.{fault.name})`, in which the literal keeps its value."

    what_it_does = """
        Finds integer literals beside a tensor whose element type cannot hold them: `bits & 0xFFFF0000` with int32
        bits, a negative literal with an unsigned tensor.
        """
    why = """
        The compiler raises `Scalar 4294901760 is out of range for type int32`.
        """
    when_not = """
        Operands of 64 bits or of unknown type.
        """
    fix_safety = """
        Safe for operands of `&`, `|` and `^` whose bits are all that is read (`.to(T, bitcast=True)`): the literal becomes
        the signed number of the same bits. Unsafe where other element types that the program takes need no fix. Refused
        elsewhere: a shift right fills a signed number with its sign.
        """
    evidence = """
        Compiled: the message above on Triton 3.9 for sm_90. Pattern row BUG-049.
        """

    bad = mapped("(v.to(tl.int32, bitcast=True) & 0xFFFF0000).to(tl.float32, bitcast=True)")
    good = bad.replace("0xFFFF0000", "-0x10000")
    launch = "kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    example = "bits & 0xFFFF0000"
    use_instead = "bits & -0x10000"
