"""Warps: the same programs with more or fewer warps to share their tiles.

No result depends on it but the order of sums, so nothing has to be proven: the cost model takes the cheapest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from kernlint.headroom import kernels
from kernlint.headroom.causes import OTHER
from kernlint.operators.operator import Operator, Place, WhyNot
from kernlint.records import dataclass
from kernlint.rules.finding import Context, Variant
from kernlint.rules.proofs.dot_tiles import setting
from kernlint.workload import Launch

#: The warps of a program that are tried.
WARPS = (1, 2, 4, 8, 16)


@dataclass(frozen=True)
class Shared(Place):
    """A ``launch`` whose programs have warps of their own to share their tiles."""

    launch: Launch


class _Warps(Operator[Shared, Shared]):
    name: ClassVar[str] = "warps"
    no_gain: ClassVar[str] = "no other number of warps is predicted to be faster"
    causes: ClassVar[frozenset[str]] = frozenset(
        {kernels.TILE, kernels.FEW, kernels.MANY, kernels.EXCHANGE, kernels.LATENCY, kernels.IDLE, kernels.SPILLS}
        | {OTHER}
    )

    def sites(self, context: Context) -> Iterator[Shared]:
        for launch in context.distinct_launches():
            kernel = launch.kernel.name
            yield Shared(f"the warps of `{kernel}`", launch.span, launch.function, kernel, launch)

    def check(self, context: Context, site: Shared) -> Shared | WhyNot:
        if site.launch.autotuned:
            return WhyNot("triton.autotune chooses its warps")
        if site.launch.kernel.dots():
            return WhyNot("the warps of a product are chosen with its tile")
        return site

    def apply(self, context: Context, proofs: Sequence[Shared]) -> Variant | None:
        """The program with the cheapest number of warps at each place; None where it has that."""
        variant = context.variant
        for proof in proofs:
            others = (variant.then(setting(proof.launch, {"num_warps": warps})) for warps in WARPS)
            priced = ((context.gpu_us(one), one) for one in (variant, *others))
            known = [(us, one) for us, one in priced if us is not None]
            variant = min(known, key=lambda one: one[0])[1] if known else variant
        return variant if variant != context.variant else None


SHARE = _Warps()
