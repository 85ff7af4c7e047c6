"""From the place in a tile to the element of a tensor and back: what lets one kernel's work run in another's tile."""

from __future__ import annotations

from collections.abc import Mapping

from kernlint.records import dataclass
from kernlint.workload import Expr, Lane, LoopIndex, Opaque, ProgramId, Size, Symbol, Tensor, concrete
from kernlint.workload.access import Access
from kernlint.workload.expr import Atom, floordiv, lift, mod

#: Stands for the number of an element while an offset is carried from one tile to another; never left in a workload.
ELEMENT = Symbol("element")
_I = Expr.atom(ELEMENT)


@dataclass(frozen=True)
class Inverse:
    """Where a program and lane stand, written through the element that the tile ``anchor`` has there."""

    anchor: Access
    values: Mapping[Atom, Expr]

    def element(self, access: Access) -> Expr | None:
        """The offset of ``access`` as a function of :data:`ELEMENT`; None where the element alone does not decide."""
        if access.offset is None:
            return None
        if access.shape == self.anchor.shape or not access.shape:
            return self._through(access.offset)
        if len(access.shape) == len(self.anchor.shape):
            # [1, BN] or [BM, 1] beside [BM, BN]: dimensions of one lane have no say in the offset.
            return self._through(access.offset)
        if len(access.shape) != 1:
            return None
        # A vector beside a tile of several dimensions: its lanes are those of one of them, known by what it decides.
        found = set()
        for dim, extent in enumerate(self.anchor.shape):
            if extent == access.shape[0]:
                moved = self._through(access.offset.substitute({Lane(0): Expr.atom(Lane(dim))}))
                if moved is not None:
                    found.add(moved)
        return found.pop() if len(found) == 1 else None

    def _through(self, offset: Expr) -> Expr | None:
        if offset == self.anchor.offset:
            return _I
        moved = offset.substitute(self.values)
        return None if _places(moved) or not moved.is_followed else moved


def inverses(anchor: Access) -> list[Inverse]:
    """The ways to write place through element for a tile that walks its tensor: as one line, then as rows."""
    offset = anchor.offset
    if offset is None or not offset.is_followed:
        return []
    found = []
    if len(anchor.shape) == 1 and offset.coefficient(Lane(0)) == 1:
        found.append(Inverse(anchor, {Lane(0): _I - (offset - Expr.atom(Lane(0)))}))
    for stride in _row_strides(offset):
        rows, columns = _split(offset, stride)
        row, column = _unit_atom(rows), _unit_atom(columns)
        if row is not None and isinstance(column, Lane):
            values = {
                row: lift(floordiv(_I, stride)) - (rows - Expr.atom(row)),
                column: lift(mod(_I, stride)) - (columns - Expr.atom(column)),
            }
            found.append(Inverse(anchor, values))
    return found


def placed(element: Expr, host: Access) -> Access | None:
    """An access like ``host`` in which the lane of element ``i`` has the offset ``element``; dimensions along which the
    offset does not change are left out, as a vector or scalar that broadcasts."""
    if host.offset is None:
        return None
    offset = settled(element.substitute({ELEMENT: host.offset}), host)
    used = [dim for dim in range(len(host.shape)) if Lane(dim) in offset.atoms()]
    if len(used) == len(host.shape):
        return _access(host, host.shape, offset, host.mask)
    order: dict[Atom, Size] = {Lane(dim): Expr.atom(Lane(new)) for new, dim in enumerate(used)}
    mask = host.mask
    if mask is not None:
        gone = {Lane(dim) for dim in range(len(host.shape))} - {Lane(dim) for dim in used}
        kept = [(a, b) for a, b in mask if not gone & (a.atoms() | b.atoms())]
        mask = tuple((a.substitute(order), b.substitute(order)) for a, b in kept) if kept or not mask else None
    return _access(host, tuple(host.shape[dim] for dim in used), offset.substitute(order), mask)


def same_address(a: Access, b: Access) -> bool:
    """Whether lane for lane both point to the same element of one tensor."""
    return a.offset is not None and a.offset == b.offset and a.shape == b.shape


def broadcast_offset(tensor: Tensor, shape: tuple[Size, ...], element: Expr) -> Expr | None:
    """Where ``tensor``, broadcast to ``shape``, has the row-major ``element``; None where its layout is not known."""
    if tensor.shape is None or tensor.strides is None or len(tensor.shape) > len(shape):
        return None
    lead = len(shape) - len(tensor.shape)
    strides: list[Size] = [0] * lead
    for extent, stride, full in zip(tensor.shape, tensor.strides, shape[lead:]):
        if concrete(extent) == 1 and concrete(full) != 1:
            strides.append(0)
        elif extent == full:
            strides.append(stride)
        else:
            return None
    total = Expr.constant(0)
    inner: Size = 1
    dims = _merged([(e, s) for e, s in zip(shape, strides) if concrete(e) != 1])
    for position, (extent, stride) in reversed(list(enumerate(dims))):
        index = floordiv(element, inner)
        if position:
            index = mod(index, extent)
        total = total + lift(index) * stride
        inner = inner * extent
    return total


def settled(offset: Expr, tile: Access) -> Expr:
    """``offset`` with divisions undone whose outcome the bounds of ``tile`` decide: a lane within a row stays in it."""

    def change(atom: Atom) -> Size | None:
        if not isinstance(atom, Opaque) or atom.op not in ("floordiv", "mod"):
            return None
        top, base = (settled(arg, tile) for arg in atom.args)
        whole, rest = _split(top, base)
        if not _below(rest, base, tile):
            return None
        return whole if atom.op == "floordiv" else rest

    return offset.rewrite(change)


def visits_once(access: Access, grid: tuple[Size, ...], loops: tuple[int, ...] = ()) -> bool:
    """Whether each lane, each program of ``grid`` and each iteration of the ``loops`` around has its own elements.

    Each has to move the offset by a step of its own; one that is folded (``i % N``) or left out repeats elements.
    """
    movers: list[Atom] = [Lane(dim) for dim, extent in enumerate(access.shape) if extent > 1]
    movers += [ProgramId(axis) for axis, extent in enumerate(grid) if concrete(extent) != 1]
    movers += [LoopIndex(loop) for loop in loops]
    if access.offset is None:
        return False
    steps = [access.offset.coefficient(mover) for mover in movers]
    return all(step is not None and step.terms for step in steps)


def _access(host: Access, shape: tuple[int, ...], offset: Expr, mask: tuple[tuple[Expr, Expr], ...] | None) -> Access:
    return Access(host.id, host.base, host.dtype, shape, offset, mask, host.span)


def _places(offset: Expr) -> set[Atom]:
    return {atom for atom in offset.atoms() if isinstance(atom, (ProgramId, Lane, LoopIndex))}


def _row_strides(offset: Expr) -> list[Expr]:
    """What a program or lane step along the rows may be: coefficients other than one, largest first."""
    found: dict[Expr, None] = {}
    for atom in sorted(_places(offset), key=str):
        coefficient = offset.coefficient(atom)
        if coefficient is not None and coefficient.terms and coefficient != 1:
            found[coefficient] = None
    return sorted(found, key=lambda c: -(c.value or 0))


def _split(offset: Expr, stride: Expr) -> tuple[Expr, Expr]:
    """``(q, r)`` with ``offset == q * stride + r``, the terms that ``stride`` divides being in ``q``."""
    if len(stride.terms) != 1:
        return Expr({}), offset
    ((divisor, factor),) = stride.terms.items()
    quotient, rest = {}, {}
    for monomial, coefficient in offset.terms.items():
        left = list(monomial)
        divisible = coefficient % factor == 0
        for atom in divisor:
            if atom in left:
                left.remove(atom)
            else:
                divisible = False
        if divisible:
            quotient[tuple(left)] = coefficient // factor
        else:
            rest[monomial] = coefficient
    return Expr(quotient), Expr(rest)


def _unit_atom(part: Expr) -> Atom | None:
    """A lane, else a program axis, that ``part`` counts in steps of one."""
    units = [atom for atom in _places(part) if not isinstance(atom, LoopIndex) and part.coefficient(atom) == 1]
    lanes = [atom for atom in units if isinstance(atom, Lane)]
    return min(lanes or units, key=str, default=None)


def _below(part: Expr, bound: Expr, tile: Access) -> bool:
    """Whether 0 <= ``part`` < ``bound`` for each active lane of ``tile``."""
    if any(part == left and (right == bound) for left, right in tile.mask or ()):
        return True
    limit = bound.value
    if limit is None:
        return False
    most = 0
    for monomial, coefficient in part.terms.items():
        if not monomial:
            most += coefficient
        elif len(monomial) == 1 and isinstance(monomial[0], Lane) and coefficient > 0:
            lane = monomial[0]
            most += coefficient * (tile.shape[lane.dim] - 1)
        else:
            return False
    return part.terms.get((), 0) >= 0 and most < limit


def _merged(dims: list[tuple[Size, Size]]) -> list[tuple[Size, Size]]:
    """(extent, stride) pairs with neighbours joined that one stride walks through."""
    result: list[tuple[Size, Size]] = []
    for extent, stride in dims:
        if result and result[-1][1] == stride * extent:
            result[-1] = (result[-1][0] * extent, stride)
        else:
            result.append((extent, stride))
    return result
