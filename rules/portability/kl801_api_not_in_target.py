from __future__ import annotations

from collections.abc import Iterator

from kernlint.interpret.api import Target
from kernlint.rules.base import mapped
from kernlint.rules.faults import RefusalRule
from kernlint.rules.finding import Context, Doubt
from kernlint.workload import Fault


class ApiNotInTarget(RefusalRule):
    code = "KL801"
    name = "api-not-in-target"
    of_names = of_release = True
    summary = "a function, parameter or name that the target release of Triton does not have"
    kinds = frozenset(["cache-modifier", "removed-name", "removed-parameter"])
    methods = (
        ("removed-name", "Use the name that the target release has for it."),
        ("removed-parameter", "Use what the message names; this release has no such parameter."),
    )

    def doubts_of(self, fault: Fault, context: Context) -> Iterator[Doubt]:
        """That nobody named a release and an older one that people use has it, besides those of each refusal."""
        yield from super().doubts_of(fault, context)
        target = context.program.question.target or Target(named=False)
        name, _, parameter = fault.name.removesuffix("=)").partition("(")
        if target.named or fault.kind == "cache-modifier":
            return
        if target.gone_since(name, parameter):
            yield Doubt("an older release that people use has it, and nothing tells which is meant")

    what_it_does = """
        Finds names of Triton and parameters of its functions that other releases have or had, but the target release
        (`--target-triton`, by default the newest known) does not: block pointers from 3.9, `tl.math.tanh` and
        `tl.libdevice`, experimental descriptors, `trans_b` of `tl.dot`, cache modifiers (`.cs` of a load
        before 3.8), and functions that are newer than the target.
        """
    why = """
        The compiler raises an AttributeError, a TypeError or a NotImplementedError.
        """
    when_not = """
        Projects pinned to a release that has it: name it with `--target-triton`. Where no release is named, what some
        release from 3.2 on still has is information only.
        """
    fix_safety = """
        Safe for names that were merely renamed or moved (`tl.math.tanh` to libdevice, with its import), and for
        `trans_a`, `trans_b` and `allow_tf32` given as True or False. Refused for the rest: block pointers become
        offsets with masks.
        """
    evidence = """
        The names of releases 3.2 to 3.9 are read from their sources by `tools/triton_api.py`, removals and
        replacements stand in `triton_changes.json`, which the same script checks. Pattern rows BUG-069, BUG-070,
        BUG-072, BUG-073.
        """
    references = (
        "https://github.com/triton-lang/triton/issues/10833",
        "https://github.com/triton-lang/triton/issues/4938",
    )

    bad = mapped("tl.math.tanh(v)")
    good = "\n        from triton.language.extra import libdevice\n" + bad.replace("tl.math.tanh", "libdevice.tanh")
    launch = "kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    example = "tl.math.tanh(v)"
    use_instead = "from triton.language.extra import libdevice\n\nlibdevice.tanh(v)"
