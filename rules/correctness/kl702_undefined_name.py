from __future__ import annotations

import re
from collections.abc import Iterable

import libcst as cst

from kernlint.interpret.project import is_imported
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Finding, doubted
from kernlint.rules.proofs.jit_functions import jit_functions
from kernlint.syntax.scopes import Undefined, undefined_names
from kernlint.syntax.task import is_page
from kernlint.syntax.tree import Module

#: How other linters are told that a name comes from elsewhere.
_MEANT = re.compile(
    r"#\s*noqa\b(?!:)|#\s*noqa:.*\bF821\b|#\s*(?:type: ignore|pyright: ignore|pylint: disable=).*undefined"
)


class UndefinedName(Rule):
    code = "KL702"
    name = "undefined-name"
    severity = "error"
    lexical = True
    summary = "a kernel or the code around it uses a name that nothing defines"
    what_it_does = """
        Finds names in a module with kernels that no import, assignment, parameter or definition binds in a scope that the use
        can see. Each name is reported once in each function.
        """
    why = """
        The first call raises a NameError: at launch for host code, while compiling for a kernel. `math` without `import math`
        is the most frequent case in code that models write.
        """
    when_not = """
        Modules with `from ... import *`, `globals()` or `exec`, where names may come from anywhere. Branches that a constant
        of the module, or the values that a benchmark goes through, keep from being taken. A remark in files that import
        nothing and that nothing imports: prompts and templates, which are read as text; in what a code generator (cog) has
        yet to fill in; and of the decorator `@profile`, which line_profiler and memory_profiler define.
        """
    fix_safety = "No automatic fix: what the name should be is the author's to say."
    evidence = """
        Of 723 evaluated LLM-written kernels 37 failed through a name that is not defined, 28 of them through `math`.
        """

    bad = """
        import torch
        import triton
        import triton.language as tl

        @triton.jit
        def kernel(x, y, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

        def run(x):
            y = torch.empty_like(x)
            kernel[(math.ceil(x.numel() / 1024),)](x, y, x.numel(), BLOCK=1024)
            return y
        """
    good = bad.replace("import torch\n", "import math\n        import torch\n", 1)
    example = "kernel[(math.ceil(n / 1024),)](x, y, n)"
    use_instead = "import math\n\nkernel[(math.ceil(n / 1024),)](x, y, n)"

    def check(self, context: Context) -> Iterable[Finding]:
        module = context.program.kernel
        kernels = {kernel.node for kernel in jit_functions(module)}
        seen: set[tuple[str, cst.FunctionDef | None]] = set()
        for use in undefined_names(module):
            if (use.name, use.function) in seen:
                continue
            seen.add((use.name, use.function))
            function = use.function.name.value if use.function is not None else "<module>"
            kernel = function if use.function in kernels else ""
            text = f"`{use.name}` is not defined"
            span = module.span(use.node)
            meant = doubted(_MEANT.search(" ".join(module.excerpt(span))), "a comment says that it is meant")
            fragment = doubted(
                module.once(_is_fragment), "the file imports nothing and nothing imports it: it is read as text"
            )
            page = doubted(is_page(module.path), "a page of documentation may show code in parts")
            run = doubted(_is_profiled(module, use), "profilers that run a file define it, and nothing else does")
            unrun = doubted(why := _unrun(module, use) if module.path.endswith(".ipynb") else "", why)
            yield self.finding(text, span, function, kernel=kernel, doubts=meant + fragment + page + run + unrun)


def _is_fragment(module: Module) -> bool:
    """Whether ``module`` is no module, but text that others complete: it imports nothing, and no file of its project imports it."""
    return not module.of(cst.Import) and not module.of(cst.ImportFrom) and not is_imported(module)


def _is_profiled(module: Module, use: Undefined) -> bool:
    """Whether ``use`` is the decorator that the runners of line_profiler and memory_profiler make a builtin."""
    decorators = (one.decorator for node in module.of(cst.FunctionDef) for one in node.decorators)
    return use.name == "profile" and any(one is use.node for one in decorators)


def _unrun(module: Module, use: Undefined) -> str:
    """Why a place of a notebook is not run though its cell is; empty where nothing says so."""
    if use.function is None:
        lines = (line.body[0] for line in module.tree.body if isinstance(line, cst.SimpleStatementLine))
        stops = any(isinstance(one, cst.Expr) and one.value is use.node for one in lines)
        return "a name by itself ends the run of a notebook there" if stops else ""
    idle = use.function.name.value == "backward" and not re.search(r"\.(backward|grad)\(", module.text)
    return "no cell asks for gradients" if idle else ""
