from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import libcst as cst

from kernlint.interpret.api import Target
from kernlint.interpret.imports import imported_at_top
from kernlint.interpret.project import is_optional, is_unused
from kernlint.rules.base import Rule
from kernlint.rules.finding import Context, Doubt, Evidence, Finding, doubted

#: How far above a file the root of its tree is looked for.
_LEVELS = 8


class RemovedModule(Rule):
    code = "KL803"
    name = "removed-module"
    severity = "error"
    refused = True
    lexical = True
    summary = "an import of a module or name of Triton that the target release does not have"
    what_it_does = """
        Finds imports at module level of `triton` modules, and of names from `triton` and `triton.language`, that the target
        release (`--target-triton`, by default the newest known) does not have: `triton.ops`, `triton.language.libdevice`,
        `triton.tools.experimental_descriptor`.
        """
    why = "The import fails, and with it every module that imports this one."
    when_not = """
        Imports inside `try`, `if` or a function, where the code is prepared for their absence. Private modules of other
        vendors' back ends.
        """
    fix_safety = "No automatic fix: what the module held has to be copied, or done in another way."
    evidence = """
        Imported on Triton 3.9: `ModuleNotFoundError: No module named 'triton.ops'`. The modules of each release are listed from
        its files by `tools/triton_api.py`. Pattern row BUG-071.
        """
    references = (
        "https://github.com/triton-lang/triton/issues/5471",
        "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1492",
    )

    bad = """
        import triton
        import triton.language as tl
        from triton.ops.matmul_perf_model import early_config_prune

        @triton.jit
        def kernel(x, BLOCK: tl.constexpr):
            tl.store(x + tl.arange(0, BLOCK), 0.0)
        """
    example = "from triton.ops.matmul_perf_model import early_config_prune"
    good = bad.replace(
        f"        {example}\n",
        f"\n        try:\n            {example}\n        except ImportError:\n            early_config_prune = None\n",
    )
    use_instead = "try:\n    from triton.ops.matmul_perf_model import early_config_prune\nexcept ImportError: ..."

    def check(self, context: Context) -> Iterable[Finding]:
        module = context.program.kernel
        target = context.program.question.target or Target()
        told: set[tuple[cst.CSTNode, str]] = set()
        for statement, node, path in imported_at_top(module):
            missing = _missing(path, target)
            if missing is None or (statement, missing) in told:
                continue  # a statement that imports several names of one module says it once
            if _ships(module.path, missing):
                continue
            told.add((statement, missing))
            change = target.change(missing)
            text = f"`{missing}` does not exist in Triton {target.release}"
            evidence = (Evidence(f"use {change.replacement}"),) if change is not None else ()
            caught = (Doubt("each file of the project that imports this one catches it", "warning"),)
            # A file that is part of no package can be run by itself.
            left = (Path(module.path).parent / "__init__.py").is_file() and is_unused(module)
            doubts = doubted(left, "nothing in the project imports this file of a package, and it runs nothing itself")
            doubts += caught if is_optional(module) else ()
            yield self.finding(text, module.span(node), "<module>", evidence, kernel="", doubts=doubts)


def _ships(importer: str, name: str) -> bool:
    """Whether the source tree around ``importer`` is one of Triton itself, a fork say, and has the module ``name``."""
    file = Path(importer)
    roots = (root for folder in list(file.resolve().parents)[:_LEVELS] for root in (folder, folder / "python"))
    places = (root.joinpath(*name.split(".")) for root in roots)
    return file.is_file() and any(place.is_dir() or place.with_suffix(".py").is_file() for place in places)


def _missing(path: str, target: Target) -> str | None:
    """The part of a dotted path that the release does not have; None where it is all there, or not known."""
    if not path.startswith("triton."):
        return None
    change = target.change(path)
    if change is not None and (target.removed(change) or target.too_old(change)):
        return path
    head = ".".join(path.split(".")[:2])
    if head == "triton.ops":
        return head
    if path.startswith(("triton.language.", "triton.tools.")):
        parts = path.split(".")
        prefix = ".".join(parts[:3])
        if target.has_module(prefix) or target.has(prefix) is not False:
            return None
        return prefix
    return None
