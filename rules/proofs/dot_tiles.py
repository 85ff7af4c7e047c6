"""The tile of a dot: its extents, and how a launch says them."""

from __future__ import annotations

from kernlint.interpret.edits import Edits
from kernlint.records import dataclass
from kernlint.rules.finding import Context, Variant
from kernlint.rules.proofs.counterparts import counterpart
from kernlint.rules.proofs.shared_memory import overflowing
from kernlint.workload import Dot, Launch, Loop, concrete

#: Largest K for which int32 holds any sum of int8 products: 2^31 / 128^2, less the one product that would reach it.
MAX_EXACT_K = 131_071


@dataclass(frozen=True)
class Tile:
    """A tile and launch options for a dot kernel."""

    m: int
    n: int
    k: int
    num_warps: int
    num_stages: int

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k} with {self.num_warps} warps and {self.num_stages} stages"


def editable(launch: Launch, name: str) -> bool:
    """Whether setting ``name`` changes the whole program consistently: it is a literal, or the grid is computed from
    it. The literal of one configuration of a tuner is not for the others."""
    if name in launch.literals:
        return not launch.alternatives
    return launch.grid_follows and name in launch.constexprs


def setting(launch: Launch, values: dict[str, int]) -> Edits:
    """The edits that give constexprs and launch options of ``launch`` these values."""
    literals = {(span, v) for n, v in values.items() for span in launch.literals.get(n, ())}
    options = {(launch.span, n, v) for n, v in values.items() if n not in launch.literals}
    return Edits(literals=frozenset(literals), options=frozenset(options))


def fits(context: Context, variant: Variant, launch: Launch, dot: Dot) -> bool:
    """Whether the launch has the shared memory it needs under ``variant``."""
    found = counterpart(context, variant, launch)
    return found is None or not overflowing(found, context.device)


def contracted(dot: Dot, loops: tuple[Loop, ...]) -> int | None:
    """The K that the loops around ``dot`` walk in all; None while that is open."""
    total = dot.k
    for loop in loops:
        trip = concrete(loop.trip)
        if trip is None:
            return None
        total *= trip
    return total


def current_tile(launch: Launch, dot: Dot) -> Tile:
    return Tile(dot.m, dot.n, dot.k, launch.num_warps, launch.num_stages)


def main_dot(launch: Launch) -> tuple[Dot, bool] | None:
    """The one dot of a GEMM-like kernel, and whether it sits in a loop; None for kernels with none or several."""
    dots = [(node, bool(loops)) for node, loops in launch.kernel.walk(Dot)]
    return dots[0] if len(dots) == 1 else None
