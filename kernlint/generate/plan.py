"""Which values one kernel computes together.

Each value that must lie in memory (a result, an operand of a library's function, a reduction that another shape of work needs) is the
root of a kernel, which computes all that the root is made of from what lies in memory before. A kernel has *rows* and *columns*: a
reduction goes over the columns, so that its results are one for each row. Kernels of the same rows and columns become one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from kernlint.generate.terms import CHUNK, COLUMNS
from kernlint.generate.values import CannotGenerate, Value, View, identity, lane, lanes_of, looked_through
from kernlint.records import dataclass, replace
from kernlint.workload import Expr, Lane, Size
from kernlint.workload.expr import Atom, lift


@dataclass(frozen=True)
class Root:
    """``value``, seen from the lanes of a kernel by ``index``, which goes to the memory of ``target``: the same, or one of which
    it is the part that begins at ``shift`` along each axis."""

    value: Value
    index: tuple[Expr, ...]
    target: Value
    shift: tuple[Expr, ...]


@dataclass(frozen=True)
class Work:
    """One kernel: the ``roots`` that it stores, over ``rows`` and ``columns`` (extents). ``product`` is the contraction that it
    is built around, None where there is none; ``chunks`` the number of equal parts of the columns whose reductions are stored apart, 0
    where they are whole."""

    roots: tuple[Root, ...]
    rows: tuple[Size, ...]
    columns: tuple[Size, ...]
    product: Value | None = None
    chunks: int = 0


class _Stored(Exception):
    """``value`` must lie in memory first."""

    def __init__(self, value: Value) -> None:
        self.value = value


def plan(outputs: Sequence[Value], sizes: Mapping[Atom, float]) -> list[Work]:
    """The kernels that compute ``outputs``, in order, for open sizes of about ``sizes``. Raises :class:`CannotGenerate`."""
    order = list(_walk_all(outputs))
    rank = {id(value): number for number, value in enumerate(order)}
    stored: dict[int, Value] = {id(value): value for value in outputs if value.op != "input"}
    works: dict[int, list[Work]] = {}
    for _ in range(len(order) + 1):
        try:
            works = {key: _works(value, stored, sizes) for key, value in stored.items()}
            break
        except _Stored as found:
            stored[id(found.value)] = found.value
    ordered = [work for key in sorted(works, key=lambda key: rank[key]) for work in works[key]]
    return _merged(ordered, stored, sizes)


#: Values at places that one kernel looks at.
_MOST_PLACES = 1500
#: Parts of a result that get a store each.
_MOST_PARTS = 4


def _works(target: Value, stored: dict[int, Value], sizes: Mapping[Atom, float]) -> list[Work]:
    """The kernels of ``target``: of what is put together of parts one for each, where there are few."""
    parts = _parts(target)
    if not 1 < len(parts) <= _MOST_PARTS:
        return [_work(target, stored, sizes)]
    works = []
    for value, axis, start in parts:
        work = _work(value, stored, sizes)
        if work.product is not None:
            raise _Stored(work.product)
        shift = tuple(start if d == axis else lift(0) for d in range(len(target.shape)))
        works.append(replace(work, roots=(replace(work.roots[0], target=target, shift=shift),)))
    return works


def _parts(target: Value) -> list[tuple[Value, int, Expr]]:
    """What ``target`` is put together of: values, with the axis and where along it each begins."""
    index, inner, dtype = identity(target.shape), target, target.dtype
    while inner.op == "cast" and "axis" not in inner.attributes:
        index = looked_through(inner.operands[0].index, index)
        inner = inner.operands[0].value
    axis = inner.attributes.get("axis")
    if inner.op != "choose" or axis is None:
        return _apart(target)
    place = index[axis]
    if not _is_lane(place):
        return []
    (own,) = (atom.dim for atom in place.atoms() if isinstance(atom, Lane))
    parts = []
    for view, (start, extent) in zip(inner.operands, inner.attributes["extents"]):
        shape = tuple(extent if d == own else n for d, n in enumerate(target.shape))
        at = lane(own) + start if lift(extent).value != 1 else lift(start)
        places = [p.substitute({Lane(own): at}) for p in index]
        value = Value(
            "cast", shape, dtype, (View(view.value, looked_through(view.index, places)),), name=view.value.name
        )
        parts.append((value, own, lift(start)))
    return parts


def _walk_all(outputs: Iterable[Value]) -> Iterator[Value]:
    seen: set[int] = set()
    for value in outputs:
        yield from value.walk(seen)


def _apart(target: Value) -> list[tuple[Value, int, Expr]]:
    """``target`` element by element along an axis of few, where the elements are made of the same things."""
    seen = _Seen()
    try:
        _look(target, identity(target.shape), {}, seen, target)
    except _Stored:
        return []
    if seen.reductions or seen.products or seen.scans:
        return []
    read = [lanes_of(index) for value, index in seen.found if value.op == "input"]
    for axis, extent in enumerate(target.shape):
        number = lift(extent).value
        others = {d for d, n in enumerate(target.shape) if d != axis and lift(n).value != 1}
        if number is None or not 1 < number <= _MOST_PARTS or not any(others == lanes for lanes in read):
            continue
        shape = tuple(1 if d == axis else n for d, n in enumerate(target.shape))
        parts = []
        for at in range(number):
            index = tuple(lift(at) if d == axis else lane(d) for d in range(len(shape)))
            parts.append((Value("cast", shape, target.dtype, (View(_inside(target), index),)), axis, lift(at)))
        return parts
    return []


def _inside(target: Value) -> Value:
    """``target`` as a value that is not the one which is stored."""
    return Value(target.op, target.shape, target.dtype, target.operands, target.attributes, target.name)


def _work(root: Value, stored: dict[int, Value], sizes: Mapping[Atom, float]) -> Work:
    """The kernel of ``root``; raises :class:`_Stored` for what must be stored before."""
    if root.op == "library":
        raise CannotGenerate(f"torch function {root.attributes['name']}")
    if root.op == "partial":
        return _partial(root, stored, sizes)
    seen = _Seen()
    _look(root, identity(root.shape), stored, seen, root)
    dims = [d for d, n in enumerate(root.shape) if lift(n).value != 1]
    if seen.scans:
        return _along_scans(root, seen, dims)
    if root.op == "product" or seen.products:
        return _around_product(root, seen, stored)
    if not seen.reductions:
        return _placed(root, dims[:-1], dims[-1:])
    long = [(value, index) for value, index in seen.reductions if not _is_short(value, sizes)]
    kept = max((lanes_of(index) for _, index in long or seen.reductions), key=len)
    across = _count((root.shape[d] for d in dims if d not in kept), sizes)
    for value, index in seen.reductions:
        if lanes_of(index) <= kept and _count(value.attributes["over"], sizes) <= min(
            _SHORT, max(_FEW, _AGAIN * across)
        ):
            continue  # over a few elements: each row may do it for itself
        plain = [place for place in index if place.value is None]
        if lanes_of(index) != kept or not all(map(_is_lane, plain)):
            if value is root:
                raise CannotGenerate("a reduction to a part of its own result")
            raise _Stored(value)
    work = _placed(root, [d for d in dims if d in kept], [d for d in dims if d not in kept])
    for value, _ in long:
        if value is not root and work.columns and value.attributes["over"] != work.columns:
            raise _Stored(value)  # two long loops over different things
    return work


def _along_scans(root: Value, seen: _Seen, dims: Sequence[int]) -> Work:
    """The kernel of what is made of recurrences: its columns are the places along them, its rows all other axes."""
    if seen.products:
        raise _Stored(seen.scans[0][0] if seen.products[0][0] is not root else seen.products[0][0])
    (scan, index), *others = seen.scans
    time = lanes_of(index[-1:])
    columns = scan.shape[-1:]
    for value, place in seen.scans:
        if lanes_of(place[-1:]) != time or len(time) != 1 or lanes_of(place[:-1]) & time:
            raise CannotGenerate("recurrences along two axes") if value is root else _Stored(value)
    (axis,) = time
    rows = [d for d in dims if d != axis]
    for value, place in seen.reductions:
        if value.attributes["over"] != (
            columns if axis >= COLUMNS else root.shape[axis : axis + 1]
        ) or axis in lanes_of(place):
            raise _Stored(value)
    del others
    return _placed(root, rows, [axis] if axis < COLUMNS else [])


#: Elements up to which a reduction may be done again for each row: so many, and so many times those that the row is made of.
_SHORT, _FEW, _AGAIN = 512, 16, 4


def _is_short(reduction: Value, sizes: Mapping[Atom, float]) -> bool:
    return _count(reduction.attributes["over"], sizes) <= _SHORT


def _count(extents: Iterable[Size], sizes: Mapping[Atom, float]) -> float:
    counts = [lift(extent).evaluate(sizes) for extent in extents]
    return math.prod(math.inf if count is None else float(count) for count in counts)


def _partial(root: Value, stored: dict[int, Value], sizes: Mapping[Atom, float]) -> Work:
    """The kernel of a reduction in parts: its rows are those of the result."""
    reduction = root.operands[0].value
    if reduction.op == "product":
        return replace(_work(reduction, stored, sizes), roots=(_whole(root),), chunks=root.attributes["chunks"])
    seen = _Seen()
    _look(reduction, identity(reduction.shape), stored, seen, reduction)
    if seen.products or len(seen.reductions) > 1:
        inner = [value for value, _ in (*seen.products, *seen.reductions) if value is not reduction]
        raise _Stored(inner[0])
    dims = [d for d, n in enumerate(reduction.shape) if lift(n).value != 1]
    index = (*_index(reduction, dims, ()), lane(CHUNK))
    made = Root(root, index, root, (lift(0),) * len(index))
    rows = tuple(reduction.shape[d] for d in dims)
    return Work((made,), rows, reduction.attributes["over"], None, root.attributes["chunks"])


def _is_aside(place: Expr) -> bool:
    """Whether ``place`` is a lane and a number that is the same for all."""
    lanes = lanes_of((place,))
    return len(lanes) == 1 and all(place.coefficient(Lane(dim)) == 1 for dim in lanes)


def _is_lane(place: Expr) -> bool:
    if len(place.terms) != 1:
        return False
    ((monomial, count),) = place.terms.items()
    return count == 1 and len(monomial) == 1 and isinstance(monomial[0], Lane)


def _placed(root: Value, rows: Sequence[int], columns: Sequence[int]) -> Work:
    """``root`` with its axes dealt out to rows and columns."""
    index = _index(root, rows, columns)
    made = Root(root, index, root, (lift(0),) * len(index))
    return Work((made,), tuple(root.shape[d] for d in rows), tuple(root.shape[d] for d in columns))


def _index(root: Value, rows: Sequence[int], columns: Sequence[int]) -> tuple[Expr, ...]:
    places = [lift(0)] * len(root.shape)
    for number, dim in enumerate(rows):
        places[dim] = lane(number)
    for number, dim in enumerate(columns):
        places[dim] = lane(COLUMNS + number)
    return tuple(places)


@dataclass
class _Seen:
    """What a root is made of, seen from its lanes."""

    reductions: list[tuple[Value, tuple[Expr, ...]]] = field(default_factory=list)
    products: list[tuple[Value, tuple[Expr, ...]]] = field(default_factory=list)
    scans: list[tuple[Value, tuple[Expr, ...]]] = field(default_factory=list)
    visited: set[tuple[int, tuple[Expr, ...]]] = field(default_factory=set)
    found: list[tuple[Value, tuple[Expr, ...]]] = field(default_factory=list)


def _look(value: Value, index: tuple[Expr, ...], stored: dict[int, Value], seen: _Seen, root: Value) -> None:
    key = id(value), index
    if key in seen.visited:
        return
    seen.visited.add(key)
    if len(seen.visited) > _MOST_PLACES:
        raise CannotGenerate("each element is made of too many others")
    seen.found.append((value, index))
    if value is not root and (id(value) in stored or value.op == "input"):
        return
    if value.op in ("library", "partial"):
        raise _Stored(value)
    lanes = list(index)
    if value.op == "scan":
        if any(dim >= COLUMNS for dim in lanes_of(index[:-1])) or not _is_aside(index[-1]):
            raise _Stored(value)
        seen.scans.append((value, index))
    if value.op in ("reduce", "product"):
        if any(dim >= COLUMNS for dim in lanes_of(index)):
            raise _Stored(value)  # inside another reduction: it would be made again for each of its columns
        (seen.reductions if value.op == "reduce" else seen.products).append((value, index))
        lanes += [lane(COLUMNS + i) for i in range(len(value.attributes["over"]))]
    for view in value.operands:
        _look(view.value, looked_through(view.index, lanes), stored, seen, root)


def _around_product(root: Value, seen: _Seen, stored: dict[int, Value]) -> Work:
    """A tile of a matrix product, and what follows it element by element."""
    products = {id(value): (value, index) for value, index in seen.products}
    if root.op != "product":
        if len(products) > 1 or seen.reductions:
            raise _Stored(seen.products[0][0])
        ((value, index),) = products.values()
        if value.shape != root.shape or index != identity(root.shape):
            raise _Stored(value)
    elif len(products) > 1 or seen.reductions:
        inner = [value for value, _ in (*seen.products, *seen.reductions) if value is not root]
        raise _Stored(inner[0])
    product = root if root.op == "product" else next(iter(products.values()))[0]
    for view in product.operands:
        if view.value.op != "input" and (_is_dear(view.value, stored) or _tensors(view.value, stored) > 1):
            raise _Stored(view.value)  # each tile of the product would make it again
    return Work((_whole(root),), root.shape, (), product)


def _whole(value: Value) -> Root:
    return Root(value, identity(value.shape), value, (lift(0),) * len(value.shape))


#: What is too dear to be done again by each tile of a product.
_DEAR = frozenset(
    {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf", "div", "expm1", "log1p"}
)


def _is_dear(value: Value, stored: dict[int, Value]) -> bool:
    """Whether the elements of ``value`` are made by such operations from what lies in memory."""
    if id(value) in stored or value.op == "input":
        return False
    return value.op in _DEAR or any(_is_dear(view.value, stored) for view in value.operands)


def _tensors(value: Value, stored: dict[int, Value]) -> int:
    """How many tensors as large as ``value`` it is made of."""
    index = identity(value.shape)
    if id(value) in stored or not lanes_of(index):
        return 0
    seen = _Seen()
    _look(value, index, stored, seen, value)
    read = {(id(one), at) for one, at in seen.found if one is not value and (one.op == "input" or id(one) in stored)}
    return sum(lanes_of(at) == lanes_of(index) for _, at in read)


# -- kernels that become one -----------------------------------------------------------------------------------------


def _merged(works: Sequence[Work], stored: dict[int, Value], sizes: Mapping[Atom, float]) -> list[Work]:
    made: list[Work] = []
    for work in works:
        needs = {id(value) for root in work.roots for value in _needed(root.value, stored)}
        late = [i for i, one in enumerate(made) if any(id(root.target) in needs for root in one.roots)]
        for at, other in enumerate(made):
            if any(i > at for i in late):
                continue
            both = _together(other, work)
            if both is not None and _still_fits(both, stored, sizes):
                made[at] = both
                break
        else:
            made.append(work)
    return made


def _needed(root: Value, stored: dict[int, Value]) -> Iterator[Value]:
    """The stored values that ``root`` is made of, those behind others left out."""
    waiting = [view.value for view in root.operands]
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if id(value) in stored:
            yield value
        else:
            waiting += [view.value for view in value.operands]


def _together(one: Work, other: Work) -> Work | None:
    if one.product is not None or other.product is not None or one.rows != other.rows or one.chunks != other.chunks:
        return None
    if one.columns and other.columns and one.columns != other.columns:
        return None
    return Work((*one.roots, *other.roots), one.rows, one.columns or other.columns, None, one.chunks)


def _still_fits(work: Work, stored: dict[int, Value], sizes: Mapping[Atom, float]) -> bool:
    """Whether each root can be made from what lies in memory before, with reductions over the columns alone."""
    own = {id(root.target) for root in work.roots}
    before = {key: value for key, value in stored.items() if key not in own}
    if work.chunks:
        return True
    overs = {work.columns}
    for root in work.roots:
        seen = _Seen()
        try:
            _look(root.value, root.index, before, seen, root.value)
        except _Stored:
            return False
        if seen.products or any(lanes_of(place[-1:]) != {COLUMNS} for _, place in seen.scans):
            return False
        overs |= {value.attributes["over"] for value, _ in seen.reductions if not _is_short(value, sizes)}
    return len(overs - {()}) <= 1


def view_value(view: View, shape: tuple[Size, ...]) -> Value:
    """What ``view`` shows as a value of its own, over axes of ``shape``."""
    if view.index == identity(shape) and view.value.shape == shape:
        return view.value
    return Value("cast", shape, view.value.dtype, (view,))
