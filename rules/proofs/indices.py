"""The indices behind the addresses of a launch: program ids (split where a kernel divides them), lanes, iterations.

A kernel that computes ``row = pid // columns`` and ``column = pid % columns`` walks two axes with one program id. Here the
id is replaced by its two digits, so that an address is again a sum of strides times indices and questions such as "does
the store reach every element?" are questions about a mixed-radix number. Where a flat index is divided and whole tiles fit
into the divisor, the lanes of a tile never reach the next quotient, and the division is one of the program id alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import TypeVar

from kernlint.records import dataclass
from kernlint.rules.proofs.index_divisions import apart
from kernlint.workload import Access, Branch, Kernel, Launch, Loop, Size, concrete
from kernlint.workload.expr import (
    Atom,
    Expr,
    Lane,
    LoopIndex,
    Opaque,
    ProgramId,
    ceildiv,
    floordiv,
    lift,
    mod,
    simplify,
)

_Access = TypeVar("_Access", bound=Access)

#: Added to a grid axis to name the two digits of its program id: quotient and remainder.
QUOTIENT, REMAINDER = 10, 20


@dataclass(frozen=True)
class Split:
    """Grid axis ``axis`` of a launch read as two: ``quotient`` steps of ``divisor`` programs each."""

    axis: int
    divisor: Size
    quotient: Size

    @property
    def high(self) -> ProgramId:
        """The index ``pid // divisor``, the slower one."""
        return ProgramId(self.axis + QUOTIENT)

    @property
    def low(self) -> ProgramId:
        """The index ``pid % divisor``, the faster one."""
        return ProgramId(self.axis + REMAINDER)


@dataclass(frozen=True)
class Indices:
    """The program indices of one launch: ``extents`` of each, the ``splits`` behind those that are digits, and how far the
    ``lanes`` of its tiles go."""

    extents: Mapping[ProgramId, Size]
    splits: tuple[Split, ...] = ()
    lanes: Mapping[Atom, int] = field(default_factory=dict)

    def rewrite(self, expr: Expr) -> Expr:
        """``expr`` with lanes taken out of divisions and divided program ids replaced by their digits."""
        expr = apart(expr, self.lanes)

        def change(atom: Atom) -> Size | None:
            for split in self.splits:
                if atom == ProgramId(split.axis):
                    return Expr.atom(split.high) * split.divisor + Expr.atom(split.low)
                if isinstance(atom, Opaque) and _division(atom) == (split.axis, lift(split.divisor)):
                    return Expr.atom(split.high if atom.op == "floordiv" else split.low)
            return None

        return expr.rewrite(change) if self.splits else expr


def program_indices(launch: Launch) -> Indices:
    """The indices of ``launch``: an axis is split where all divisions of its program id share one divisor that divides
    the grid; else it stays whole and its divisions stay opaque."""
    divisors: dict[int, set[Expr]] = {}
    lanes = _lanes(launch)
    for expr in _expressions(launch):
        for atom in apart(expr, lanes).atoms():
            found = _division(atom) if isinstance(atom, Opaque) else None
            if found is not None:
                divisors.setdefault(found[0], set()).add(found[1])
    extents: dict[ProgramId, Size] = {}
    splits = []
    for axis, extent in enumerate(launch.grid):
        found_divisors = divisors.get(axis, set())
        if len(found_divisors) == 1:
            divisor = simplify(next(iter(found_divisors)))
            if mod(extent, divisor) == 0:
                split = Split(axis, divisor, floordiv(extent, divisor))
                splits.append(split)
                extents[split.high], extents[split.low] = split.quotient, divisor
                continue
        extents[ProgramId(axis)] = extent
    return Indices(extents, tuple(splits), lanes)


def _lanes(launch: Launch) -> dict[Atom, int]:
    """The largest extent of each tile axis over all accesses."""
    found: dict[Atom, int] = {}
    for access in launch.kernel.nodes(Access):
        for dim, extent in enumerate(access.shape):
            found[Lane(dim)] = max(extent, found.get(Lane(dim), 1))
    return found


def strides_of(expr: Expr) -> tuple[dict[Atom, Size], Size] | None:
    """(stride of each index, constant part) where ``expr`` is such a sum; None where an index stands in a product with
    another or inside a division, minimum or loaded value."""
    strides: dict[Atom, Size] = {}
    rest = expr
    for atom in expr.atoms():
        if isinstance(atom, (ProgramId, Lane, LoopIndex)):
            stride = expr.coefficient(atom)
            if stride is None or _has_index(stride):
                return None
            if stride.terms:
                strides[atom] = simplify(stride)
                rest = rest - stride * Expr.atom(atom)
    if _has_index(rest) or any(isinstance(a, Opaque) for a in rest.atoms()):
        return None
    return strides, simplify(rest)


@dataclass(frozen=True)
class Digit:
    """An index that moves an address by ``stride`` elements per step and takes ``extent`` values from 0 on."""

    stride: Size
    extent: Size


@dataclass(frozen=True)
class Addresses:
    """The addresses of an access over the whole grid, counted by ``digits``, smallest stride first.

    ``repeated`` says that a program id, iteration or lane leaves the address alone, so that it is touched again.
    """

    digits: tuple[Digit, ...]
    repeated: bool

    def cover(self, count: Size) -> bool:
        """Whether every address from 0 to ``count - 1`` is reached."""
        reach: Size = 1
        for digit in self.digits:
            further = _reach(reach, digit, gapless=True)
            if further is None:
                break
            reach = further
        return _at_least(reach, count)

    @property
    def distinct(self) -> bool:
        """Whether each address is touched by one lane of one program in one iteration only."""
        return not self.repeated and tell_apart(self.digits)


def tell_apart(digits: Iterable[Digit]) -> bool:
    """Whether no two numbers that ``digits`` count are the same."""
    reach: Size | None = 1
    for digit in sorted((one for one in digits if one.extent != 1), key=lambda one: _by_stride(one.stride)):
        reach = _reach(reach, digit, gapless=False)
    return reach is not None


def addresses(launch: Launch, access: Access, loops: tuple[Loop, ...]) -> Addresses | None:
    """What ``access``, inside ``loops``, touches in all programs of ``launch``; None where that cannot be proven.

    Indices that a mask bounds together become one digit with the bound as extent, which is exact when they count
    through without gap or overlap and the address moves with the bounded sum.
    """
    if access.offset is None or access.mask == ():
        return None
    indices = program_indices(launch)
    linear = strides_of(indices.rewrite(access.offset))
    if linear is None or linear[1] != 0:
        return None
    strides = dict(linear[0])
    extents: dict[Atom, Size | None] = dict(indices.extents.items())
    extents |= {Lane(dim): extent for dim, extent in enumerate(access.shape)}
    for loop in loops:
        known = loop.kind != "while" and loop.trip is not None and not _has_index(lift(loop.trip))
        extents[LoopIndex(loop.id)] = loop.trip if known else None
    digits = []
    for left, right in access.mask or ():
        bounded = strides_of(indices.rewrite(right - left))
        if bounded is None:
            return None
        steps = {atom: simplify(-lift(stride)) for atom, stride in bounded[0].items()}
        ratio = _ratio({atom: strides.get(atom, 0) for atom in steps}, steps)
        reach: Size | None = 1
        for atom in sorted(steps, key=lambda a: _by_stride(steps[a])):
            extent = extents.pop(atom, None)
            if extent is None or reach is None or lift(steps[atom]) != lift(reach):
                reach = None
            else:
                reach = simplify(lift(steps[atom]) * extent)
        if ratio is None or reach is None or not _at_least(reach, bounded[1]):
            return None
        for atom in steps:
            strides.pop(atom, None)
        digits.append(Digit(ratio, bounded[1]))
    for atom, stride in strides.items():
        extent = extents.pop(atom, None)
        if extent is None:
            return None
        digits.append(Digit(stride, extent))
    running = [digit for digit in digits if digit.extent != 1 and digit.stride != 0]
    repeated = any(extent is None or extent != 1 for extent in extents.values())
    repeated = repeated or any(digit.stride == 0 and digit.extent != 1 for digit in digits)
    return Addresses(tuple(sorted(running, key=lambda d: _by_stride(d.stride))), repeated)


def always_run(kernel: Kernel, kind: type[_Access]) -> list[tuple[_Access, tuple[Loop, ...]]]:
    """The accesses of ``kind`` outside run-time branches, with the loops around them."""
    in_branches = {
        id(inner)
        for branch in kernel.nodes(Branch)
        for arm in branch.arms
        for inner in Kernel("", arm, branch.span, branch.span, "").nodes(kind)
    }
    return [(node, loops) for node, loops in kernel.walk(kind) if id(node) not in in_branches]


def _reach(reach: Size | None, digit: Digit, gapless: bool) -> Size | None:
    """The addresses below which all are reached once ``digit`` counts too, from ``reach`` by the smaller digits.

    A stride above ``reach`` leaves gaps, one below it comes to the same address twice. ``gapless`` says which of the
    two is not allowed (None then). With symbols only a stride equal to ``reach``, which does neither, can be proven.
    """
    if reach is None:
        return None
    stride, span, extent = concrete(digit.stride), concrete(reach), concrete(digit.extent)
    if lift(digit.stride) == lift(reach):
        return simplify(lift(digit.stride) * digit.extent)
    if stride is None or span is None or stride <= 0 or (stride > span if gapless else stride < span):
        return None
    return None if extent is None else span + stride * (extent - 1)


def _at_least(value: Size, least: Size) -> bool:
    """Whether ``value >= least``, proven: both integers, equal, or ``value`` is ``least`` rounded up to whole tiles."""
    a, b = concrete(simplify(lift(value))), concrete(simplify(lift(least)))
    if a is not None and b is not None:
        return a >= b
    if lift(value) == lift(least):
        return True
    factors = {abs(c) for c in lift(value).terms.values()}
    return any(lift(ceildiv(least, tile)) * tile == lift(value) for tile in factors if tile > 1)


def _ratio(numerator: Mapping[Atom, Size], denominator: Mapping[Atom, Size]) -> Size | None:
    """The one factor between two sets of strides, None where there is none."""
    unit = next((a for a, step in denominator.items() if step == 1), None)
    if unit is None:
        return None
    factor = numerator[unit]
    if all(lift(numerator[a]) == lift(factor) * denominator[a] for a in denominator):
        return factor
    return None


def _by_stride(stride: Size) -> tuple[int, int]:
    """Sort key: integers by size, then products of symbols by their degree."""
    number = concrete(stride)
    if number is not None:
        return (0, number)
    return (max((len(monomial) for monomial in lift(stride).terms), default=0), 0)


def _division(atom: Opaque) -> tuple[int, Expr] | None:
    """(axis, divisor) of ``pid // divisor`` or ``pid % divisor``."""
    if atom.op not in ("floordiv", "mod") or len(atom.args) != 2 or _has_index(atom.args[1]):
        return None
    for axis in range(3):
        if atom.args[0] == Expr.atom(ProgramId(axis)):
            return axis, atom.args[1]
    return None


def _has_index(expr: Expr) -> bool:
    return any(isinstance(atom, (ProgramId, Lane, LoopIndex)) for atom in expr.atoms())


def _expressions(launch: Launch) -> list[Expr]:
    found: list[Expr] = []
    for node in launch.kernel.nodes((Access, Loop)):
        if isinstance(node, Loop):
            found += [node.trip] if isinstance(node.trip, Expr) else []
        elif isinstance(node, Access):
            found += node.expressions
    return found
