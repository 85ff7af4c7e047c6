"""One kernel to be, and which of them become one."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from kernlint.generate.ingredients import Ingredients, Stored, look
from kernlint.generate.terms import COLUMNS, Bounds
from kernlint.generate.values import TooMuch, Value, identity, lanes_of
from kernlint.records import dataclass, replace
from kernlint.workload import Expr, Size
from kernlint.workload.expr import Atom, lift


@dataclass(frozen=True)
class Root:
    """``value``, seen from the lanes of a kernel by ``index``, which goes to the memory of ``target``: the same, or one of which
    it is the part that begins at ``shift`` along each axis; only where ``bounds`` hold. Where there are places ``at``, the elements are
    added to what lies there: expressions over the lanes of ``value`` and the elements of ``target``'s operands."""

    value: Value
    index: tuple[Expr, ...]
    target: Value
    shift: tuple[Expr, ...]
    bounds: Bounds = ()
    at: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Sides:
    """The axes of a product that is reduced: ``columns`` are those that are, in the order in which they are; ``rows`` are of the other
    operand alone, ``beside`` of that of the columns, or of both. ``second`` is the number of the operand with the columns."""

    beside: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    second: int


@dataclass(frozen=True)
class Work:
    """One kernel: the ``roots`` that it stores, over ``rows`` and ``columns`` (extents). ``product`` is the contraction that it
    is built around, None where there is none; ``chunks`` the number of equal parts of the columns whose reductions are stored apart, 0
    where they are whole; ``sides`` the axes of a product whose rows it reduces."""

    roots: tuple[Root, ...]
    rows: tuple[Size, ...]
    columns: tuple[Size, ...]
    product: Value | None = None
    chunks: int = 0
    sides: Sides | None = None


def whole(value: Value) -> Root:
    """All of ``value``, by its own axes."""
    return Root(value, identity(value.shape), value, (lift(0),) * len(value.shape))


#: Elements up to which a reduction may be done again for each row.
SHORT = 512


def is_short(reduction: Value, sizes: Mapping[Atom, float]) -> bool:
    return count(reduction.attributes["over"], sizes) <= SHORT


def count(extents: Iterable[Size], sizes: Mapping[Atom, float]) -> float:
    """How many places there are in a space of these extents."""
    counts = [lift(extent).evaluate(sizes) for extent in extents]
    return math.prod(math.inf if n is None else float(n) for n in counts)


def inputs_of(work: Work, works: Iterable[Work]) -> list[Value]:
    """What ``work``, one of ``works``, reads of what is given."""
    stored = {id(root.target) for one in works for root in one.roots}
    return [value for value in needs(work, stored) if value.op == "input"]


def needs(work: Work, stored: Collection[int]) -> list[Value]:
    """What ``work`` reads of what is given and of what is ``stored``."""
    waiting = [root.value for root in work.roots]
    own, seen = set(map(id, waiting)), set[int]()
    waiting += [view.value for root in work.roots if root.at for view in root.target.operands]
    found: list[Value] = []
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if value.op == "input" or (id(value) in stored and id(value) not in own):
            found.append(value)
        else:
            waiting += [view.value for view in value.operands]
    return found


#: Loads of an element from which on it is looked whether some of them are done again and again, and how many fewer have to be left.
_MANY_LOADS, _FEWER = 64, 4


def made_often(root: Value, seen: Ingredients, stored: Mapping[int, Value]) -> Value | None:
    """What had better lie in memory: each element of ``root`` looks at many elements of it, each of which is made of many others."""
    if _loads(seen, stored) < _MANY_LOADS:
        return None
    visits: dict[int, int] = {}
    values = {id(value): value for value, _ in seen.found if value is not root and value.op != "input"}
    for value, _ in seen.found:
        visits[id(value)] = visits.get(id(value), 0) + 1
    best: tuple[float, Value] | None = None
    for key, value in values.items():
        if visits[key] < _FEWER or key in stored or value.op in ("number", "place"):
            continue
        own = Ingredients()
        look(value, identity(value.shape), stored, own, value)
        inside = _loads(own, stored)
        fewer = visits[key] * inside / (visits[key] + inside) if inside else 0.0
        if fewer >= _FEWER and (best is None or fewer > best[0]):
            best = fewer, value
    return best[1] if best is not None else None


def _loads(seen: Ingredients, stored: Mapping[int, Value]) -> int:
    return sum(value.op == "input" or id(value) in stored for value, _ in seen.found)


def merged(
    works: Sequence[Work], stored: Mapping[int, Value], sizes: Mapping[Atom, float], changed: Collection[int]
) -> list[Work]:
    """``works`` with those that go through the same rows and columns as one; ``changed`` are values that go to memory which they are
    made of."""
    made: list[Work] = []
    #: What each of them reads.
    read: list[set[int]] = []
    for work in works:
        before = set(map(id, needs(work, stored)))
        late = [i for i, one in enumerate(made) if any(id(root.target) in before for root in one.roots)]
        for at, other in enumerate(made):
            both = _together(other, work)
            # One that stands before what this one waits for may come later, unless something between them reads what it makes.
            waits = any(i > at for i in late)
            if both is None or (waits and (changed or _is_read(other, read[at + 1 :]))):
                continue
            if _is_written_once(both, changed) and _still_fits(both, stored, sizes):
                before |= read[at]
                del made[at], read[at]
                place = len(made) if waits else at
                made.insert(place, both)
                read.insert(place, before)
                break
        else:
            made.append(work)
            read.append(before)
    return made


def _is_read(work: Work, read: Iterable[set[int]]) -> bool:
    """Whether what ``work`` makes is among what is ``read``."""
    own = {id(root.target) for root in work.roots}
    return any(own & one for one in read)


def _together(one: Work, other: Work) -> Work | None:
    shared = one.product is not None and one.product is other.product and one.sides == other.sides
    if shared and one.chunks == other.chunks and (one.chunks or one.sides is not None):
        return replace(one, roots=(*one.roots, *other.roots))
    if one.product is not None and other.product is not None and one.product.op == other.product.op == "held":
        same = one.product.attributes["carried"] == other.product.attributes["carried"]
        return replace(one, roots=(*one.roots, *other.roots)) if same else None
    if one.product is not None or other.product is not None or one.rows != other.rows or one.chunks != other.chunks:
        return None
    if any(root.at for root in (*one.roots, *other.roots)):
        return None
    if one.columns and other.columns and one.columns != other.columns:
        return None
    return Work((*one.roots, *other.roots), one.rows, one.columns or other.columns, None, one.chunks)


def _is_written_once(work: Work, changed: Collection[int]) -> bool:
    """Whether no two programs make the same element of what is ``changed``: the second would find what the first has made of it."""
    along = [any(dim >= COLUMNS for dim in lanes_of(root.index)) for root in work.roots]
    return not any(along) or all(own or id(root.target) not in changed for own, root in zip(along, work.roots))


def _still_fits(work: Work, stored: Mapping[int, Value], sizes: Mapping[Atom, float]) -> bool:
    """Whether each root can be made from what lies in memory before, with reductions over the columns alone."""
    own = {id(root.target) for root in work.roots}
    before = {key: value for key, value in stored.items() if key not in own}
    if work.product is not None and work.product.op == "held":
        return True
    if work.chunks or work.sides is not None:
        # Each was planned from what lies in memory: none may read what another one makes.
        walked = ((root, value) for root in work.roots for value in root.value.walk(set(before)))
        return not any(id(value) in own and value is not root.value for root, value in walked)
    overs, directions = {work.columns}, set[bool]()
    for root in work.roots:
        seen = Ingredients()
        try:
            look(root.value, root.index, before, seen, root.value)
        except (Stored, TooMuch):
            return False
        if not seen.reductions and made_often(root.value, seen, before) is not None:
            return False
        if seen.products or any(lanes_of(place[-1:]) != {COLUMNS} for _, place in seen.scans):
            return False
        directions |= {value.attributes["backwards"] for value, _ in seen.scans}
        overs |= {value.attributes["over"] for value, _ in seen.reductions if not is_short(value, sizes)}
    return len(overs - {()}) <= 1 >= len(directions)
