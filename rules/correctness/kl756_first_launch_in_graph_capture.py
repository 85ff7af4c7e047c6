from __future__ import annotations

from collections.abc import Iterable, Mapping

import libcst as cst

from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.syntax.names import dotted_name, origin_of
from kernlint.syntax.tree import Module
from kernlint.syntax.walk import walk


class FirstLaunchInGraphCapture(Rule):
    code = "KL756"
    name = "first-launch-in-graph-capture"
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
        @triton.jit
        def k(x, B: tl.constexpr):
            tl.store(x + tl.arange(0, B), 1.0)
        def run(x):
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                k[(1,)](x, B=16)
            return g
        """
    good = bad.replace("def run(x):", "def run(x):\n            k[(1,)](x, B=16)")

    lexical = True

    def check(self, context: Context) -> Iterable[Finding]:
        module = context.program.kernel
        imports = module.imports
        if not any(_captures(item, imports) for node in module.of(cst.With) for item in node.items):
            return
        launchers = _launchers(module)
        for function in module.of(cst.FunctionDef):
            launched: set[str] = set()
            capture: cst.With | None = None
            captured: set[cst.CSTNode] = set()
            for node in walk(function.body):
                if isinstance(node, cst.With) and any(_captures(item, imports) for item in node.items):
                    capture, captured = node, set(walk(node.body))
                for name in sorted(_launched_by(node, launchers) - launched):
                    launched.add(name)
                    if capture is not None and node in captured:
                        yield self.finding(
                            f"the first launch of `{name}` in this function is captured into a CUDA graph",
                            module.span(node),
                            function.name.value,
                            (Evidence("the capture begins here", module.span(capture.items[0])),),
                            kernel=name,
                        )


def _captures(item: cst.WithItem, imports: Mapping[str, str]) -> bool:
    return isinstance(item.item, cst.Call) and origin_of(item.item.func, imports) == "torch.cuda.graph"


def _launchers(module: Module) -> dict[str, set[str]]:
    """The kernels that each function at the top of the module launches, itself or in others of them."""
    bodies = {s.name.value: s for s in module.tree.body if isinstance(s, cst.FunctionDef)}
    found: dict[str, set[str]] = {name: set() for name in bodies}
    for _ in bodies:
        before = sum(map(len, found.values()))
        for name, function in bodies.items():
            for call in module.within(function.body, cst.Call):
                found[name] |= _launched_by(call, found)
        if sum(map(len, found.values())) == before:
            break
    return found


def _launched_by(node: cst.CSTNode, launchers: Mapping[str, set[str]]) -> set[str]:
    """The kernels that ``node`` launches: ``kernel[grid](...)``, or a call of a function that does."""
    if not isinstance(node, cst.Call):
        return set()
    if isinstance(node.func, cst.Subscript):
        name = dotted_name(node.func.value)
        return set() if name is None else {name}
    return launchers.get(node.func.value, set()) if isinstance(node.func, cst.Name) else set()
