"""The axes of a kernel without a matrix product: rows and columns, neighbours that every access runs through as one made one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from kernlint.generate.kernel import product_of
from kernlint.generate.terms import CHUNK, COLUMNS, Buffer, Term
from kernlint.records import dataclass
from kernlint.workload import Expr, Lane, Opaque, Size
from kernlint.workload import expr as ex
from kernlint.workload.expr import Atom, lift

#: Where in its region the lane of a flat index is.
_FLAT = COLUMNS - 1

#: A lane and its extent.
Axis = tuple[int, Size]


@dataclass(frozen=True)
class Output:
    """``term`` goes to ``buffer`` at ``address``, which other elements tell where it is ``scattered``: put there, or joined with what
    lies there by the sum or the largest."""

    term: Term
    buffer: Buffer
    address: Expr
    scattered: str = ""


class Axes:
    """``rows`` and, by the first lane of their region, ``columns``, as ``roots`` (terms) and ``stores`` (addresses) see them."""

    def __init__(
        self,
        rows: Sequence[Size],
        columns: Mapping[int, Sequence[Size]],
        roots: Sequence[Term],
        stores: Sequence[Expr],
        loaded: Mapping[int, Term],
    ) -> None:
        self.rows: list[Axis] = list(enumerate(rows))
        self.columns: dict[int, list[Axis]] = {
            first: [(first + i, extent) for i, extent in enumerate(extents)] for first, extents in columns.items()
        }
        self.addresses = [*stores]
        self.loaded = loaded
        self.others: list[Expr] = []
        seen: set[int] = set()
        for term in (t for root in roots for t in root.walk(seen)):
            if term.address is not None:
                (self.addresses if term.op == "load" else self.others).append(term.address)
            self.others += [expr for bound in term.bounds for expr in bound if expr is not None]
        #: Lanes that went into another one.
        self.alias: dict[int, int] = {}

    def merge(self) -> None:
        self.rows = self._merged(self.rows)
        self.columns = {first: self._merged(lanes) for first, lanes in self.columns.items()}

    def merge_rows_into_columns(self) -> None:
        """For work that reduces nothing: the last row axis and the columns as one where they lie so."""
        lanes = self.columns.get(COLUMNS, [])
        while self.rows and len(lanes) == 1 and self._merges(self.rows[-1], lanes[0]):
            (outer, extent), (inner, own) = self.rows.pop(), lanes[0]
            self.alias[outer] = inner
            lanes[0] = (inner, ex.simplify(lift(extent) * own))

    def _merged(self, lanes: list[Axis]) -> list[Axis]:
        made: list[Axis] = []
        for one in lanes:
            if made and self._merges(made[-1], one):
                outer, extent = made.pop()
                self.alias[outer] = one[0]
                one = (one[0], ex.simplify(lift(extent) * one[1]))
            made.append(one)
        return made

    def _merges(self, outer: Axis, inner: Axis) -> bool:
        a, b = Lane(outer[0]), Lane(inner[0])
        if any(a in expr.atoms() or b in expr.atoms() for expr in self.others):
            return False
        for address in map(self.simplified, self.addresses):
            first, second = address.coefficient(a), address.coefficient(b)
            if first is None or second is None or first != second * inner[1]:
                return False
        return True

    def simplified(self, expr: Expr) -> Expr:
        """``expr`` over the lanes that are left."""
        gone: dict[Atom, Size] = {Lane(dim): 0 for dim in self.alias}
        return expr.substitute(gone)

    def spelled(self, expr: Expr) -> Expr:
        """:meth:`simplified`, with the flat index in the place of axes through which ``expr`` runs as one."""
        expr = self.simplified(expr)
        for lanes in (self.rows, *self.columns.values()):
            if len(lanes) > 1:
                expr = self._flattened(expr, lanes)
        return expr

    def _flattened(self, expr: Expr, lanes: Sequence[Axis]) -> Expr:
        step = expr.coefficient(Lane(lanes[-1][0]))
        if step is None or not step.terms:
            return expr
        factor, flat = step, step * Expr.atom(Lane(flat_lane(lanes)))
        for (dim, _), (_, inner) in zip(reversed(lanes[:-1]), reversed(lanes)):
            factor = factor * inner
            if expr.coefficient(Lane(dim)) != factor:
                return expr
        return expr.substitute({Lane(dim): 0 for dim, _ in lanes}) + flat

    def lane(self, dim: int) -> int:
        while dim in self.alias:
            dim = self.alias[dim]
        return dim

    def region(self, dim: int) -> int:
        """The first lane of the columns that ``dim`` is one of."""
        return dim // COLUMNS * COLUMNS

    def total(self, first: int) -> Size:
        """How many columns there are."""
        return product_of(extent for _, extent in self.columns[first])

    def nearest_last(self, first: int, count: Callable[[Size], float]) -> None:
        """Deal out the columns ``first``, taken in any order, so that neighbours lie side by side in memory; ``count`` gives sizes."""
        lanes = self.columns[first]
        moved = self.contiguous(lanes, count, tiles=False)
        best = max(reversed(range(len(lanes))), key=lambda n: moved[lanes[n][0]])
        lanes.append(lanes.pop(best))

    def contiguous(self, lanes: Sequence[Axis], count: Callable[[Size], float], tiles: bool = True) -> dict[int, float]:
        """By lane: how many elements accesses (to ``tiles``) move among which its neighbours lie side by side; ``count`` gives sizes."""
        extents = {dim: count(extent) for axes in (self.rows, lanes, *self.columns.values()) for dim, extent in axes}
        moved = dict.fromkeys((dim for dim, _ in lanes), 0.0)
        for address in map(self.simplified, self.addresses):
            dims = {atom.dim for atom in address.atoms() if isinstance(atom, Lane)}
            for atom in address.atoms():
                if isinstance(atom, Opaque) and atom.key in self.loaded:
                    dims |= {self.lane(dim) for dim in self.loaded[atom.key].lanes}
            if not tiles or (any(dim < CHUNK for dim in dims) and any(dim >= COLUMNS for dim in dims)):
                for dim in moved:
                    if address.coefficient(Lane(dim)) == 1:
                        moved[dim] += math.prod(extents.get(one, 1.0) for one in dims)
        return moved


def flat_lane(lanes: Sequence[Axis]) -> int:
    """A lane that stands for all of ``lanes`` together."""
    return lanes[0][0] // COLUMNS * COLUMNS + _FLAT
