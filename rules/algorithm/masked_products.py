"""Products of tiles with masked rows, and the same products with the rows sorted by phase."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kernlint.records import dataclass, replace
from kernlint.rules.proofs.launch_change import LaunchChange
from kernlint.workload import (
    Dot,
    Expr,
    Lane,
    Launch,
    Load,
    Loop,
    LoopIndex,
    Node,
    Opaque,
    Span,
    Symbol,
    concrete,
)
from kernlint.workload.expr import Atom, ceildiv, mod


@dataclass(frozen=True)
class Sparse:
    """A ``load`` that feeds ``dot``, with the indices of its rows that must be multiples of ``divisors`` in ``loops``,
    innermost last."""

    load: Load
    dot: Dot
    loops: tuple[Loop, ...]
    classes: tuple[tuple[Expr, Expr], ...]

    @property
    def divisors(self) -> tuple[Expr, ...]:
        return tuple(divisor for _, divisor in self.classes)

    @property
    def share(self) -> int | None:
        """One row in how many is live; None where a divisor is open."""
        numbers = [concrete(divisor) for divisor in self.divisors]
        return None if None in numbers else math.prod(number for number in numbers if number is not None)

    def fewer(self) -> dict[int, int] | None:
        """For the loops over taps, by id: how many times fewer iterations reach a row, in the mean over phases. Rows that no
        tap of any phase but one reaches save whole runs of the innermost loop. None where a divisor is open."""
        factors: dict[int, int] = {}
        for dividend, divisor in self.classes:
            number, atoms = concrete(divisor), dividend.atoms()
            loop = next((loop for loop in reversed(self.loops) if LoopIndex(loop.id) in atoms), self.loops[-1])
            if number is None:
                return None
            factors[loop.id] = factors.get(loop.id, 1) * number
        return factors


def sparse_operands(launch: Launch) -> Iterator[Sparse]:
    """The operands of the dots in a kernel's loops that a remainder masks row by row."""
    for dot, loops in launch.kernel.walk(Dot):
        fed = dot.a.loads | dot.b.loads
        for loop in loops:
            for load in loop.body:
                if not isinstance(load, Load) or load.id not in fed or len(load.shape) != 2:
                    continue
                classes = tuple(one for one in load.classes if _confines(*one))
                if classes:
                    yield Sparse(load, dot, loops, classes)


def _confines(dividend: Expr, divisor: Expr) -> bool:
    """Whether neighbouring rows leave different remainders: the dividend changes along the tile, and the divisor is an
    argument, or a number above 1."""
    if not any(isinstance(atom, Lane) for atom in dividend.atoms()):
        return False
    number = concrete(divisor)
    return number > 1 if number is not None else all(isinstance(atom, Symbol) for atom in divisor.atoms())


@dataclass(frozen=True)
class SortedByPhase(LaunchChange):
    """The workload with the rows of each program in one phase: its loops run over the taps of that phase alone, and
    neighbouring rows read neighbouring points."""

    load: Span

    def _changed(self, launch: Launch) -> Launch:
        found = next((one for one in sparse_operands(launch) if one.load.span == self.load), None)
        fewer = None if found is None else found.fewer()
        if found is None or fewer is None:
            return launch
        tested = [Expr.atom(Opaque("mod", one)) for one in found.classes]

        def whole(atom: Atom) -> Expr | None:
            """The dividend of a division that is exact in the rows that are live."""
            divides = isinstance(atom, Opaque) and atom.op == "floordiv" and mod(*atom.args) in tested
            return atom.args[0] if divides and isinstance(atom, Opaque) else None

        def change(node: Node) -> Node:
            if isinstance(node, Loop) and node.id in fewer and node.trip is not None:
                return replace(node, trip=ceildiv(node.trip, fewer[node.id]))
            if isinstance(node, Load) and node.id == found.load.id:
                offset = None if node.offset is None else node.offset.rewrite(whole)
                return replace(node, offset=offset, classes=())
            return node

        return launch.rewritten(change)
