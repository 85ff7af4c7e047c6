"""A flat index read as the digits that a kernel takes out of it: ``row = at // wide; column = at % wide``.

Such a kernel walks several axes with one tile. Here the axes are told apart again: the fastest digit stays the tile, each
other one becomes a program index, so that addresses are sums of strides times indices.
"""

from __future__ import annotations

from kernlint.records import dataclass, replace
from kernlint.rules.proofs.index_divisions import flat_index, whole
from kernlint.workload import Access, Branch, Dot, Launch, Loop, Node, Reduce, Scan, concrete
from kernlint.workload.expr import Atom, Expr, Lane, Opaque, ProgramId, ceildiv, lift


@dataclass(frozen=True)
class Digits:
    """The flat index ``tile * program + lane`` as digits: ``weights[i]`` is what one step of digit i adds to it, fastest
    first, ``extents[i]`` the number of its values."""

    program: ProgramId
    tile: int
    weights: tuple[int, ...]
    extents: tuple[int, ...]

    @property
    def flat(self) -> Expr:
        return flat_index(self.program, self.tile)

    def index(self, digit: int, axes: int) -> Expr:
        """Digit ``digit`` where the grid had ``axes`` axes before: the fastest is tiled, the others count programs."""
        return self.flat if digit == 0 else Expr.atom(ProgramId(axes + digit - 1))

    def rewrite(self, expr: Expr, axes: int) -> Expr:
        """``expr`` in terms of the digits."""
        expr = whole(expr, self.program, self.tile)

        def change(atom: Atom) -> Expr | None:
            part = _part(atom, self.flat)
            return None if part is None else self._sum(*part, axes)

        stride = _undivided(expr, self.flat).coefficient(Lane(0)) or lift(0)
        return expr.rewrite(change) + stride * (self._sum(1, None, axes) - self.flat)

    def _sum(self, low: int, high: int | None, axes: int) -> Expr:
        """``flat % high // low``."""
        total = lift(0)
        for digit, weight in enumerate(self.weights):
            if weight >= low and (high is None or weight < high):
                total = total + self.index(digit, axes) * (weight // low)
        return total


def unflattened(launch: Launch) -> Launch:
    """``launch`` with its flat index split into digits; as it is where it has none."""
    digits = digits_of(launch)
    if digits is None:
        return launch
    axes = len(launch.grid)
    column, end = digits.index(0, axes), lift(digits.extents[0])
    ragged = digits.extents[0] % digits.tile != 0
    end_of_all = lift(_total(digits))

    def change(node: Node) -> Node | None:
        if not isinstance(node, Access) or node.offset is None:
            return node
        kept = [(left, right) for left, right in node.mask or () if right - left != end_of_all - digits.flat]
        mask = [(digits.rewrite(left, axes), digits.rewrite(right, axes)) for left, right in kept]
        if ragged and node.elements > 1:
            mask.append((column, end))
        masked = bool(mask) or node.mask == ()
        return replace(node, offset=digits.rewrite(node.offset, axes), mask=tuple(mask) if masked else None)

    grid = list(launch.grid)
    grid[digits.program.axis] = ceildiv(digits.extents[0], digits.tile)
    return replace(launch.rewritten(change), grid=(*grid, *digits.extents[1:]), alternatives=())


def digits_of(launch: Launch) -> Digits | None:
    """The digits of the flat index of ``launch``; None where it has none that is divided, where sizes are open, or where
    the kernel does more than load, compute and store one tile."""
    kernel = launch.kernel
    if not kernel.complete or kernel.has((Branch, Dot, Loop, Reduce, Scan)):
        return None
    tiles = {access.elements for access in kernel.nodes(Access) if access.elements > 1}
    if len(tiles) != 1 or any(len(access.shape) > 1 or access.offset is None for access in kernel.nodes(Access)):
        return None
    tile = tiles.pop()
    for axis in range(len(launch.grid)):
        program = ProgramId(axis)
        bounds = _boundaries(launch, program, tile)
        total = _count(launch, program, tile)
        if not bounds or total is None:
            continue
        weights = (1, *sorted(bounds))
        if any(high % low for low, high in zip(weights, (*weights[1:], total))):
            return None
        extents = tuple(high // low for low, high in zip(weights, (*weights[1:], total)))
        return Digits(program, tile, weights, extents)
    return None


def _total(digits: Digits) -> int:
    return digits.weights[-1] * digits.extents[-1]


def _boundaries(launch: Launch, program: ProgramId, tile: int) -> set[int] | None:
    """Where the digits of the flat index begin, by the divisions of it; None where it is used in another way too."""
    found: set[int] = set()
    flat = flat_index(program, tile)
    for access in launch.kernel.nodes(Access):
        if access.offset is None:
            return None
        for given in access.expressions:
            expr = whole(given, program, tile)
            for atom in expr.atoms():
                found |= {weight for weight in _part(atom, flat) or () if weight is not None and weight > 1}
            rest = _undivided(expr, flat)
            by_lane, by_program = rest.coefficient(Lane(0)), rest.coefficient(program)
            if by_lane is None or by_program is None or by_program != by_lane * tile:
                return None
    return found


def _undivided(expr: Expr, flat: Expr) -> Expr:
    """``expr`` without the digits in it: what stands outside of divisions is a multiple of the index itself."""
    return expr.rewrite(lambda atom: lift(0) if _part(atom, flat) is not None else None)


def _part(atom: Atom, flat: Expr) -> tuple[int, int | None] | None:
    """(low, high) where ``atom`` is ``flat % high // low``; None where it is anything else."""
    if not isinstance(atom, Opaque) or atom.op not in ("floordiv", "mod") or len(atom.args) != 2:
        return None
    divisor = atom.args[1].value
    if divisor is None or divisor < 2:
        return None
    inner: tuple[int, int | None] | None = (1, None)
    if atom.args[0] != flat:
        alone = [monomial[0] for monomial in atom.args[0].terms if len(monomial) == 1]
        inner = _part(alone[0], flat) if alone and atom.args[0] == Expr.atom(alone[0]) else None
    if inner is None:
        return None
    low, high = inner
    if atom.op == "floordiv":
        return low * divisor, high
    return low, low * divisor if high is None else min(high, low * divisor)


def _count(launch: Launch, program: ProgramId, tile: int) -> int | None:
    """How many values the flat index takes: the bound that masks set, else all of the grid."""
    masks = [pair for access in launch.kernel.nodes(Access) if access.elements > 1 for pair in access.mask or ()]
    bounds = [(right - left + flat_index(program, tile)).value for left, right in masks]
    extent = concrete(launch.grid[program.axis])
    return min((bound for bound in bounds if bound is not None), default=None if extent is None else extent * tile)
