"""The tile of a matrix product: which constexprs set it, which tiles are worth trying, and which the cost model likes best."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from kernlint.cost.device import Device
from kernlint.cost.dot_launch import kernel_time
from kernlint.cost.retiled import Retiled
from kernlint.cost.traffic.accesses import is_guess
from kernlint.interpret.edits import Edits
from kernlint.operators.operator import WhyNot
from kernlint.records import dataclass, replace
from kernlint.rules.finding import Context, Variant
from kernlint.rules.proofs.counterparts import counterpart, dot_at, dot_under, find_dot, launches_at
from kernlint.rules.proofs.dot_tiles import Tile, contracted, current_tile, editable, setting
from kernlint.rules.proofs.grid_literals import joined
from kernlint.rules.proofs.kernel_copies import Form, known_of
from kernlint.rules.proofs.shared_memory import overflowing
from kernlint.rules.proofs.tile_independence import difference
from kernlint.workload import Access, Dot, Launch, Opaque

#: Output tiles worth trying, rows by columns. Powers of two, as tl.arange demands; 16 is the least that MMA takes.
_TILES = [(m, n) for m in (16, 32, 64, 128, 256) for n in (16, 32, 64, 128, 256) if 512 <= m * n <= 32_768]
#: fp32 accumulators a thread can hold without spilling.
_MAX_ACCUMULATORS = 128
STAGES = (3, 4)
#: Output tiles that are tried with other K extents and stages as well.
_REFINED = 2
#: How much longer than the best so far a tile may take by what is foreseen of one launch and be looked at all the same.
_FORESEEN = 1.2
#: The share of the time of the launches at a place that has to be told for a tile to be foreseen there.
_TOLD = 0.9
_EXTENTS = {"m": "the rows", "n": "the columns", "k": "the depth"}


@dataclass(frozen=True)
class TileNames:
    """The constexpr behind each extent of a dot; two may be the same (a square tile of one constant). Extents in ``bound``
    (m, n, k) are not free: something else in the program depends on them."""

    m: str
    n: str
    k: str
    bound: frozenset[str] = frozenset()

    def settings(self, tile: Tile) -> str:
        """What to set for ``tile``; a constant behind two extents is named once."""
        constants = {self.m: tile.m, self.n: tile.n, self.k: tile.k}
        return ", ".join(
            f"{name}={value}"
            for name, value in (*constants.items(), ("num_warps", tile.num_warps), ("num_stages", tile.num_stages))
        )


@dataclass(frozen=True)
class Foreseen:
    """What the launches of a place would take with a tile, as far as that can be told without reading the program again:
    each of those ``told`` runs so often, the ``others`` (us) take what they take now."""

    told: tuple[tuple[Retiled, float], ...]
    others: float

    def us(self, tile: Tile) -> float:
        extents = tile.m, tile.n, tile.k, tile.num_warps, tile.num_stages
        return self.others + sum(count * retiled.us(*extents) for retiled, count in self.told)

    @property
    def now_us(self) -> float:
        """What they take with the tile at hand."""
        return self.others + sum(count * retiled.now_us for retiled, count in self.told)

    @property
    def reach(self) -> float:
        """How much longer than the best so far a tile may take by this and be looked at all the same: what is wrong with one
        launch and what is wrong with another even out."""
        now = [count * retiled.now_us for retiled, count in self.told]
        return 1.0 + (_FORESEEN - 1.0) * math.hypot(*now) / sum(now)


def tile_names(context: Context, launch: Launch, dot: Dot) -> TileNames | WhyNot:
    """The constexprs that set the extents of ``dot``, found by changing each and looking at the dot; why not where an extent is not
    set by one that can be edited, or where what a tile does is a guess. Whether they are free is not asked."""
    around = next((loops for one, loops in launch.kernel.walk(Dot) if one.span == dot.span), ())
    guess = next((loop for loop in around if is_guess(launch, loop)), None)
    if guess is not None:
        return WhyNot(f"nothing tells how often the loop at line {guess.span.line} runs, which another tile may change")
    names: dict[str, str] = {}
    why = "no number at the launch sets"
    for name, value in launch.constexprs.items():
        if not isinstance(value, int) or isinstance(value, bool) or value not in (dot.m, dot.n, dot.k):
            continue
        if not editable(launch, name):
            why = f"`{name}` is no number at the launch from which the grid is computed, so that nothing there sets"
            continue
        edits = setting(launch, {name: 2 * value})
        found = dot_under(context, context.variant.then(edits), launch.span, dot.span)
        if found is None:
            continue
        for axis in "mnk":
            doubles = getattr(found[1], axis) == 2 * value == 2 * getattr(dot, axis)
            if doubles and (axis == "k" or _moves_grid(context, launch, dot, name)) and axis not in names:
                names[axis] = name
    if set(names) != set("mnk"):
        return WhyNot(f"{why} {' and '.join(_EXTENTS[axis] for axis in 'mnk' if axis not in names)} of the tile alone")
    return TileNames(names["m"], names["n"], names["k"])


def named(context: Context, launch: Launch, dot: Dot, form: Form | None) -> tuple[Launch, TileNames | WhyNot]:
    """``launch`` with the literals of its grid beside those that set the same block, and the constexprs that set the extents of
    ``dot``: found out once for a place that launches at several sizes, and for copies of one ``form``."""
    blocks = tuple((name, value) for name, value in launch.constexprs.items() if isinstance(value, int))
    asked = named, context.variant, launch.span, tuple(launch.literals.items()), blocks, dot.span, (dot.m, dot.n, dot.k)
    if asked in context.answers:
        literals, names = context.answers[asked]
        return replace(launch, literals=literals), names
    known = known_of(context, tile_names)
    if form is not None and form.key in known:
        literals, names = known[form.key]
        launch = form.placed(launch, literals)
    else:
        launch = joined(context, launch)
        names = tile_names(context, launch, dot)
        if form is not None and all(span in form.integers for found in launch.literals.values() for span in found):
            known[form.key] = form.numbered(launch), names
    if isinstance(names, TileNames):  # a launch of few programs may not show what sets its tile
        context.answers[asked] = launch.literals, names
    return launch, names


def _breaks(context: Context, edits: Edits) -> bool:
    """Whether ``edits`` that set another tile surely make the program compute something else. Launches of one place are asked
    about one after another."""

    def find_out() -> bool:
        before = context.after(context.variant)
        found = difference(before, context.after(context.variant.then(edits)), edits) if before is not None else None
        return found is not None and found.certain

    return context.once((_breaks, context.variant, edits), find_out)


def _moves_grid(context: Context, launch: Launch, dot: Dot, name: str) -> bool:
    """Whether the grid is computed from ``name``: with tiles of one row there are more programs. Where it is not, another
    tile would leave results out, or reach beyond them."""
    found = dot_under(context, context.variant.then(setting(launch, {name: 1})), launch.span, dot.span)
    return found is not None and found[0].grid != launch.grid


@dataclass(frozen=True)
class Best:
    """The ``tile`` with the least predicted device time of those with which the program means the same, the program with it, and what
    sets its extents, those ``bound`` on which something else was found to depend."""

    tile: Tile
    variant: Variant
    names: TileNames


@dataclass(frozen=True)
class TileChoice:
    """The choice of a tile for the product ``dot`` of ``launch``, whose extents the constexprs ``names`` set, with one of ``stages``;
    copies of one ``form`` are alike."""

    context: Context
    launch: Launch
    dot: Dot
    names: TileNames
    stages: tuple[int, ...] = STAGES
    form: Form | None = None

    def edits(self, tile: Tile) -> Edits:
        """The edits that launch with ``tile``."""
        return tile_edits(self.launch, self.names, tile)

    def variant(self, tile: Tile) -> Variant:
        """The program with ``tile``."""
        return self.context.variant.then(self.edits(tile))

    def breaks(self, tile: Tile) -> bool:
        """Whether the program surely computes something else with ``tile``."""
        return _breaks(self.context, self.edits(tile))

    def free(self) -> TileChoice | WhyNot:
        """The choice with those extents bound that something else in the program depends on, found by doubling each; why not where none
        is free. Of copies one is asked about: each is held against the program with the tile that it gets (:meth:`best`)."""
        names, dot = self.names, self.dot

        def bound() -> set[str]:
            doubled = {axis: setting(self.launch, {getattr(names, axis): 2 * getattr(dot, axis)}) for axis in "mnk"}
            return {axis for axis, edits in doubled.items() if _breaks(self.context, edits)}

        which = self.form.key if self.form is not None else self.edits(current_tile(self.launch, dot))
        axes = self.context.once((TileChoice.free, self.context.variant, which, names), bound)
        if len(axes) == 3:
            return WhyNot("something else in the program depends on every extent of the tile")
        return replace(self, names=replace(names, bound=frozenset(axes)))

    def best(self) -> Best | None:
        """The best tile; None when no candidate can be priced. Launches that do the same work are searched once, those of copies too:
        what they share the cache with makes no difference to a product."""
        work = self.form.key if self.form is not None else (self.launch.work, self.dot.span)
        asked = TileChoice.best, self.context.variant, work, self.names, self.stages
        best = self.context.once(asked, self._searched)
        if best is None or best.variant == self.variant(best.tile):
            return best
        if self.breaks(best.tile):
            return self._searched()
        variant = self.variant(best.tile)
        changed = counterpart(self.context, variant, self.launch)
        return replace(best, variant=variant) if suits(self.context, changed, self.launch, self.dot) else None

    def _searched(self) -> Best | None:
        """The best tile by a search of its own."""
        priced = self.priced()
        ranked = sorted(priced, key=lambda tile: priced[tile][0])
        # To hold the whole program against itself with each extent doubled is dear: mostly the tile that is wanted tells enough.
        if ranked and not self.names.bound and self.breaks(ranked[0]):
            free = self.free()
            if isinstance(free, WhyNot):
                return None
            if free.names.bound:
                return free.best()
        best = next((tile for tile in ranked if not self.breaks(tile)), None)
        return Best(best, priced[best][1], self.names) if best is not None else None

    def priced(self) -> dict[Tile, tuple[float, Variant]]:
        """The tiles worth trying that fit, each with the predicted device time (us) of the program that has it. Launches of one place
        have one tile, which is looked for once."""
        at_hand = self.edits(current_tile(self.launch, self.dot))
        asked = TileChoice.priced, self.context.variant, at_hand, self.names, self.dot.span, self.stages
        return self.context.once(asked, self._priced)

    def _priced(self) -> dict[Tile, tuple[float, Variant]]:
        context, launch = self.context, self.launch
        place = {one.likeness: one for one in launches_at(context.workload, launch.span)} | {launch.likeness: launch}
        dots = [(one, same) for one in place.values() if (same := dot_at(one, self.dot.span)) is not None]

        def us(tile: Tile) -> float | None:
            variant = self.variant(tile)
            fits = all(suits(context, counterpart(context, variant, one), one, same) for one, same in dots)
            return context.gpu_us(variant) if fits else None

        foreseen = _foreseen(context, launch)
        times = searched_tiles(us, self.dot, self.names, self.stages, foreseen)
        return {tile: (time, self.variant(tile)) for tile, time in times.items()}


def _foreseen(context: Context, launch: Launch) -> Foreseen | None:
    """What the launches at the place of ``launch`` would take; None where that cannot be told."""
    workload = context.after(context.variant)
    rows = context.estimate(workload).steps if workload is not None else ()
    counts: dict[object, float] = {}
    launches: dict[object, Launch] = {}
    for row in rows:
        one = row.configuration or row.step
        if isinstance(one, Launch) and row.step.span == launch.span:
            launches[one.work] = one
            counts[one.work] = counts.get(one.work, 0.0) + row.count
    return foreseen_for([(one, counts[kind]) for kind, one in launches.items()], context.device)


def may_gain(context: Context, launch: Launch, dot: Dot, stages: tuple[int, ...], gain: float) -> bool:
    """Whether the launches at the place of ``launch`` may be so many times as fast with another tile, for all that is foreseen."""
    foreseen = _foreseen(context, launch)
    if foreseen is None:
        return True
    depths = _k_extents(_bits(dot))
    tiles = (Tile(m, n, k, _warps(m, n), some) for m, n in _TILES for k in depths for some in stages)
    return gain * min(map(foreseen.us, tiles)) <= _FORESEEN * foreseen.now_us


def foreseen_for(launches: Sequence[tuple[Launch, float]], device: Device) -> Foreseen | None:
    """What ``launches`` would take, each so often as it says; None where that cannot be told of those that take most of it."""
    found = [(Retiled.of(launch, device), launch, count) for launch, count in launches]
    told = tuple((retiled, count) for retiled, _, count in found if retiled is not None)
    known = sum(count * retiled.now_us for retiled, count in told)
    others = sum(count * kernel_time(launch, device).us for retiled, launch, count in found if retiled is None)
    return Foreseen(told, others) if told and known >= _TOLD * (known + others) else None


def searched_tiles(
    us: Callable[[Tile], float | None],
    dot: Dot,
    names: TileNames,
    num_stages: tuple[int, ...] = STAGES,
    foreseen: Foreseen | None = None,
    kept: int = _REFINED,
) -> dict[Tile, float]:
    """The tiles worth trying for ``dot``, each with the time that ``us`` gives it, without those for which that is None, and without
    those that by what is ``foreseen`` are not among the best ``kept``.

    First every output tile with the usual K extent, then the best few of them with other K extents and stages: time
    depends on the output tile far more than on the rest.
    """
    usual, *other = (dot.k,) if "k" in names.bound else _k_extents(_bits(dot))
    priced = _best_of(us, [*_tiles(names, dot, usual, num_stages[0])], foreseen, kept)
    near = [
        replace(tile, k=k, num_stages=stages)
        for tile in sorted(priced, key=lambda tile: priced[tile])[:_REFINED]
        for stages in num_stages
        for k in (usual, *other)
        if _consistent(names, tile.m, tile.n, k)
    ]
    return priced | _best_of(us, [tile for tile in near if tile not in priced], foreseen, 1)


def _best_of(
    us: Callable[[Tile], float | None], tiles: Sequence[Tile], foreseen: Foreseen | None, kept: int
) -> dict[Tile, float]:
    """The times of ``tiles``, in their order: of those that fit the ``kept`` fastest, and some others."""
    if foreseen is None:
        return {tile: time for tile in tiles if (time := us(tile)) is not None}
    told = {tile: foreseen.us(tile) for tile in tiles}
    priced: dict[Tile, float] = {}
    for tile in sorted(told, key=lambda tile: told[tile]):
        best = sorted(priced, key=lambda tile: priced[tile])[:kept]
        if len(best) == kept and told[tile] > foreseen.reach * max(told[one] for one in best):
            break
        time = us(tile)
        if time is not None:
            priced[tile] = time
    return {tile: priced[tile] for tile in tiles if tile in priced}


def suits(context: Context, changed: Launch | None, launch: Launch, dot: Dot) -> bool:
    """Whether ``changed``, which is ``launch`` with another tile for ``dot``, has the shared memory it needs and computes the
    same elements."""
    return (
        changed is not None
        and not overflowing(changed, context.device, computed=True)
        and _covers(changed, launch, dot)
    )


def priced_depth(
    context: Context, base: Variant, launch: Launch, dot: Dot, k: int
) -> tuple[float, str, Variant] | None:
    """The predicted device time (us) of the program whose dot takes ``k`` of K in a step and is the same otherwise, the constexpr
    that says so, and that program; None where none does that alone, or the tile does not fit."""
    if not _walks_along_k_alone(launch, dot):
        return None
    for name, value in launch.constexprs.items():
        if value != dot.k or isinstance(value, bool) or not editable(launch, name):
            continue
        edits = setting(launch, {name: k})
        variant, before = base.then(edits), context.after(base)
        if before is None or difference(before, context.after(variant), edits) is not None:
            continue
        found = find_dot(context.after(variant), launch.span, dot.span)
        if found is None or (found[1].m, found[1].n, found[1].k) != (dot.m, dot.n, k) or found[0].grid != launch.grid:
            continue
        old, new = _summed(launch, dot), _summed(*found)
        if old is not None and new is not None and new >= old:
            time = context.gpu_us(variant)
            return (time, name, variant) if time is not None and suits(context, found[0], launch, dot) else None
    return None


def _walks_along_k_alone(launch: Launch, dot: Dot) -> bool:
    """Whether the operands of ``dot`` are all that its loops load and nothing is stored there: a scale that belongs to one step
    along K would belong to another part of K in a deeper one."""
    around = {loop.id for node, loops in launch.kernel.walk(Dot) if node is dot for loop in loops}
    inside = [node for node, loops in launch.kernel.walk(Access) if around & {loop.id for loop in loops}]
    return bool(around) and {node.id for node in inside} == {dot.a.load, dot.b.load}


def _summed(launch: Launch, dot: Dot) -> int | None:
    """The K that ``dot`` sums over in all; None where that is open."""
    return next((contracted(dot, loops) for node, loops in launch.kernel.walk(Dot) if node is dot), None)


def _covers(found: Launch, launch: Launch, dot: Dot) -> bool:
    """Whether ``found`` computes the same elements as ``launch``: its tiles leave none out, and reach beyond the tensors no
    more than before where no mask holds them back."""
    new_dot = dot_at(found, dot.span)
    old = next(((d, loops) for d, loops in launch.kernel.walk(Dot) if d is dot), None)
    new = next(((d, loops) for d, loops in found.kernel.walk(Dot) if d is new_dot), None)
    if new_dot is None or old is None or new is None:
        return False
    if launch.programs is None or found.programs is None:
        return False
    area, new_area = launch.programs * dot.m * dot.n, found.programs * new_dot.m * new_dot.n
    output = max((t.numel or 0 for s in launch.kernel.stores() if (t := launch.tensor(s.base)) is not None), default=0)
    if new_area < min(area, output or area):
        return False
    tiles = [a for a in launch.kernel.nodes(Access) if a.elements > 1]
    bare = any(tile.mask is None and not _wraps(tile) for tile in tiles)
    if bare and new_area != area:
        return False
    k_bare = any(load.mask is None for load in launch.kernel.loads() if load.id in (dot.a.load, dot.b.load))
    return not k_bare or contracted(*old) == contracted(*new)


def _wraps(access: Access) -> bool:
    """Whether the rows or columns of a tile wrap around at the end of the tensor."""
    return access.offset is not None and any(isinstance(a, Opaque) and a.op == "mod" for a in access.offset.atoms())


def _tiles(names: TileNames, dot: Dot, k: int, num_stages: int) -> Iterator[Tile]:
    """Every output tile worth trying; where one constant sets several extents, those are equal."""
    for m, n in _TILES:
        if ("m" in names.bound and m != dot.m) or ("n" in names.bound and n != dot.n):
            continue
        extent = {names.m: m, names.n: n}.get(names.k, k)
        if not _consistent(names, m, n, extent):
            continue
        warps = _warps(m, n)
        if m * n / (32 * warps) <= _MAX_ACCUMULATORS:
            yield Tile(m, n, extent, warps, num_stages)


def _warps(m: int, n: int) -> int:
    return 8 if m * n >= 128 * 128 else 4


def _consistent(names: TileNames, m: int, n: int, k: int) -> bool:
    """Whether constants shared between extents allow this tile."""
    values: dict[str, int] = {}
    return all(values.setdefault(name, extent) == extent for name, extent in ((names.m, m), (names.n, n), (names.k, k)))


def _bits(dot: Dot) -> int:
    return max(dot.a.dtype.bits, dot.b.dtype.bits)


def _k_extents(bits: int) -> tuple[int, ...]:
    # 128 bytes along K fill a swizzled shared-memory row: the usual extent first, then its neighbours.
    return {8: (128, 64), 16: (64, 32, 128), 32: (32, 64)}.get(bits, (32, 64))


def tile_edits(launch: Launch, names: TileNames, tile: Tile) -> Edits:
    """The edits that launch with ``tile``."""
    values = {
        names.k: tile.k,
        names.n: tile.n,
        names.m: tile.m,
        "num_warps": tile.num_warps,
        "num_stages": tile.num_stages,
    }
    return setting(launch, values)
