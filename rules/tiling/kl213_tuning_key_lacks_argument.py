from __future__ import annotations

from collections.abc import Collection, Iterable

import libcst as cst

from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.proofs.called_functions import names_with_helpers
from kernlint.rules.proofs.kernel_source import definition, kernels_once
from kernlint.rules.proofs.source_text import names_in
from kernlint.syntax.names import dotted_name
from kernlint.syntax.walk import walk
from kernlint.workload import Launch

_TILES = frozenset({"arange", "zeros", "full", "range", "static_range"})


class TuningKeyLacksArgument(Rule):
    code = "KL213"
    name = "tuning-key-lacks-argument"
    severity = "info"
    default = False
    bare = True
    summary = "the autotune key leaves out a constexpr that shapes the kernel's tiles or loops"
    what_it_does = """
        Finds `tl.constexpr` parameters of an autotuned kernel that are neither in the key nor set by the configurations, have no
        default and no literal value at the launch, and size a tile, bound a loop or decide an `if` in the kernel.
        """
    why = """
        The tuner keeps one winner per key. Two calls that differ in such an argument run different code, and the second gets
        the configuration that was best for the first.
        """
    when_not = "Arguments that never change within a process. Sizes that change on every call (KL608): a bucket of them belongs there."
    fix_safety = "Safe: the tuner runs once more for each value."
    evidence = "No measurement of our own; the row's threads report wrong winners carried over. Pattern row PERF-013."

    bad = """
        @triton.autotune([triton.Config({"BM": b}) for b in (32, 64)], key=["n"])
        @triton.jit
        def copy(x, y, n, D: tl.constexpr, BM: tl.constexpr):
            d = tl.arange(0, D)
            for s in range(0, n, BM):
                tl.store(y + s + d, tl.load(x + s + d))

        def run(x, y, width):
            copy[(1,)](x, y, x.shape[0], width)
        """
    good = bad.replace('key=["n"]', 'key=["n", "D"]')
    example = '@triton.autotune(CONFIGS, key=["n"])'
    use_instead = '@triton.autotune(CONFIGS, key=["n", "D"])'

    def check(self, context: Context) -> Iterable[Finding]:
        for launch in kernels_once(context):
            tuning, kernel = launch.tuning, launch.kernel
            if tuning is None or not tuning.key or tuning.configurations is None:
                continue
            missing = _missing(context, launch)
            if not missing:
                continue
            names = ", ".join(f"`{name}`" for name in missing)
            yield self.finding(
                f"the autotune key of `{kernel.name}` leaves out {names}",
                tuning.span,
                kernel.name,
                (
                    Evidence(f"the key is {', '.join(tuning.key)}", tuning.span),
                    Evidence(
                        f"{names}: constexpr that tiles, loops or branches of the kernel depend on", kernel.name_span
                    ),
                ),
                Change(
                    None,
                    f"Calls of `{kernel.name}` that differ in {names} share one tuned configuration.",
                    f"Put {names} into the key.",
                    f"Extend `key` at line {tuning.span.line} by {names}.",
                    priced=False,
                ),
            )


def _missing(context: Context, launch: Launch) -> list[str]:
    function = definition(context, launch.kernel)
    if function is None or launch.tuning is None:
        return []
    defaults = {p.name.value for p in function.params.params if p.default is not None}
    given = set(launch.tuning.key) | launch.tuning.swept | set(launch.literals) | defaults
    shaping = names_with_helpers(function, context.program.kernel, _shaping_names)
    tuned = {name for name in launch.constexprs if name in launch.explicit} if not context.workload.bare else None
    return [n for n in launch.constexprs if n in shaping and n not in given and (tuned is None or n in tuned)]


def _shaping_names(function: cst.FunctionDef, calls: Collection[cst.Call]) -> set[str]:
    """The names that a tile's extent, a loop bound or the test of an ``if`` is made of."""
    found: set[str] = set()
    for node in walk(function.body):
        if isinstance(node, cst.If):
            found |= names_in(node.test)
        elif isinstance(node, cst.Call) and (dotted_name(node.func) or "").rsplit(".", 1)[-1] in _TILES:
            found |= names_in(node)
    return found
