"""Literals of a grid that is a product, ``(cdiv(m, 128) * cdiv(n, 128),)``: which factor counts the blocks of which constexpr.

The kernel takes its program id apart (``pid // num_n``, ``pid % num_n``, groups of rows) and the numbers are often equal,
as the sizes are. So the program is read with open sizes, where the rows and the columns have names of their own: a factor
belongs to the constexpr whose blocks the kernel counts the same way, or bounds by the same size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernlint.interpret.edits import Edits
from kernlint.interpret.program import Program
from kernlint.records import dataclass
from kernlint.rules.finding import Context
from kernlint.rules.proofs.counterparts import launches_at
from kernlint.workload import Access, Expr, Lane, Launch, LoopIndex, Opaque, ProgramId, Span
from kernlint.workload import expr as ex


@dataclass(frozen=True)
class _Factor:
    """One factor of the extent of ``axis``: ``size`` divided by the literal at ``span``, as the expression ``count``."""

    span: Span
    axis: int
    count: Opaque
    size: Expr


def takes_programs_apart(launch: Launch) -> bool:
    """Whether an address of the kernel divides a program id."""
    return any(
        isinstance(atom, Opaque) and _has_program(atom)
        for access in launch.kernel.nodes(Access)
        if access.offset is not None
        for atom in access.offset.atoms()
    )


def factor_literals(context: Context, launch: Launch, blocks: Mapping[str, int]) -> dict[str, Span]:
    """The literal in the grid of ``launch`` that stands for each of the constexprs ``blocks``, where that is certain."""
    reading = _OpenReading(context, launch)
    base = reading.launch({})
    if base is None or base.grid_follows:
        return {}
    taken = {span for spans in launch.literals.values() for span in spans}
    numbers = {s: n for s, n in launch.numbers.items() if n in blocks.values() and s not in taken}
    factors = [f for f in (_factor(reading, base, s, n) for s, n in numbers.items()) if f is not None]
    tilings = {
        name: tiling
        for name, block in blocks.items()
        if (tiling := _Tiling.of(base, reading.launch(dict.fromkeys(launch.literals[name], 2 * block)))) is not None
    }
    pairs = [(n, f) for n, tiling in tilings.items() for f in factors if blocks[n] == numbers[f.span] and tiling.has(f)]
    pairs += _left_over(pairs, factors, tilings)
    return {
        name: factor.span
        for name, factor in pairs
        if sum(n == name for n, _ in pairs) == 1 and sum(f is factor for _, f in pairs) == 1
    }


def _left_over(
    pairs: list[tuple[str, _Factor]], factors: list[_Factor], tilings: Mapping[str, _Tiling]
) -> Iterator[tuple[str, _Factor]]:
    """The other one of two factors is the range of ``pid // count``, whatever the kernel bounds it by."""
    for name, tiling in tilings.items():
        if any(name == one for one, _ in pairs):
            continue
        for _, known in pairs:
            others = [f for f in factors if f is not known and f.axis == known.axis]
            if len(others) == 1 and not any(f is others[0] for _, f in pairs) and tiling.is_quotient_by(known):
                yield name, others[0]


class _OpenReading:
    """The program with the sizes of its inputs open, and ``launch`` in it."""

    def __init__(self, context: Context, launch: Launch) -> None:
        workload = context.workload
        shaped = {t.name: t.dtype for t in workload.inputs if t.name and t.dtype is not None and t.shape is not None}
        self.program: Program = context.program.at(dtypes=shaped, opens=True) if shaped else context.program
        self.edits, self.entry, self.bare = context.variant.edits, workload.entry, workload.bare
        same = launches_at(workload, launch.span)
        self.span, self.place = launch.span, next((i for i, one in enumerate(same) if one is launch), 0)

    def launch(self, literals: Mapping[Span, int]) -> Launch | None:
        """The launch in the program with these literals."""
        edits = self.edits | Edits(literals=frozenset(literals.items()))
        alone = None if self.bare else self.program.launch(self.entry, self.span, self.place, edits)
        if alone is not None:
            return alone
        found = launches_at(self.program.workload(self.entry, edits, self.bare), self.span)
        return found[self.place] if self.place < len(found) else None


def _factor(reading: _OpenReading, base: Launch, span: Span, number: int) -> _Factor | None:
    """The factor that ``number`` at ``span`` divides a size for; None where it does anything else."""
    other = reading.launch({span: 2 * number})
    if other is None or (other.arguments, other.constexprs) != (base.arguments, base.constexprs):
        return None
    changed = [axis for axis, (a, b) in enumerate(zip(base.grid, other.grid)) if a != b]
    if len(changed) != 1:
        return None
    before, after = _factors_of(base.grid[changed[0]]), _factors_of(other.grid[changed[0]])
    gone, new = _without(before, after), _without(after, before)
    if len(gone) != 1 or len(new) != 1:
        return None
    (count,), (changed_count,) = gone, new
    if not isinstance(count, Opaque) or count.op != "floordiv" or count.args[1] != number:
        return None
    if not isinstance(changed_count, Opaque) or changed_count != Opaque(
        "floordiv", (count.args[0], ex.lift(2 * number))
    ):
        return None
    # Rounded up, `n / b` is `-(-n // b)`.
    size = -count.args[0] if all(c < 0 for c in count.args[0].terms.values()) else count.args[0]
    return _Factor(span, changed[0], count, size)


def _factors_of(extent: Any) -> list[Any]:
    """The factors of an extent that is one product."""
    terms = list(ex.lift(extent).terms.items())
    return list(terms[0][0]) if len(terms) == 1 and terms[0][1] in (1, -1) else []


def _without(one: list[Any], other: list[Any]) -> list[Any]:
    left = list(one)
    for atom in other:
        if atom in left:
            left.remove(atom)
    return left


@dataclass(frozen=True)
class _Tiling:
    """What of a kernel changes with a constexpr: the numbers of blocks ``counts`` that it computes, the ``sizes`` that it
    compares blocks of this extent with, and the parts of program ids that it multiplies by it."""

    counts: frozenset[Opaque]
    sizes: frozenset[Expr]
    multiplied: frozenset[Any]

    @staticmethod
    def of(base: Launch, doubled: Launch | None) -> _Tiling | None:
        """From a launch and the same one with the constexpr ``doubled``."""
        if doubled is None or doubled.grid != base.grid:
            return None
        pairs = list(zip(base.kernel.nodes(Access), doubled.kernel.nodes(Access)))
        if any(a.span != b.span for a, b in pairs):
            return None
        counts = _counts(base) - _counts(doubled)
        sizes: set[Expr] = set()
        multiplied: set[Any] = set()
        for one, other in pairs:
            for (left, right), (new_left, new_right) in zip(one.mask or (), other.mask or ()):
                if right == new_right and _doubles(left, new_left):
                    sizes.add(right)
            if one.offset is not None and other.offset is not None:
                new = other.offset.terms
                multiplied |= {
                    a for m, c in one.offset.terms.items() if new.get(m) == 2 * c for a in m if _has_program(a)
                }
        return _Tiling(frozenset(counts), frozenset(sizes), frozenset(multiplied))

    def has(self, factor: _Factor) -> bool:
        """Whether the kernel counts or bounds the blocks of this extent as ``factor`` does."""
        return factor.count in self.counts or factor.size in self.sizes

    def is_quotient_by(self, factor: _Factor) -> bool:
        """Whether what is multiplied is the program id divided by ``factor`` alone."""

        def divides(atom: Any) -> bool:
            return (
                isinstance(atom, Opaque)
                and atom.op == "floordiv"
                and atom.args[0] == Expr.atom(ProgramId(factor.axis))
                and _factors_of(atom.args[1]) == [factor.count]
            )

        return bool(self.multiplied) and all(map(divides, self.multiplied))


def _counts(launch: Launch) -> set[Opaque]:
    """The quotients of sizes in the addresses and masks of a kernel."""
    found: set[Opaque] = set()
    for access in launch.kernel.nodes(Access):
        for value in access.expressions:
            for atom in value.atoms():
                if isinstance(atom, Opaque) and atom.op == "floordiv" and not _moves(atom):
                    found.add(atom)
    return found


def _doubles(left: Expr, new: Expr) -> bool:
    """Whether the parts of program ids in ``new`` are multiplied by twice as much as in ``left``."""
    before, after = _multiples(left), _multiples(new)
    return bool(before) and sorted(2 * factor for factor in before) == sorted(after)


def _multiples(value: Expr) -> list[int]:
    return [factor for monomial, factor in value.terms.items() if any(map(_has_program, monomial))]


def _has_program(atom: Any) -> bool:
    return any(isinstance(one, ProgramId) for one in Expr.atom(atom).atoms())


def _moves(atom: Any) -> bool:
    return any(isinstance(one, (ProgramId, Lane, LoopIndex)) for one in Expr.atom(atom).atoms())
