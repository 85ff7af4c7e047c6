from __future__ import annotations

from collections.abc import Iterator

from kernlint.interpret.api import Target
from kernlint.rules.base import mapped
from kernlint.rules.faults import FaultRule, faults_in
from kernlint.rules.finding import Context, Doubt
from kernlint.workload import Fault


class UnsignedDifference(FaultRule):
    code = "KL723"
    name = "unsigned-difference"
    summary = "a difference of unsigned values wraps before it becomes a float"
    kinds = frozenset(["unsigned-wrap"])
    methods = (("unsigned-wrap", "Widen the value to int32 before the difference."),)

    def doubts_of(self, fault: Fault, context: Context) -> Iterator[Doubt]:
        """That the kernel is for a release before 3.2: it asks for what those alone have. There a number of Python's is an int32."""
        yield from super().doubts_of(fault, context)
        target = context.program.question.target or Target(named=False)
        for _, other in context.workload.once(faults_in):
            same = other.kind == "removed-name" and other.function == fault.function
            if same and not target.named and not target.gone_since(other.name):
                shown = other.name.replace("triton.language", "tl")
                yield Doubt(f"the releases that have `{shown}` make the difference in int32")

    what_it_does = """
        Finds an unsigned tensor minus a positive number whose result is converted to a float: unpacked 4-bit or 8-bit
        weights minus their zero point.
        """
    why = """
        `uint8` 0 - 8 is 248, not -8; the conversion to float keeps the wrong value.
        """
    when_not = """
        Operands widened to a signed type first. A `tl.where` whose condition compares the operand itself, which is there to
        discard the lanes that wrap.
        """
    fix_safety = """
        Safe: the minuend is widened to int32. Results that did not wrap stay the same. Unsafe where other element types
        that the program takes need no fix.
        """
    evidence = """
        Run with the interpreter and read in the TTIR (`subi i8`, then `uitofp`) on Triton 3.9: 0 - 8 becomes 248.
        Pattern row BUG-050.
        """

    bad = mapped("((v & 0xF) - 8).to(tl.float32)")
    good = bad.replace("0xF)", "0xF).to(tl.int32)")
    launch = "kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    inputs = "torch.zeros(64, 64, dtype=torch.uint8)"
    example = "(q - 8).to(tl.float32)  # q is uint8"
    use_instead = "(q.to(tl.int32) - 8).to(tl.float32)"
