from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from kernlint.rules.base import mapped
from kernlint.rules.faults import RefusalRule
from kernlint.rules.finding import Context, Finding
from kernlint.rules.proofs.jit_functions import jit_functions
from kernlint.syntax.names import bound_by
from kernlint.syntax.scopes import local_names
from kernlint.syntax.tree import Module
from kernlint.workload import Fault


class PlainGlobalInKernel(RefusalRule):
    code = "KL720"
    name = "plain-global-in-kernel"
    compiler_only = True
    of_names = of_release = True
    summary = "a kernel reads a module variable that is no tl.constexpr"
    kinds = frozenset(["plain-global", "plain-table"])
    methods = (
        ("plain-global", "Make the value by `tl.constexpr(...)`."),
        ("plain-table", "Look the value up on the host, and pass it as a parameter that is annotated `tl.constexpr`."),
    )

    what_it_does = """
        Finds names in a kernel that stand for numbers, strings or containers of the module which were not made by
        `tl.constexpr(...)`. The annotation `X: tl.constexpr = 3` at module level makes none.
        """
    why = """
        The compiler raises `Cannot access global variable X from within @jit'ed function`. The interpreter reads the
        global, so CPU tests pass.
        """
    when_not = """
        Values that are `tl.constexpr(...)`, modules, jit functions and element types; globals used as default values
        of parameters.
        """
    fix_safety = """
        Safe: nothing but kernels reads the value. Unsafe where another file may; refused where host code of the file does,
        which needs the plain number (kernels get a constant of their own then), for containers, and for what is assigned
        several times.
        """
    evidence = """
        Compiled: the message above on Triton 3.9 for sm_90. Pattern row BUG-047.
        """

    bad = "\n        SCALE: tl.constexpr = 2.0\n" + mapped("v * SCALE")
    good = bad.replace("SCALE: tl.constexpr = 2.0", "SCALE = tl.constexpr(2.0)")
    launch = "kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)"
    example = "SCALE = 2.0"
    use_instead = "SCALE = tl.constexpr(2.0)"

    def check(self, context: Context) -> Iterable[Finding]:
        """Each variable where a kernel first reads it: it is mended once, where it is defined."""
        told = set()
        for finding in super().check(context):
            if (finding.kernel, finding.message) not in told:
                told.add((finding.kernel, finding.message))
                yield finding

    def method_of(self, fault: Fault, context: Context) -> str | None:
        lines = host_reads(context.program.kernel, fault.name) if fault.kind == "plain-global" else ()
        if not lines:
            return super().method_of(fault, context)
        return (
            f"Give kernels a constant of their own, made by `tl.constexpr({fault.name})`: host code reads `{fault.name}` "
            f"as a plain value (line {lines[0]})."
        )


def host_reads(module: Module, name: str) -> list[int]:
    """The lines where code outside of kernels reads the variable ``name`` of ``module``."""
    apart: list[cst.CSTNode] = [kernel.node for kernel in jit_functions(module)]
    apart += [one.body for one in module.of(cst.FunctionDef) if _has_its_own(module, one, name)]
    bound = [node for kind in (cst.Assign, cst.AnnAssign) for one in module.of(kind) for node in bound_by(one)]
    bound += [parameter.name for parameter in module.of(cst.Param)]
    others = {*map(id, bound), *(id(node) for part in apart for node in module.within(part, cst.Name))}
    reads = (node for node in module.variables(module.tree) if node.value == name and id(node) not in others)
    return [module.span(node).line for node in reads]


def _has_its_own(module: Module, function: cst.FunctionDef, name: str) -> bool:
    shared = {item.name.value for node in module.own(function.body, cst.Global) for item in node.names}
    return name in local_names(function) - shared
