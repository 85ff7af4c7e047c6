"""Two launches as one: the values that the second reads back from memory stay where the first computed them.

Three ways, each a proof from offsets that no program needs what another one makes:

* *same programs*: both have one grid, and a program of the second reads of the first's results only what the program of
  the same number wrote;
* *into the producer*: the second is pointwise, so its work can be done in whatever tile the first stores;
* *into the consumer*: the first is pointwise, so its work can be done in the tile that the second loads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kernlint.records import dataclass, replace
from kernlint.rules.fusion.splicing import Names, joined, redirected, resized, spliced
from kernlint.rules.proofs.element_indexing import Inverse, inverses, placed, same_address, visits_once
from kernlint.workload import (
    Atomic,
    Branch,
    Dot,
    Launch,
    Load,
    Loop,
    Node,
    Reduce,
    Scan,
    Store,
    Tensor,
)
from kernlint.workload.access import Access

#: The same access where the merged kernel does it; None where it cannot.
Move = Callable[[Access], Access | None]


@dataclass(frozen=True)
class Merge:
    """``launch`` does what two did.

    ``passed`` are the tensors handed over in registers, none where the two only work side by side, ``kept`` the storages of
    those that must be written all the same, ``shared`` those that both read and that are now read once. ``by_row`` says that
    a row's reduction was handed over together with the row itself, ``slight`` that it was only a small by-product of what the
    first works on. ``way`` is how, ``anchor`` the accesses of the first and the second that were laid over each other, none
    for the same programs.
    """

    launch: Launch
    passed: tuple[Tensor, ...]
    kept: frozenset[int]
    shared: tuple[Tensor, ...]
    by_row: bool
    slight: bool
    way: str
    anchor: tuple[Access, Access] | None


#: The three ways.
SAME_PROGRAMS, INTO_PRODUCER, INTO_CONSUMER = "same programs", "into the producer", "into the consumer"


def merge(first: Launch, second: Launch, needed: frozenset[int]) -> Merge | None:
    """``first`` and ``second``, which follows it, as one launch; None where that is not proven to mean the same.

    ``needed`` are the storages that something else reads too, so that their stores stay.
    """
    a, b = _Accesses.of(first), _Accesses.of(second)
    if a is None or b is None:
        return None
    passed = a.stored & b.loaded
    if not passed or b.has((Atomic, Dot)) or _touches(a, Atomic, b) or not _same_views(a, b):
        return None
    for attempt in (_same_programs, _into_producer, _into_consumer):
        merged = attempt(a, b, passed, needed)
        if merged is not None:
            return _with_alternatives(first, second, needed, merged)
    return None


def beside(first: Launch, second: Launch) -> Merge | None:
    """``first`` and ``second``, neither of which needs what the other makes, as one launch of the same programs; None where
    they are not alike enough."""
    a, b = _Accesses.of(first), _Accesses.of(second)
    if a is None or b is None or first.autotuned or second.autotuned or first.num_warps != second.num_warps:
        return None
    if a.stored & (b.loaded | b.stored) or b.stored & a.loaded or not _same_views(a, b):
        return None
    if a.has((Atomic, Dot)) or b.has((Atomic, Dot)):
        return None
    return _same_programs(a, b, frozenset(), frozenset())


def _with_alternatives(first: Launch, second: Launch, needed: frozenset[int], merged: Merge) -> Merge:
    """``merged`` for each configuration that the autotuner of its host may choose."""
    host = first if merged.launch.span == first.span else second
    if not host.alternatives:
        return merged
    pairs = [(alt, second) if host is first else (first, alt) for alt in host.alternatives]
    others = [other.launch for other in (merge(x, y, needed) for x, y in pairs) if other is not None]
    return replace(merged, launch=replace(merged.launch, alternatives=tuple(others)))


@dataclass(frozen=True)
class _Accesses:
    """A launch with the storage behind each of its accesses."""

    launch: Launch
    nodes: tuple[tuple[Access, int, tuple[Loop, ...]], ...]

    @staticmethod
    def of(launch: Launch) -> _Accesses | None:
        """None where the kernel was not followed to its end or an access has no tensor in view."""
        if not launch.kernel.complete:
            return None
        nodes = []
        for node, loops in launch.kernel.walk((Load, Store, Atomic)):
            tensor = launch.tensor(node.base)
            if tensor is None or node.offset is None:
                return None
            nodes.append((node, tensor.storage.id, loops))
        return _Accesses(launch, tuple(nodes))

    def has(self, kind: type | tuple[type, ...]) -> bool:
        return self.launch.kernel.has(kind)

    def select(self, kind: type, storage: int) -> list[Access]:
        return [node for node, id, _ in self.nodes if isinstance(node, kind) and id == storage]

    def touching(self, storage: int) -> list[Access]:
        return self.select(Access, storage)

    @property
    def stored(self) -> frozenset[int]:
        return frozenset(id for node, id, _ in self.nodes if isinstance(node, Store))

    @property
    def loaded(self) -> frozenset[int]:
        return frozenset(id for node, id, _ in self.nodes if isinstance(node, Load))

    def straight(self, access: Access) -> bool:
        """Whether ``access`` stands in no loop and no branch."""
        return any(node is access for node in self.launch.kernel.body)

    def loops(self, access: Access) -> tuple[int, ...]:
        return next(tuple(loop.id for loop in loops) for node, _, loops in self.nodes if node is access)

    def tensor(self, storage: int) -> Tensor:
        return next(t for node, id, _ in self.nodes if id == storage for t in [self.launch.tensor(node.base)] if t)

    @property
    def pointwise(self) -> bool:
        """Straight arithmetic on tiles: no reduction, scan, dot, loop, branch or atomic."""
        return not self.has((Reduce, Scan, Dot, Loop, Branch, Atomic))


def _same_views(a: _Accesses, b: _Accesses) -> bool:
    """Whether each storage that both touch is seen from one start, so that offsets can be compared."""
    starts: dict[int, set[object]] = {}
    for part in (a, b):
        for node, id, _ in part.nodes:
            tensor = part.launch.tensor(node.base)
            assert tensor is not None
            starts.setdefault(id, set()).add((tensor.offset, tensor.dtype))
    return all(len(starts[id]) == 1 for id in {id for _, id, _ in a.nodes} & {id for _, id, _ in b.nodes})


def _touches(a: _Accesses, kind: type, b: _Accesses) -> bool:
    storages = {id for _, id, _ in b.nodes}
    return any(isinstance(node, kind) and id in storages for node, id, _ in a.nodes)


# -- the three ways ---------------------------------------------------------------------------------------------------


def _same_programs(a: _Accesses, b: _Accesses, passed: frozenset[int], needed: frozenset[int]) -> Merge | None:
    if a.launch.grid != b.launch.grid or b.has((Loop, Branch)):
        return None
    warps = max(a.launch.num_warps, b.launch.num_warps)
    return _append(a, b, passed, needed, lambda access: access, None, warps)


def _into_producer(a: _Accesses, b: _Accesses, passed: frozenset[int], needed: frozenset[int]) -> Merge | None:
    if not b.pointwise:
        return None
    for host, guest in _anchors(a, b, passed):
        for inverse in inverses(guest):
            if _walks_with(b, inverse):
                merged = _append(a, b, passed, needed, _mover(inverse, host), (guest, host), a.launch.num_warps)
                if merged is not None:
                    return merged
    return None


def _anchors(a: _Accesses, b: _Accesses, passed: frozenset[int]) -> Iterator[tuple[Access, Access]]:
    """(in the first, in the second) accesses to one tensor, by which the second can be laid over the first."""
    for storage in sorted(passed):
        for host in a.select(Store, storage):
            for guest in b.select(Load, storage):
                yield host, guest
    if a.has(Reduce) and not a.has(Dot):
        # Both read the same rows: the tile that the first reduces serves the second as well.
        for storage in sorted(a.loaded & b.loaded - a.stored - b.stored):
            for host in a.select(Load, storage):
                if a.straight(host) and visits_once(host, a.launch.grid):
                    for guest in b.select(Load, storage):
                        yield host, guest


def _walks_with(guest: _Accesses, inverse: Inverse) -> bool:
    """Whether everything that a pointwise kernel stores lies at the element that its anchor has."""
    stores = [node for node, _, _ in guest.nodes if isinstance(node, Store)]
    return bool(stores) and all(
        node.shape == inverse.anchor.shape and node.offset == inverse.anchor.offset for node in stores
    )


def _mover(inverse: Inverse, host: Access) -> Move:
    def move(access: Access) -> Access | None:
        element = inverse.element(access)
        place = placed(element, host) if element is not None else None
        if place is None:
            return None
        return replace(access, shape=place.shape, offset=place.offset, mask=place.mask)

    return move


def _append(
    a: _Accesses, b: _Accesses, passed: frozenset[int], needed: frozenset[int], move: Move,
    tiles: tuple[Access, Access] | None, num_warps: int,
) -> Merge | None:  # fmt: skip
    """The first kernel with the second's work added where it stores what the second needs."""
    names = Names(a.launch, b.launch)
    sources: dict[int, frozenset[int]] = {}
    dropped: list[Access] = []
    shared: list[Tensor] = []
    guest: list[Node] = []
    overwritten: set[int] = set()
    row_kept_on_chip = False
    handed = {}
    for node in b.launch.kernel.body:
        if isinstance(node, Access):
            storage = b.launch.tensor(node.base).storage.id  # type: ignore[union-attr]
            place = move(node)
            if place is None:
                return None
            if isinstance(node, Load) and storage in passed:
                stores = a.select(Store, storage)
                if len(stores) != 1 or not same_address(stores[0], place):
                    return None
                assert isinstance(stores[0], Store)
                sources[node.id] = stores[0].depends
                handed[storage] = stores[0]
                row_kept_on_chip = row_kept_on_chip or bool(place.shape)
                continue
            if isinstance(node, Load):
                twin = next((x for x in a.select(Load, storage) if a.straight(x) and same_address(x, place)), None)
                if twin is not None:
                    sources[node.id] = frozenset({twin.id})
                    shared.append(b.tensor(storage))
                    row_kept_on_chip = row_kept_on_chip or bool(place.shape)
                    continue
            if isinstance(node, Store) and not _may_store(a, storage, place):
                return None
            if isinstance(node, Store):
                overwritten.add(storage)
            guest.append(names.access(place))
        else:
            guest.append(names.node(resized(node, tiles)))
    if set(handed) != set(passed):
        return None
    by_row = a.has(Reduce) and row_kept_on_chip and _has_statistic(handed.values(), a)
    widest = max((node.elements for node in guest if isinstance(node, Load)), default=0)
    if handed and not by_row and max(store.elements for store in handed.values()) < widest:
        # Little is handed over beside what the second still has to fetch: not worth a kernel with two jobs.
        return None
    kept = (passed & needed) - overwritten
    dropped += [store for storage, store in handed.items() if storage not in kept]
    dropped += [s for storage in overwritten - passed for s in a.select(Store, storage)]
    body = _inserted(a, list(handed.values()), names.depending(guest, sources), dropped)
    if body is None:
        return None
    launch = joined(a.launch, names, body, num_warps)
    return Merge(
        launch, tuple(a.tensor(s) for s in sorted(passed)), kept, tuple(shared), by_row, _is_slight(handed.values(), a),
        SAME_PROGRAMS if tiles is None else INTO_PRODUCER, None if tiles is None else tiles[::-1],
    )  # fmt: skip


def _has_statistic(stores: Iterable[Access], a: _Accesses) -> bool:
    """Whether what is handed over holds fewer values than the tiles it was reduced from."""
    reduced = a.launch.kernel.nodes(Reduce)
    widest = max((_count(node.shape) for node in reduced if isinstance(node, Reduce)), default=0)
    return any(store.elements < widest for store in stores)


def _is_slight(stores: Iterable[Access], a: _Accesses) -> bool:
    """Whether the first kernel, a reduction, loads tiles larger than all that it hands over."""
    widest = max((node.elements for node, _, _ in a.nodes if isinstance(node, Load)), default=0)
    handed = max((store.elements for store in stores), default=widest)
    return a.has(Reduce) and not a.has(Dot) and handed < widest


def _may_store(a: _Accesses, storage: int, place: Access) -> bool:
    """Whether the second's store disturbs no other program of the first: each access there is to the same place."""
    return all(same_address(access, place) for access in a.touching(storage))


def _into_consumer(a: _Accesses, b: _Accesses, passed: frozenset[int], needed: frozenset[int]) -> Merge | None:
    if not a.pointwise or len(passed) != 1 or a.stored != passed or passed & needed - b.stored:
        return None
    (storage,) = passed
    loads, stores = b.select(Load, storage), a.select(Store, storage)
    if len(loads) != 1 or len(stores) != 1:
        return None
    host, guest = loads[0], stores[0]
    if not visits_once(host, b.launch.grid, b.loops(host)):
        return None
    # What the second stores there must be the finished rows, or the intermediate is still wanted.
    if not all(same_address(host, store) for store in b.select(Store, storage)):
        return None
    for inverse in inverses(guest):
        body = _prepended(a, b, storage, host, guest, _mover(inverse, host))
        if body is not None:
            return Merge(
                body, (a.tensor(storage),), frozenset(), (), by_row=False, slight=False, way=INTO_CONSUMER,
                anchor=(guest, host),
            )  # fmt: skip
    return None


def _prepended(a: _Accesses, b: _Accesses, storage: int, host: Access, guest: Access, move: Move) -> Launch | None:
    names = Names(b.launch, a.launch)
    nodes: list[Node] = []
    sources: dict[int, frozenset[int]] = {}
    made: frozenset[int] = frozenset()
    for node in a.launch.kernel.body:
        if isinstance(node, Store):
            made = node.depends
        elif isinstance(node, Access):
            place = move(node)
            if place is None:
                return None
            read = a.launch.tensor(node.base).storage.id  # type: ignore[union-attr]
            if any(not same_address(store, place) for store in b.select(Store, read) if read != storage):
                return None
            twin = next((x for x in b.select(Load, read) if x is not host and same_address(x, place)), None)
            if twin is not None and b.straight(twin) and b.straight(host):
                sources[node.id] = frozenset({twin.id})
                continue
            nodes.append(names.access(place))
        else:
            nodes.append(names.node(resized(node, (guest, host))))
    moved = names.depending(nodes, sources)
    renamed = frozenset(n for id in made for n in sources.get(id, frozenset({names.id(id)})))
    body = spliced(b.launch.kernel.body, host, tuple(moved), keep=False)
    assert body is not None
    body = tuple(redirected(node, host.id, renamed) for node in body)
    return joined(b.launch, names, body, b.launch.num_warps)


def _inserted(a: _Accesses, handed: list[Access], guest: list[Node], dropped: list[Access]) -> tuple[Node, ...] | None:
    """The first kernel's body with ``guest`` behind the last of the stores ``handed``, and ``dropped`` stores gone."""
    if all(a.straight(store) for store in handed):
        body = (*a.launch.kernel.body, *guest)
    elif len(handed) == 1:
        found = spliced(a.launch.kernel.body, handed[0], tuple(guest), keep=True)
        assert found is not None
        body = found
    else:
        return None
    for store in dropped:
        found = spliced(body, store, (), keep=False)
        assert found is not None
        body = found
    return body


def _count(shape: tuple[int, ...]) -> int:
    count = 1
    for extent in shape:
        count *= extent
    return count
