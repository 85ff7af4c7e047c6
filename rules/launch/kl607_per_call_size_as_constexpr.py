from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import libcst as cst

from kernlint.rules.base import Rule
from kernlint.rules.finding import Change, Context, Evidence, Finding
from kernlint.rules.launch.sizes import exact, per_call_sizes
from kernlint.rules.proofs.called_functions import names_read, names_with_helpers
from kernlint.rules.proofs.iteration_domain import symbols_of
from kernlint.rules.proofs.kernel_source import definition
from kernlint.rules.proofs.source_text import names_in
from kernlint.syntax.names import dotted_name
from kernlint.syntax.tree import Module
from kernlint.workload import Expr, Launch

#: Operators of kernels that run on run-time numbers as well as on constants.
_RUN_TIME_CALLS = frozenset({"load", "store", "cdiv", "minimum", "maximum", "where"})


class PerCallSizeAsConstexpr(Rule):
    code = "KL607"
    name = "per-call-size-as-constexpr"
    severity = "info"
    summary = "a size that differs from call to call is a tl.constexpr, so that each value compiles the kernel again"
    what_it_does = """
        Finds `tl.constexpr` parameters that a launch fills with a number of rows or elements of the tensors at hand, not rounded to
        a bucket, where the kernel only compares and computes with it: no tile, loop, branch or helper needs the constant.
        Sizes are told by where they come from, not by their names: the first extent of what the kernel writes, and its
        number of elements.
        """
    why = """
        A constexpr is part of the compiled kernel. Each new batch size or sequence length costs a compilation of tenths of a second to
        seconds in the middle of serving, and the cache of kernels grows without bound.
        """
    when_not = """
        Fixed shapes. Constants that a tile, an unrolled loop or a branch needs. Where the bound was a multiple of 16, pass it so
        that Triton can specialise on that.
        """
    fix_safety = "Safe: the same arithmetic at run time; Triton still specialises on divisibility by 16."
    evidence = """
        No time of our own. The row's threads: 14 of 15 s spent compiling for a sequence length as constexpr (sglang pull
        request 40371). Pattern row PERF-079.
        """

    bad = """
        @triton.jit
        def double(x, y, T: tl.constexpr, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(y + i, tl.load(x + i, mask=i < T) * 2, mask=i < T)

        def run(x):
            y = torch.empty_like(x)
            double[(triton.cdiv(x.numel(), 1024),)](x, y, T=x.numel(), BLOCK=1024)
            return y
        """
    good = bad.replace("T: tl.constexpr", "T")
    example = "def kernel(x, y, T: tl.constexpr, BLOCK: tl.constexpr): ..."
    use_instead = "def kernel(x, y, T, BLOCK: tl.constexpr): ..."

    def check(self, context: Context) -> Iterable[Finding]:
        varying = per_call_sizes(context)
        seen = set()
        for launch in context.launches():
            for name, value in _free_of_need(context, launch):
                kernel = launch.kernel.name
                by = symbols_of(value) & varying
                if not by or not exact(value) or (kernel, name) in seen:
                    continue
                seen.add((kernel, name))
                yield self.finding(
                    f"`{kernel}` is compiled again for each value of `{name}`, here {value}",
                    launch.span,
                    launch.function,
                    (
                        Evidence(f"`{name}` is tl.constexpr and gets {value}", launch.span),
                        Evidence(
                            f"no tile, loop or branch of the kernel needs `{name}` as a constant",
                            launch.kernel.name_span,
                        ),
                    ),
                    Change(
                        None,
                        f"`{name}` changes with the tensors of the call, and every new value compiles `{kernel}` again.",
                        f"Make `{name}` a run-time argument.",
                        f"Drop the `tl.constexpr` annotation of `{name}` in `{kernel}`; the launch stays as it is.",
                        priced=False,
                    ),
                    kernel=kernel,
                )


def _free_of_need(context: Context, launch: Launch) -> Iterator[tuple[str, Expr]]:
    """The constexprs of ``launch`` with an open size that the kernel could as well take at run time, and of whose sizes no
    constexpr that it needs is made too."""
    function = definition(context, launch.kernel) if launch.open_constexprs else None
    if function is None:
        return
    module = context.program.kernel
    known = module.once(_known)
    if function not in known:
        known[function] = names_with_helpers(function, module, lambda one, calls: _needed(one, module, calls))
    needed = known[function]
    read = names_read(function, module)
    fixed = symbols_of(*(value for name, value in launch.open_constexprs.items() if name in needed))
    for name, value in launch.open_constexprs.items():
        # One that nothing reads is KL610's business.
        if name in read and name not in needed and not symbols_of(value) & fixed:
            yield name, value


def _known(module: Module) -> dict[cst.FunctionDef, set[str]]:
    """What the functions of ``module`` that were asked about so far need as constants, their helpers included."""
    return {}


def _needed(function: cst.FunctionDef, module: Module, helper_calls: Collection[cst.Call]) -> set[str]:
    """The names that stand in a condition, a loop bound, an assignment to another name or a call other than a memory access
    or of a helper, or are returned: anywhere that a constant may be wanted."""
    body = function.body
    wanted: list[cst.CSTNode] = [*module.within(body, cst.Subscript)]
    wanted += [node.test for node in module.within(body, cst.If)]
    wanted += [node.test for node in module.within(body, cst.IfExp)]
    wanted += [node.test for node in module.within(body, cst.While)]
    wanted += [node.test for node in module.within(body, cst.Assert)]
    wanted += [node.iter for node in module.within(body, cst.For)]
    wanted += [node.value for node in module.within(body, cst.Assign) if isinstance(node.value, cst.Name)]
    wanted += [node.value for node in module.within(body, cst.AnnAssign) if isinstance(node.value, cst.Name)]
    wanted += [node.value for node in module.within(body, cst.Return) if node.value is not None]
    for call in module.within(body, cst.Call):
        if call not in helper_calls and (dotted_name(call.func) or "").rsplit(".", 1)[-1] not in _RUN_TIME_CALLS:
            wanted += [argument.value for argument in call.args]
    return {name for node in wanted for name in names_in(node)}
