"""All the points at which a kernel makes an access: programs, lanes and iterations, within masks, guards and loops.

The questions that rules ask are about extremes: which is the largest offset that a lane still inside the mask reads, the
largest value that a 32-bit index takes? :class:`Space` answers with a *witness*, one point that is allowed by every
condition that was followed, so that a finding can name it. Where no witness is found a rule stays silent; the answer
"none" is no proof that there is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import product

from kernlint.interpret.triton.reading import ASSUMED_CONSTEXPR
from kernlint.records import dataclass
from kernlint.workload import Branch, Kernel, Launch, Loop, Node, Tensor, Workload
from kernlint.workload.access import Access, Atomic, Bounds, Load, Store
from kernlint.workload.expr import Atom, Expr, Lane, LoopIndex, Opaque, ProgramId, Size, Symbol, lift
from kernlint.workload.kernel import ANY_TENSOR
from kernlint.workload.ranges import Unbounded, bounds
from kernlint.workload.size_names import is_extent

#: How often a point is moved to mend a violated condition before it is given up.
_REPAIRS = 12
#: Corners tried beside the best guess.
_MAX_CORNERS = 256

Point = dict[Atom, int]


@dataclass(frozen=True)
class Site:
    """A node of a kernel with the ``loops`` around it and the ``guards`` of the branches and ``while`` loops that it stands in.

    ``open`` says that one of them has a condition that is no bound, such as one on loaded data.
    """

    node: Node
    loops: tuple[Loop, ...]
    guards: Bounds = ()
    open: bool = False

    @property
    def access(self) -> Access:
        assert isinstance(self.node, Access)
        return self.node

    @property
    def masked(self) -> bool:
        """Whether a mask may leave lanes out for a reason that is not known."""
        node = self.node
        known = getattr(node, "mask_known", True)
        return isinstance(node, Access) and node.mask is not None and not known


def sites(kernel: Kernel, *kinds: type) -> list[Site]:
    """Every node of ``kinds`` (all accesses by default), in program order, but for accesses through addresses that were loaded: two
    of these may be of one tensor or of two, wherever they are."""
    return kernel.once(_sites_of, kinds or (Load, Store, Atomic))


def _sites_of(kernel: Kernel, kinds: tuple[type, ...]) -> list[Site]:
    return [site for site in kernel.once(_every_site) if isinstance(site.node, kinds)]


def _every_site(kernel: Kernel) -> list[Site]:
    found = _sites(kernel.body, (), (), False)
    return [one for one in found if not (isinstance(one.node, Access) and one.node.base == ANY_TENSOR)]


def _sites(body: tuple[Node, ...], loops: tuple[Loop, ...], guards: Bounds, open: bool) -> Iterator[Site]:
    for node in body:
        yield Site(node, loops, guards, open)
        if isinstance(node, Loop):
            yield from _sites(node.body, (*loops, node), guards + (node.held or ()), open or node.held is None)
        elif isinstance(node, Branch):
            for index, arm in enumerate(node.arms):
                held = node.conditions[index] if index < len(node.conditions) else None
                yield from _sites(arm, loops, guards + (held or ()), open or held is None)


class _Bound:
    """An expression that must not be negative at a point."""

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    @cached_property
    def slopes(self) -> list[tuple[Atom, int | None]]:
        """By how much the expression grows with each of its atoms; None where that differs from point to point."""
        coefficients = [(atom, self.expr.coefficient(atom)) for atom in self.expr.atoms()]
        return [(atom, slope.value if slope is not None else None) for atom, slope in coefficients]


class Space:
    """The points at which ``site`` of ``launch`` is reached, with symbols given by ``sizes``.

    ``known`` is false where an extent could not be computed. Lanes are those of ``shape``, of the access by default.
    """

    def __init__(
        self, launch: Launch, site: Site, sizes: Mapping[Atom, int], shape: tuple[int, ...] | None = None
    ) -> None:
        self.ranges: dict[Atom, tuple[int, int]] = {}
        self.bounds: list[_Bound] = []
        self.known = True
        self.sizes = sizes
        for axis, extent in enumerate(launch.grid):
            self._range(ProgramId(axis), extent)
        for axis in range(len(launch.grid), 3):
            self.ranges[ProgramId(axis)] = (0, 0)
        if shape is None:
            shape = site.access.shape if isinstance(site.node, Access) else ()
        for dim, extent in enumerate(shape):
            self.ranges[Lane(dim)] = (0, extent - 1)
        for loop in site.loops:
            self._loop(loop)
        mask = site.node.mask if isinstance(site.node, Access) else None
        for left, right in (*(mask or ()), *site.guards):
            self.bounds.append(self._bound(right - left - 1))

    def _with_sizes(self, expr: Size) -> Expr:
        return lift(expr).substitute(self.sizes)

    def _bound(self, slack: Expr) -> _Bound:
        return _Bound(self._with_sizes(slack))

    def _range(self, atom: Atom, extent: Size) -> None:
        number = self._with_sizes(extent).value
        if number is None or number < 1:
            self.known = False
            number = 1
        self.ranges[atom] = (0, number - 1)

    def _loop(self, loop: Loop) -> None:
        atom = LoopIndex(loop.id)
        if loop.trip is None:
            self.ranges[atom] = (0, 0)
            return
        trip = self._with_sizes(loop.trip)
        if trip.value is not None:
            self._range(atom, trip)
            return
        # The trip count differs between programs: bounded by its largest, and by itself at each point.
        corners = [trip.evaluate(point) for point in self._corners(trip.atoms())]
        found = [int(c) for c in corners if c is not None]
        self.ranges[atom] = (0, max(found, default=1) - 1 if max(found, default=1) > 0 else 0)
        self.known = self.known and bool(found)
        self.bounds.append(self._bound(trip - Expr.atom(atom) - 1))

    def _corners(self, atoms: AbstractSet[Atom]) -> Iterator[Point]:
        """The corners of the box of ``atoms``, at most ``_MAX_CORNERS``."""
        moving = [(a, self.ranges[a]) for a in sorted(atoms, key=str) if a in self.ranges]
        for index, values in enumerate(product(*(dict.fromkeys(r) for _, r in moving))):
            if index >= _MAX_CORNERS:
                return
            yield {atom: value for (atom, _), value in zip(moving, values)}

    # -- questions --------------------------------------------------------------------------------------------------

    def allowed(self, point: Point) -> bool:
        """Whether ``point`` meets all bounds; false where one cannot be computed."""
        for bound in self.bounds:
            slack = bound.expr.evaluate(point)
            if slack is None or slack < 0:
                return False
        return True

    def value(self, expr: Expr, point: Point) -> int | None:
        number = self._with_sizes(expr).evaluate(point)
        return None if number is None else int(number)

    def largest(self, expr: Expr, enough: int | None = None) -> tuple[int, Point] | None:
        """The largest value of ``expr`` found at an allowed point; None where there is none or it cannot be computed. Where none
        can be above ``enough``, the first one found."""
        if not self.known:
            return None
        target = self._with_sizes(expr)
        atoms = set(target.atoms()).union(*(bound.expr.atoms() for bound in self.bounds))
        top = self._top(target)
        best: tuple[int, Point] | None = None
        for start in self._starts(target, atoms):
            if best is not None and top <= (best[0] if enough is None else max(best[0], enough)):
                break
            point = self._repaired(start)
            if point is None:
                continue
            value = target.evaluate(point)
            if value is not None and (best is None or value > best[0]):
                best = (int(value), point)
        return best

    def smallest(self, expr: Expr, enough: int | None = None) -> tuple[int, Point] | None:
        found = self.largest(-expr, None if enough is None else -enough)
        return None if found is None else (-found[0], found[1])

    def _top(self, target: Expr) -> float:
        """What ``target`` is at most, whatever the bounds leave of the ranges."""
        try:
            return bounds(target, self.ranges)[1]
        except Unbounded:
            return math.inf

    def _starts(self, target: Expr, atoms: set[Atom]) -> Iterator[Point]:
        """Points to begin at: the corner that makes ``target`` largest as far as it is linear, then other corners."""
        ends: Point = {}
        for atom, (low, high) in self.ranges.items():
            coefficient = target.coefficient(atom)
            falls = coefficient is not None and (coefficient.value or 0) < 0
            ends[atom] = low if falls else high
        yield ends
        yield {atom: low for atom, (low, _) in self.ranges.items()}
        rest = {atom: low for atom, (low, _) in self.ranges.items()}
        nonlinear = any(isinstance(a, Opaque) for a in atoms)
        for index, corner in enumerate(self._corners(atoms)):
            if not nonlinear and index >= 64:
                return
            yield {**rest, **corner}

    def _repaired(self, point: Point) -> Point | None:
        """``point`` moved as little as possible until all bounds hold; None where that leads nowhere."""
        point = dict(point)
        for _ in range(_REPAIRS):
            before, broken = dict(point), False
            for bound in self.bounds:
                slack = bound.expr.evaluate(point)
                if slack is None:
                    return None
                if slack < 0:
                    broken = True
                    self._mend(point, bound, -int(slack))
            if not broken:
                return point
            if point == before:  # nor will it move in the next round
                return None
        return None

    def _mend(self, point: Point, bound: _Bound, lack: int) -> None:
        """Move ``point`` so that ``bound`` grows by ``lack``: large strides first, the rest with the smallest."""
        moves: list[tuple[int, Atom, int]] = []
        for atom, slope in bound.slopes:
            if atom in self.ranges:
                step = slope
                if step is None:
                    higher = bound.expr.evaluate({**point, atom: point[atom] + 1})
                    now = bound.expr.evaluate(point)
                    step = int(higher - now) if higher is not None and now is not None else 0
                if step:
                    moves.append((abs(step), atom, 1 if step > 0 else -1))
        moves.sort(key=lambda move: -move[0])
        for size, atom, direction in moves:
            count = min(self._room(point, atom, direction), lack // size)
            point[atom] += direction * count
            lack -= count * size
        for size, atom, direction in reversed(moves):
            if lack <= 0:
                return
            count = min(self._room(point, atom, direction), -(-lack // size))
            point[atom] += direction * count
            lack -= count * size

    def _room(self, point: Point, atom: Atom, direction: int) -> int:
        low, high = self.ranges[atom]
        return high - point[atom] if direction > 0 else point[atom] - low


# -- sizes ------------------------------------------------------------------------------------------------------------


def symbols_of(*exprs: Size | None) -> set[Symbol]:
    """The open sizes in ``exprs``."""
    return {a for e in exprs if isinstance(e, Expr) for a in e.atoms() if isinstance(a, Symbol)}


def extents_of(*exprs: Size | None) -> set[Symbol]:
    """Those of :func:`symbols_of` that are an extent of a tensor or its number of elements."""
    return {symbol for symbol in symbols_of(*exprs) if is_extent(symbol)}


def open_symbols(launch: Launch, site: Site, *exprs: Size | None) -> set[Symbol]:
    """The symbols on which the points of ``site``, its offset and ``exprs`` depend."""
    found = symbols_of(*launch.grid, *(loop.trip for loop in site.loops), *exprs)
    found |= symbols_of(*(side for pair in site.guards for side in pair))
    if isinstance(site.node, Access):
        found |= symbols_of(*site.node.expressions)
    return found


#: Sizes to try for open symbols: not multiples of a tile, of a tile, small ones; distinct where several are open.
_TRIES: tuple[tuple[int, ...], ...] = (
    (1000, 1037, 1093, 1129),
    (4099, 2053, 1031, 521),
    (96, 160, 224, 352),
    (48, 80, 112, 176),
    (100, 77, 53, 37),
    (7, 5, 3, 2),
    (1, 1, 1, 1),
)


def samples(workload: Workload, symbols: set[Symbol], launch: Launch | None = None) -> Iterator[dict[Atom, int]]:
    """Sizes for ``symbols`` that contradict nothing that the program checks before its launches, nor what the kernel of
    ``launch`` was specialised for."""
    names = sorted(symbols, key=lambda s: s.name)
    if not names:
        yield {}
        return
    for values in _TRIES:
        sizes: dict[Atom, int] = {s: values[i % len(values)] for i, s in enumerate(names)}
        if agrees(workload, sizes) and (launch is None or _specialised(launch, sizes)):
            yield sizes


def agrees(workload: Workload, sizes: Mapping[Atom, int]) -> bool:
    """Whether the checks of ``workload`` that only concern ``sizes`` let them pass."""
    for left, right in workload.bounds:
        slack = (right - left).evaluate(sizes)
        if slack is not None and slack <= 0:
            return False
    return all(not zero.evaluate(sizes) for zero in workload.zeros)


def _specialised(launch: Launch, sizes: Mapping[Atom, int]) -> bool:
    """Whether the flags and constexprs that ``launch`` computes from sizes come out as its kernel was read with."""
    zeros = [zero for group in launch.premises.values() for zero in group]
    if any(zero.evaluate(sizes) for zero in zeros):
        return False
    for size in launch.open_constexprs.values():
        number = size.evaluate(sizes)
        if number is not None and number != ASSUMED_CONSTEXPR:
            return False
    return True


def last_element(tensor: Tensor) -> Size | None:
    """The offset of the last element of the view ``tensor`` from its first; None where shape or strides are open."""
    if tensor.shape is None or tensor.strides is None:
        return None
    last: Expr = Expr.constant(0)
    for extent, stride in zip(tensor.shape, tensor.strides):
        last = last + (lift(extent) - 1) * stride
    return last


def told(point: Point) -> str:
    """``point`` in words: ``program 3, lane 12``."""
    programs = [point[a] for a in sorted((a for a in point if isinstance(a, ProgramId)), key=lambda a: a.axis)]
    lanes = [point[a] for a in sorted((a for a in point if isinstance(a, Lane)), key=lambda a: a.dim)]
    iterations = [point[a] for a in sorted((a for a in point if isinstance(a, LoopIndex)), key=lambda a: a.loop)]
    while len(programs) > 1 and programs[-1] == 0:
        programs.pop()
    parts = [f"program {_tuple(programs)}"] if programs else []
    if iterations:
        parts.append(f"iteration {_tuple(iterations)}")
    if lanes:
        parts.append(f"lane {_tuple(lanes)}")
    return ", ".join(parts)


def _tuple(values: list[int]) -> str:
    return str(values[0]) if len(values) == 1 else f"({', '.join(map(str, values))})"
