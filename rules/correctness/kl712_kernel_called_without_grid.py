from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from kernlint.rules.base import Rule, elementwise
from kernlint.rules.finding import Context, Finding
from kernlint.rules.proofs.jit_functions import Decorated, functions
from kernlint.syntax.dialect import is_tritons
from kernlint.syntax.names import origin_of
from kernlint.syntax.scopes import local_names
from kernlint.syntax.tree import Module

_DEFINITIONS = frozenset({cst.FunctionDef, cst.ClassDef})


class KernelCalledWithoutGrid(Rule):
    code = "KL712"
    name = "kernel-called-without-grid"
    severity = "error"
    lexical = True
    summary = "a jit function is called from Python, or a plain function is launched with a grid"
    what_it_does = """
        Finds calls of a jit function of the module from code that is not compiled itself, `kernel(x, y)` in place of
        `kernel[grid](x, y)`, and `function[grid](...)` where the function has no decorator at all. Where the caller itself asks
        for its program or makes lanes, it is the caller that lacks `@triton.jit`.
        """
    why = """
        Triton raises `Cannot call @triton.jit'd outside of the scope of a kernel`; Python raises `'function' object is not
        subscriptable`.
        """
    when_not = """
        Names that the calling function binds itself; functions, and kernels, with other decorators than Triton's; functions
        wrapped by `triton.jit(function)`.
        """
    fix_safety = "No automatic fix: the grid is not known."
    evidence = """
        Run: RuntimeError at the call on Triton 3.9. Of 723 evaluated LLM-written kernels 16 failed with a message of this
        family.
        """

    bad = (
        elementwise("kernel", "{}")
        + """
        def run(x):
            y = torch.empty_like(x)
            kernel(x, y, x.numel(), BLOCK=1024)
            return y
        """
    )
    good = bad.replace("kernel(x, y, x.numel()", "kernel[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel()")
    example = "kernel(x, y, n, BLOCK=1024)"
    use_instead = "kernel[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024)"

    def check(self, context: Context) -> Iterable[Finding]:
        module = context.program.kernel
        every = list(functions(module))
        top_level = set(module.tree.body)
        # A function of the same name inside another one is a different function.
        of_module = [f for f in every if f.node in top_level]
        kernels = {f.name for f in of_module if _is_kernel(f)} - {f.name for f in of_module if not f.is_jit}
        wrapped = _wrapped(module)
        plain = {f.name for f in of_module if not f.node.decorators} - {f.name for f in of_module if f.node.decorators}
        plain -= wrapped
        for function in every:
            if function.name in wrapped:
                continue
            if function.origins and (function.is_jit or _compiled(function)):
                continue
            for call in module.own(function.node.body, cst.Call, _DEFINITIONS):
                gridded = isinstance(call.func, cst.Subscript)
                callee = call.func.value if isinstance(call.func, cst.Subscript) else call.func
                name = callee.value if isinstance(callee, cst.Name) else ""
                if name not in (plain if gridded else kernels) or name in local_names(function.node):
                    continue
                if not gridded and _is_device_code(function.node, module):
                    text = f"`{function.name}` is written as a kernel and calls the jit function `{name}`, but has no @triton.jit"
                    yield self.finding(text, module.span(function.node.name), function.name, severity="warning")
                    break
                text = (
                    f"`{name}` is launched with a grid, but it is a plain function without @triton.jit"
                    if gridded
                    else f"`{name}` is a jit function: it needs a grid, `{name}[grid](...)`"
                )
                yield self.finding(text, module.span(call), function.name, kernel=name)


def _is_kernel(function: Decorated) -> bool:
    """Whether a jit function is what its name stands for: nothing but Triton's own decorators is around it."""
    return function.is_jit and all(is_tritons(o, "jit", "autotune", "heuristics") for o in function.origins)


def _is_device_code(node: cst.FunctionDef, module: Module) -> bool:
    """Whether a function asks for its program, or for lanes, which only a kernel can."""
    return any(
        origin_of(call.func, module.imports) in ("triton.language.program_id", "triton.language.arange")
        for call in module.own(node.body, cst.Call, _DEFINITIONS)
    )


def _wrapped(module: Module) -> set[str]:
    """Names that are passed to another function or assigned anew: what they stand for is not their ``def``."""
    names: set[str] = set()
    for arg in module.of(cst.Arg):
        if isinstance(arg.value, cst.Name):
            names.add(arg.value.value)
    for target in module.of(cst.AssignTarget):
        if isinstance(target.target, cst.Name):
            names.add(target.target.value)
    return names


def _compiled(function: Decorated) -> bool:
    """Whether another compiler may give a call its own meaning."""
    return not all(
        o.startswith(("torch.", "staticmethod", "classmethod", "property", "functools.")) for o in function.origins
    )
