"""KL756."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import libcst as cst

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.walk import walk


class FirstLaunchInGraphCapture(Rule):
    code = "KL756"
    name = "first-launch-in-graph-capture"
    category = "correctness"
    severity = "info"
    summary = "the first launch of a kernel happens while a CUDA graph is captured"
    default = False
    what_it_does = """
        Finds launches inside `with torch.cuda.graph(...)` of kernels that the same function has not launched before
        it.
        """
    why = "The first launch compiles the kernel, and may tune it, which synchronises: not allowed while capturing."
    when_not = "Off by default: the warm-up may happen elsewhere. `make_graphed_callables` warms up itself."
    fix_safety = "No automatic fix: call the kernel once before the capture."
    evidence = "Not run: it needs a GPU. Pattern row BUG-027. No gain: wrong results have no speed."
    references = ("https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs",)

    bad = """
        import torch
        import triton
        import triton.language as tl


        @triton.jit
        def k(x, B: tl.constexpr):
            tl.store(x + tl.arange(0, B), 1.0)
        def run(x):
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                k[(1,)](x, B=16)
            return g
        """
    good = """
        import torch
        import triton
        import triton.language as tl


        @triton.jit
        def k(x, B: tl.constexpr):
            tl.store(x + tl.arange(0, B), 1.0)
        def run(x):
            k[(1,)](x, B=16)
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                k[(1,)](x, B=16)
            return g
        """

    lexical = True

    def check(self, context: Context) -> Iterable[Finding]:
        module = context.program.kernel
        imports = module.imports
        for function in module.of(cst.FunctionDef):
            launched: set[str] = set()
            for node in walk(function.body):
                if isinstance(node, cst.With) and any(_captures(item, imports) for item in node.items):
                    for name, call in _launches(node.body):
                        if name not in launched:
                            yield Finding(
                                self,
                                self.severity,
                                f"the first launch of `{name}` in this function is captured into a CUDA graph",
                                module.span(call),
                                function.name.value,
                                name,
                                (Evidence("the capture begins here", module.span(node.items[0])),),
                            )
                        launched.add(name)
                elif isinstance(node, cst.Call):
                    launched |= {name for name, call in _launches(node) if call is node}


def _captures(item: cst.WithItem, imports: Mapping[str, str]) -> bool:
    return isinstance(item.item, cst.Call) and origin_of(item.item.func, imports) == "torch.cuda.graph"


def _launches(node: cst.CSTNode) -> list[tuple[str, cst.Call]]:
    """The launches ``kernel[grid](...)`` in ``node``, with the kernel's name."""
    found = []
    for call in walk(node):
        if isinstance(call, cst.Call) and isinstance(call.func, cst.Subscript):
            name = dotted_name(call.func.value)
            if name is not None:
                found.append((name, call))
    return found
