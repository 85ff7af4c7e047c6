"""A matmul tile that is left to ``triton.autotune``: which configurations it should try, and for which sizes anew.

The cost model prices every tile worth trying in the typical ones of the calls at hand (calls of other sizes, or one place
that launches at several), and the best of each in all of them.
Of those tiles a few are taken, so that each call has one that is near its best. The key is made of the arguments
without which a call would run with another call's tile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from math import log
from typing import ClassVar

from kernlint.operators.product_tiles import (
    Foreseen,
    TileChoice,
    TileNames,
    foreseen_for,
    searched_tiles,
    suits,
    tile_edits,
)
from kernlint.records import dataclass, replace
from kernlint.rules.correctness.sharing import partners
from kernlint.rules.finding import Context, Variant
from kernlint.rules.launch.sizes import per_call_sizes
from kernlint.rules.proofs.counterparts import dot_at, launches_at
from kernlint.rules.proofs.dot_tiles import Tile, current_tile
from kernlint.rules.proofs.iteration_domain import symbols_of
from kernlint.rules.tiling.other_sizes import Call
from kernlint.workload import Access, Atomic, Dot, Expr, Launch, Loop, Span, Symbol, Tuning, Workload
from kernlint.workload.at_sizes import launch_at
from kernlint.workload.expr import lift
from kernlint.workload.steps import map_launch

#: Each takes a compilation and some thirty launches at every new key.
MOST_CONFIGURATIONS = 8
#: How much slower than its best tile a call may be with the best of the list: what the model does not tell apart.
_NEAR = 1.05
#: Output tiles of each call that may come into the list.
_BEST_OF_CALL = 3
#: Calls up to which the program is read with the best tiles of each; of more, with those that are foreseen to suit them.
_READ_EACH = 8
#: Predicted times of two tiles that differ by no more may be the other way round.
UNSURE = 1.3


@dataclass(frozen=True)
class Configuration:
    """One candidate of an autotuner: the constexprs it sets and its launch options."""

    values: tuple[tuple[str, int], ...]
    num_warps: int
    num_stages: int


@dataclass(frozen=True)
class Autotuned:
    """The workload with the launches at ``launch`` left to ``triton.autotune``.

    ``key`` are the arguments to tune anew for; those of them in ``bucketed`` change from call to call and count by their
    next power of two. ``restored`` are the parameters whose tensors the kernel updates, which a measurement must not change.
    ``literals`` are the numbers that set the tile now, in the grid too, with the constexpr that each of them is for;
    ``launches`` gives, for each launch that the place makes, those under the ``configurations``.
    """

    launch: Span
    configurations: tuple[Configuration, ...]
    key: tuple[str, ...]
    bucketed: frozenset[str]
    restored: tuple[str, ...]
    literals: tuple[tuple[str, Span], ...]
    launches: Callable[[], Sequence[tuple[Launch, ...]]] = field(compare=False, repr=False)

    #: The user's device measures what it takes, among tiles that were chosen for the device that was named.
    tuned: ClassVar[str] = "instead"

    def __call__(self, workload: Workload) -> Workload:
        left = list(self.launches())

        def tuned(launch: Launch) -> Launch:
            first, *others = left.pop(0) if left else (launch,)
            swept = frozenset(name for one in self.configurations for name, _ in one.values)
            count = len(self.configurations)
            tuning = Tuning(
                self.key,
                count,
                swept,
                pruned=False,
                kept=False,
                span=self.launch,
                parameters=swept,
                restored=frozenset(self.restored),
            )
            first, *others = (replace(one, autotuned=True, tuning=tuning) for one in (first, *others))
            return replace(first, alternatives=tuple(others))

        return map_launch(workload, self.launch, tuned)


@dataclass(frozen=True)
class Tuned:
    """The advice: ``tiles`` to try, the most useful first, and the program ``variant`` that tries them, or has the one tile
    that is near the best of every call. ``gains`` are predicted times (of the launch) with the tile at hand over those with
    the best of the list, one for each call."""

    tiles: tuple[Tile, ...]
    key: tuple[str, ...]
    variant: Variant
    gains: tuple[float, ...]


def autotune_words(launch: Launch, tuned: Tuned) -> tuple[str, str]:
    """(method, plan) of a change to several tiles."""
    kernel, key = launch.kernel.name, ", ".join(f'"{name}"' for name in tuned.key)
    tiles = "; ".join(map(str, tuned.tiles))
    change = next(one for one in tuned.variant.transforms if isinstance(one, Autotuned))
    names = ", ".join(name for name, _ in change.configurations[0].values)
    bucket = "".join(f", {name} rounded with triton.next_power_of_2" for name in tuned.key if name in change.bucketed)
    restored = f", restore_value={list(change.restored)}" if change.restored else ""
    return (
        f"Let `@triton.autotune` choose the tile of `{kernel}` from {len(tuned.tiles)} configurations.",
        f"Decorate `{kernel}` with `@triton.autotune(configs=[...], key=[{key}]{restored})`{bucket}, with the tiles {tiles}; at line "
        f"{launch.span.line} drop {names}, num_warps and num_stages, and compute the grid from META with `triton.cdiv`.",
    )


@dataclass(frozen=True)
class _Call:
    """The launch number ``place`` of those at its place in the source, in a call. ``read_once`` says that it can be had from
    the program with open sizes."""

    call: Call
    launch: Launch
    dot: Dot
    place: int
    read_once: bool = False

    @property
    def now_us(self) -> float | None:
        return self._us_of(self.launch)

    def us(self, names: TileNames, tile: Tile) -> float | None:
        """Microseconds with ``tile``; None where it does not fit."""
        context, times, key = self.call.context, self.call.times, (self.launch.span, self.place, tile)
        if key not in times:
            found = self._under(context.variant.then(tile_edits(self.launch, names, tile)))
            times[key] = self._us_of(found) if suits(context, found, self.launch, self.dot) else None
        return times[key]

    @property
    def foreseen(self) -> Foreseen | None:
        return foreseen_for([(self.launch, 1.0)], self.call.context.device)

    def best(self, names: TileNames, stages: tuple[int, ...]) -> list[Tile]:
        """The tiles that are fastest here, of each output tile one."""
        times = searched_tiles(lambda tile: self.us(names, tile), self.dot, names, stages, self.foreseen, _BEST_OF_CALL)
        return _fastest(times)

    def checked(self) -> _Call:
        """This, read once with all calls where that gives the same for the launch as it stands."""
        if self.call.opened is None:
            return self
        quick = replace(self, read_once=True)
        same = quick._under(self.call.context.variant)
        alike = same is not None and same.grid == self.launch.grid and same.constexprs == self.launch.constexprs
        return quick if alike and self._us_of(same) == self.now_us else self

    def _under(self, variant: Variant) -> Launch | None:
        """The launch under ``variant``; None where it is gone."""
        context = self.call.opened if self.read_once else self.call.context
        assert context is not None
        found = launches_at(context.after(variant), self.launch.span)
        if self.place >= len(found):
            return None
        return launch_at(found[self.place], self.call.sizes) if self.read_once else found[self.place]

    def _us_of(self, launch: Launch | None) -> float | None:
        """Predicted device time of ``launch`` alone; None where it starts no program, its work being left to others."""
        if launch is None:
            return None
        context = self.call.context
        alone = Workload(context.workload.entry, context.workload.file, (launch,))
        return next((step.gpu_us or None for step in context.estimate(alone).steps), None)


def tuned_tiles(choice: TileChoice, asked: Iterable[Call], count: int = 1) -> Tuned | None:
    """The tiles for the launch of ``choice`` in the calls ``asked`` about: at least ``count``, if so many are near the best of
    some call. None where the calls cannot be priced, or where no argument tells the autotuner for which of them it should
    tune anew."""
    context, launch, dot, names, stages = choice.context, choice.launch, choice.dot, choice.names, choice.stages
    calls = _calls(asked, launch, dot)
    now = [call.now_us for call in calls]
    if not calls or None in now:
        return None
    at_hand = current_tile(launch, dot)
    distinct = {id(one): one for one in calls}.values()
    if len(distinct) > _READ_EACH:
        shortlist = dict.fromkeys((*choice.priced(), *_foreseen_tiles(distinct, names, stages)))
    else:
        shortlist = dict.fromkeys(tile for one in distinct if one.call.typical for tile in one.best(names, stages))
    shortlist[at_hand] = None
    table = {tile: times for tile in shortlist if (times := _times(tile, names, calls)) is not None}
    tiles = _few(table)
    tiles += _next(table, tiles, at_hand)[: max(0, count - len(tiles))]
    tiles = [t for t in tiles if t == at_hand or not choice.breaks(t)]
    if not tiles or context.variant.transforms:
        return None
    best = [min(table[tile][i] for tile in tiles) for i in range(len(calls))]
    gains = tuple((us or 0.0) / least for us, least in zip(now, best))
    if len(tiles) == 1:
        return Tuned(tuple(tiles), (), choice.variant(tiles[0]), gains)
    key, bucketed = _key(choice, calls, {tile: table[tile] for tile in tiles})
    variant = _variant(choice, tiles, key, bucketed) if key else None
    return Tuned(tuple(tiles), key, variant, gains) if variant is not None else None


def placed(choice: TileChoice, tuned: Tuned) -> Variant | None:
    """The program that has the tiles of ``tuned``, found for a copy of the launch of ``choice``."""
    if len(tuned.tiles) == 1:
        return choice.variant(tuned.tiles[0])
    change = next(one for one in tuned.variant.transforms if isinstance(one, Autotuned))
    literals = _literals(choice.launch, [name for name, _ in change.configurations[0].values])
    change = replace(
        change, launch=choice.launch.span, literals=literals, launches=partial(_with_each, choice, tuned.tiles)
    )
    return choice.context.variant.then(transform=change)


def _foreseen_tiles(calls: Iterable[_Call], names: TileNames, stages: tuple[int, ...]) -> list[Tile]:
    """The few tiles that leave no call far from its best, by what is foreseen of those of which it can be told."""
    told = [(call.dot, foreseen) for call in calls if (foreseen := call.foreseen) is not None]
    best = dict.fromkeys(
        tile for dot, foreseen in told for tile in _fastest(searched_tiles(foreseen.us, dot, names, stages))
    )
    return _few({tile: [foreseen.us(tile) for _, foreseen in told] for tile in best})


def _fastest(times: Mapping[Tile, float]) -> list[Tile]:
    """The few tiles that take least, of each output tile one."""
    found: dict[tuple[int, int], Tile] = {}
    for tile in sorted(times, key=lambda tile: times[tile]):
        found.setdefault((tile.m, tile.n), tile)
    return list(found.values())[:_BEST_OF_CALL]


def _times(tile: Tile, names: TileNames, calls: Sequence[_Call]) -> list[float] | None:
    """What each of ``calls`` takes with ``tile``; None where it does not fit one of them."""
    found: list[float] = []
    for call in calls:
        us = call.us(names, tile)
        if us is None:
            return None
        found.append(us)
    return found


def _calls(asked: Iterable[Call], launch: Launch, dot: Dot) -> list[_Call]:
    """Each launch of the place in each call; those that are alike are one object, again and again."""
    found = []
    for call in asked:
        known: dict[object, _Call] = {}
        for place, one in enumerate(launches_at(call.context.workload, launch.span)):
            same = dot_at(one, dot.span)
            if same is None:
                return []
            if one.likeness not in known:
                # With the literals that stand for the tile in the grid, which the launch at hand was found to have.
                written = replace(one, literals=launch.literals)
                known[one.likeness] = _Call(call, written, same, place).checked()
            found.append(known[one.likeness])
    return found


def _few(table: dict[Tile, list[float]]) -> list[Tile]:
    """The tiles that leave no call far from its best, found one after another: each is the one that helps the mean most."""
    if not table:
        return []
    least = [min(times) for times in zip(*table.values())]
    chosen: list[Tile] = []
    while len(chosen) < min(MOST_CONFIGURATIONS, len(table)):

        def loss(tile: Tile) -> float:
            return sum(log(min(times) / best) for times, best in zip(zip(*(table[t] for t in (*chosen, tile))), least))

        chosen.append(min((tile for tile in table if tile not in chosen), key=loss))
        if all(min(times) <= _NEAR * best for times, best in zip(zip(*(table[t] for t in chosen)), least)):
            break
    return chosen


def _next(table: dict[Tile, list[float]], chosen: list[Tile], at_hand: Tile) -> list[Tile]:
    """The tiles beside those ``chosen`` that may be the best of some call, for all that the model knows; the one at hand
    first, so that a call for which the model is wrong keeps it."""
    least = [min(times) for times in zip(*table.values())]
    ratios = {tile: min(us / best for us, best in zip(table[tile], least)) for tile in table if tile not in chosen}
    return sorted((t for t in ratios if ratios[t] <= UNSURE), key=lambda tile: (tile != at_hand, ratios[tile]))


# -- the key ------------------------------------------------------------------------------------------------------------


def _key(
    choice: TileChoice, calls: Sequence[_Call], table: dict[Tile, list[float]]
) -> tuple[tuple[str, ...], frozenset[str]]:
    """The arguments to tune anew for, and those of them that change from call to call.

    Beginning with all sizes the launch is given, those go that no call needs to get a tile near its best, first those that
    change from call to call. Constexprs that the caller sets shape the kernel, and stay.
    """
    context, launch, names = choice.context, choice.launch, choice.names
    sizes = _sizes(context, launch)
    values = {name: [call.launch.arguments.get(name) for call in calls] for name in sizes}
    kept = [name for name in sizes if all(isinstance(value, int) for value in values[name])]
    if len(calls) > 1:
        distinct = {tuple(values[name]): name for name in reversed(kept) if len(set(values[name])) > 1}
        kept = [name for name in kept if name in distinct.values()]
    per_call = _per_call(context, launch, kept)
    types = [(call.dot.a.memory_dtype, call.dot.b.memory_dtype) for call in calls]
    for name in sorted(kept, key=lambda name: (name not in per_call, -kept.index(name))):
        rest = [other for other in kept if other != name]
        most = max(_NEAR, _loss(kept, values, types, table)) if len(calls) > 1 and rest else 0.0
        if most and _loss(rest, values, types, table) <= most:
            kept = rest
    tuned = {names.m, names.n, names.k, *launch.literals}
    shaping = [name for name in launch.constexprs if name in launch.explicit and name not in tuned]
    return (*kept, *shaping), frozenset(per_call & set(kept))


def _sizes(context: Context, launch: Launch) -> list[str]:
    """The arguments that bound the kernel's loops and masks, in the order of its parameters."""
    kernel = context.program.open_kernel(launch.kernel)
    if kernel is None:
        return []
    bounds: list[Expr] = []
    for node in kernel.nodes((Access, Loop)):
        if isinstance(node, Loop):
            bounds += [lift(node.trip)] if node.trip is not None else []
        elif isinstance(node, Access):
            bounds += node.bounding
    names = {atom.name for bound in bounds for atom in symbols_of(bound)}
    return [name for name in launch.arguments if name in names]


def _per_call(context: Context, launch: Launch, names: Iterable[str]) -> set[str]:
    """Those of ``names`` that count rows of the work, as far as the source leaves them open."""
    varying: set[Symbol] = per_call_sizes(context)
    values = {name: launch.arguments.get(name) for name in names}
    return {name for name, value in values.items() if isinstance(value, Expr) and symbols_of(value) & varying}


def _loss(
    key: Sequence[str],
    values: Mapping[str, Sequence[object]],
    types: Sequence[object],
    table: dict[Tile, list[float]],
) -> float:
    """How much longer than with its own best tile some call takes where calls that agree in ``key`` and in
    their ``types``, which are part of every key, share one."""
    calls = range(len(next(iter(table.values()))))
    least = [min(times[i] for times in table.values()) for i in calls]
    groups: dict[tuple[object, ...], list[int]] = {}
    for i in calls:
        groups.setdefault((types[i], *(values[name][i] for name in key)), []).append(i)

    def shared(group: list[int]) -> Callable[[Tile], float]:
        return lambda tile: max(table[tile][i] / least[i] for i in group)

    return max(min(map(shared(group), table)) for group in groups.values())


# -- the program --------------------------------------------------------------------------------------------------------


def _variant(
    choice: TileChoice, tiles: Sequence[Tile], key: tuple[str, ...], bucketed: frozenset[str]
) -> Variant | None:
    context, launch, names = choice.context, choice.launch, choice.names
    launches = _with_each(choice, tiles)
    if not launches:
        return None
    # Constexprs that share a literal are set together.
    extents = (names.m, names.n, names.k)
    shared = {span for name in extents for span in launch.literals.get(name, ())}
    tuned = [n for n in launch.constexprs if n in extents or shared.intersection(launch.literals.get(n, ()))]
    configurations = tuple(
        Configuration(tuple((n, int(one.constexprs[n])) for n in tuned), tile.num_warps, tile.num_stages)  # type: ignore[call-overload]
        for tile, one in zip(tiles, launches[0])
    )
    change = Autotuned(
        launch.span, configurations, key, bucketed, _updated(launch), _literals(launch, tuned), lambda: launches
    )
    return context.variant.then(transform=change)


def _with_each(choice: TileChoice, tiles: Sequence[Tile]) -> list[tuple[Launch, ...]]:
    """Each launch at the place of ``choice`` with each of ``tiles``; none where one of these makes another number of launches."""
    context, span = choice.context, choice.launch.span
    count = len(launches_at(context.workload, span))
    by_tile = []
    for tile in tiles:
        launches = launches_at(context.after(choice.variant(tile)), span)
        if len(launches) != count:
            return []
        by_tile.append(launches)
    return list(zip(*by_tile))


def _literals(launch: Launch, names: Iterable[str]) -> tuple[tuple[str, Span], ...]:
    """The numbers that set the constexprs ``names``, each with the one that it is for."""
    return tuple((name, span) for name in names for span in launch.literals.get(name, ()))


def _updated(launch: Launch) -> tuple[str, ...]:
    """The parameters through which the kernel changes what it also reads, in place or with atomics."""
    kernel = launch.kernel
    read = {name for load in kernel.loads() for name in partners(launch, load.base)}
    changed = {store.base for store in kernel.stores() if store.base in read}
    changed |= {node.base for node in kernel.nodes(Atomic)}
    return tuple(name for name in launch.arguments if name in changed)
