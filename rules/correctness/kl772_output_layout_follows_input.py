from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from kernlint.records import dataclass
from kernlint.rules.base import Rule
from kernlint.rules.correctness.strides import Use, storages_by_name, uses
from kernlint.rules.finding import Context, Evidence, Finding
from kernlint.rules.proofs.source_text import names_in, node_at
from kernlint.rules.repair import Repair, mending
from kernlint.syntax.names import dotted_name
from kernlint.workload import Span, Store, Tensor

_LIKE = ("empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like")


@dataclass(frozen=True)
class ContiguousOutput(Repair):
    """The program whose tensor, allocated at ``place`` like another one, is contiguous whatever that one is."""

    place: Span


class OutputLayoutFollowsInput(Rule):
    code = "KL772"
    name = "output-layout-follows-input"
    summary = (
        "an output from empty_like takes over the layout of a permuted input, and is written as if it were contiguous"
    )
    what_it_does = """
        Finds outputs made by `empty_like`, `zeros_like` or `full_like` of an argument of open layout, without
        `memory_format`, that a kernel writes without their strides while it reads the argument by its strides.
        """
    why = """
        `empty_like` keeps the strides of a dense input, a transposed one included. The kernel, which took care to
        read any layout, then writes rows into a tensor that is laid out in columns.
        """
    when_not = """
        Inputs made contiguous before. Outputs whose strides are passed.
        """
    fix_safety = "Safe: `memory_format=torch.contiguous_format`. Passing the strides of the output does as well."
    evidence = """
        A question of data flow; nothing is measured. Pattern row BUG-057.
        """

    bad = """
        @triton.jit
        def copy(x, o, sm, sn, N, B: tl.constexpr):
            r, c = tl.program_id(0), tl.arange(0, B)
            tl.store(o + r * N + c, tl.load(x + r * sm + c * sn, mask=c < N), mask=c < N)

        def run(x):
            rows, columns = x.shape
            o = torch.empty_like(x)
            copy[(rows,)](x, o, x.stride(0), x.stride(1), columns, B=1024)
            return o
        """
    good = bad.replace("empty_like(x)", "empty_like(x, memory_format=torch.contiguous_format)")
    example = "o = torch.empty_like(x)"
    use_instead = "o = torch.empty_like(x, memory_format=torch.contiguous_format)"

    def check(self, context: Context) -> Iterable[Finding]:
        storages = storages_by_name(context.workload)
        found = list(uses(context.workload))
        # A tensor addressed by one stride alone has to have unit stride along the last axis: it is contiguous if dense.
        by_strides = {
            (use.launch.span, name)
            for use in found
            for name in use.owners
            if storages.get(name) == use.tensor.storage.id and sum(owner == name for owner, _ in use.strides) > 1
        }
        seen = set()
        for use in found:
            key = (use.launch.span, use.access.base)
            if not isinstance(use.access, Store) or use.owners or key in seen:
                continue
            model = _like(context, use.tensor)
            if model is None or (use.launch.span, model) not in by_strides or _passes_strides(context, use):
                continue
            seen.add(key)
            assert use.tensor.storage.span is not None
            yield self.finding(
                f"`{use.tensor.name or use.access.base}` has the layout of `{model}`, and is written as if it were contiguous",
                use.tensor.storage.span,
                use.launch.function,
                (Evidence(f"`{use.launch.kernel.name}` reads `{model}` by its strides", use.launch.span),),
                mending(
                    context,
                    ContiguousOutput(use.tensor.storage.span),
                    f"`{use.tensor.name or use.access.base}` has the layout of `{model}`",
                    "Allocate it with `memory_format=torch.contiguous_format`.",
                ),
                kernel=use.launch.kernel.name,
            )


def _passes_strides(context: Context, use: Use) -> bool:
    """Whether the function around the launch asks for the strides of the tensor: those of `empty_like` are taken to be dense
    before."""
    module, call = context.program.kernel, node_at(context, use.launch.span, cst.Call)
    around = [one for one in module.of(cst.FunctionDef) if call in module.within(one, cst.Call)]
    return call is None or any(f"{use.tensor.name}.stride" in names_in(part) for part in (call, *around))


def _like(context: Context, tensor: Tensor) -> str | None:
    """The name of the tensor that ``tensor`` was made like, its layout included."""
    span = tensor.storage.span
    call = node_at(context, span, cst.Call) if span is not None else None
    if call is None or not call.args or (dotted_name(call.func) or "").rsplit(".", 1)[-1] not in _LIKE:
        return None
    if any(arg.keyword is not None and arg.keyword.value == "memory_format" for arg in call.args):
        return None
    return dotted_name(call.args[0].value)
