"""Retype: arithmetic of a kernel in the widest type that its tensors hold, where the reference has no wider one either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import libcst as cst

from kernlint.headroom import kernels
from kernlint.operators.doubles import need
from kernlint.operators.operator import Operator, Place, WhyNot
from kernlint.records import dataclass, replace
from kernlint.rewrite.effects import Effects
from kernlint.rewrite.function import LaunchSource
from kernlint.rewrite.site import Site, codemod
from kernlint.rewrite.text import CannotRewrite, TextEdit
from kernlint.rules.finding import Context, Variant
from kernlint.rules.proofs.launch_change import LaunchChange
from kernlint.syntax.walk import walk
from kernlint.workload import Access, Compute, Launch, Node, Reduce, TorchOp, Workload
from kernlint.workload import dtype as dt

_DOUBLE, _SINGLE = "triton.language.float64", "triton.language.float32"


@dataclass(frozen=True)
class Wide(Place):
    """A ``launch`` whose kernel computes in doubles."""

    launch: Launch


class _Retype(Operator[Wide, Wide]):
    name: ClassVar[str] = "retype"
    causes: ClassVar[frozenset[str]] = frozenset({kernels.UNIT})

    def sites(self, context: Context) -> Iterator[Wide]:
        for launch in context.distinct_launches():
            if any(node.dtype == dt.FLOAT64 for node in launch.kernel.nodes(Compute)):
                name = launch.kernel.name
                yield Wide(f"the doubles of `{name}`", launch.span, launch.function, name, launch)

    def check(self, context: Context, site: Wide) -> Wide | WhyNot:
        same = [one for one in context.workload.launches() if one.kernel.span == site.launch.kernel.span]
        for launch in same:
            double = next((one for one in launch.kernel.nodes(Access) if one.dtype == dt.FLOAT64), None)
            if double is not None:
                return WhyNot(f"`{double.base}` holds doubles")
            if not launch.kernel.complete:
                return WhyNot("the kernel cannot be followed to its end")
            made = next(filter(_is_of_integers, launch.kernel.nodes(Compute)), None)
            if made is not None:
                return WhyNot(f"line {made.span.line} makes doubles of integers, which float32 may not hold")
        reference = context.workload.reference
        if reference is None or reference.unknowns:
            return WhyNot("no reference says that single precision is enough")
        if _has_doubles(reference):
            return WhyNot("the reference computes in doubles")
        functions = {step.name.rstrip("_") for step in reference.all_steps if isinstance(step, TorchOp)}
        reasons = (need(one, functions) for launch in same for one in launch.configurations)
        reason = next((why for why in reasons if why is not None), None)
        return site if reason is None else WhyNot(reason)

    def apply(self, context: Context, proofs: Sequence[Wide]) -> Variant:
        variant = context.variant
        for launch in {proof.launch.kernel.span: proof.launch for proof in proofs}.values():
            variant = variant.then(transform=Narrowed(launch.span))
        return variant


RETYPE = _Retype()


def _is_of_integers(node: Compute) -> bool:
    """Whether ``node`` makes doubles of integers that float32 has no digits for."""
    source = dt.find(node.op) if node.kind == "cast" and node.dtype == dt.FLOAT64 else None
    return source is not None and source.is_integer and source.bits > 16


def _has_doubles(reference: Workload) -> bool:
    calls = [step for step in reference.all_steps if isinstance(step, TorchOp)]
    tensors = [*reference.outputs, *(tensor for call in calls for tensor in (*call.reads, *call.writes))]
    return any(tensor.dtype == dt.FLOAT64 for tensor in tensors)


@dataclass(frozen=True)
class Narrowed(LaunchChange):
    """The workload with single precision in the place of double in one kernel."""

    def _node(self, node: Node) -> Node:
        if isinstance(node, (Compute, Reduce)) and node.dtype == dt.FLOAT64:
            return replace(node, dtype=dt.FLOAT32)
        return node


# -- the same as text -------------------------------------------------------------------------------------------------


@codemod(Narrowed, Effects("unsafe", "changed", notes=("sums and differences are made in float32",)))
def narrow(site: Site, transform: Narrowed) -> list[TextEdit]:
    """``tl.float64`` becomes ``tl.float32`` wherever the kernel names it."""
    source, kernel = site.source, LaunchSource(site, transform.launch).kernel.node
    names = (node for node in walk(kernel) if isinstance(node, (cst.Attribute, cst.Name)))
    named = [node for node in names if source.origin(node) == _DOUBLE]
    edits = [source.replace(node, source.spelled(_SINGLE)) for node in named]
    if not edits:
        raise CannotRewrite("no `float64` stands in the kernel itself")
    return edits
