"""Which values one kernel computes together.

Each value that must lie in memory (a result, an operand of a library's function, a reduction that another shape of work needs) is the
root of a kernel, which computes all that the root is made of from what lies in memory before. A kernel has *rows* and *columns*: a
reduction goes over the columns, so that its results are one for each row. Kernels of the same rows and columns become one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from kernlint.generate.terms import COLUMNS
from kernlint.generate.values import CannotGenerate, Value, View, identity, lane, lanes_of, looked_through
from kernlint.records import dataclass
from kernlint.workload import Expr, Lane, Size
from kernlint.workload.expr import lift


@dataclass(frozen=True)
class Work:
    """One kernel: the ``roots`` that it stores, each seen from ``rows`` and ``columns`` (extents) by its index. ``product`` is the
    contraction that it is built around, None where there is none."""

    roots: tuple[tuple[Value, tuple[Expr, ...]], ...]
    rows: tuple[Size, ...]
    columns: tuple[Size, ...]
    product: Value | None = None


class _Stored(Exception):
    """``value`` must lie in memory first."""

    def __init__(self, value: Value) -> None:
        self.value = value


def plan(outputs: Sequence[Value]) -> list[Work]:
    """The kernels that compute ``outputs``, in order. Raises :class:`CannotGenerate`."""
    order = list(_walk_all(outputs))
    rank = {id(value): number for number, value in enumerate(order)}
    stored: dict[int, Value] = {id(value): value for value in outputs if value.op != "input"}
    works: dict[int, Work] = {}
    for _ in range(len(order) + 1):
        try:
            works = {key: _work(value, stored) for key, value in stored.items()}
            break
        except _Stored as found:
            stored[id(found.value)] = found.value
    ordered = [works[key] for key in sorted(works, key=lambda key: rank[key])]
    return _merged(ordered, stored)


def _walk_all(outputs: Iterable[Value]) -> Iterator[Value]:
    seen: set[int] = set()
    for value in outputs:
        yield from value.walk(seen)


def _work(root: Value, stored: dict[int, Value]) -> Work:
    """The kernel of ``root``; raises :class:`_Stored` for what must be stored before."""
    if root.op == "library":
        raise CannotGenerate(f"torch function {root.attributes['name']}")
    seen = _Seen()
    _look(root, identity(root.shape), stored, seen, root)
    dims = [d for d, n in enumerate(root.shape) if lift(n).value != 1]
    if root.op == "product" or seen.products:
        return _around_product(root, seen)
    if not seen.reductions:
        return _placed(root, dims[:-1], dims[-1:])
    kept = max((lanes_of(index) for _, index in seen.reductions), key=len)
    for value, index in seen.reductions:
        plain = [place for place in index if place.value is None]
        if lanes_of(index) != kept or any(len(p.terms) != 1 or not _is_lane(p) for p in plain):
            if value is root:
                raise CannotGenerate("a reduction to a part of its own result")
            raise _Stored(value)
    return _placed(root, [d for d in dims if d in kept], [d for d in dims if d not in kept])


def _is_lane(place: Expr) -> bool:
    ((monomial, count),) = place.terms.items()
    return count == 1 and len(monomial) == 1 and isinstance(monomial[0], Lane)


def _placed(root: Value, rows: Sequence[int], columns: Sequence[int]) -> Work:
    """``root`` with its axes dealt out to rows and columns."""
    return Work(((root, _index(root, rows, columns)),), *(tuple(root.shape[d] for d in dims) for dims in (rows, columns)))


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
    visited: set[tuple[int, tuple[Expr, ...]]] = field(default_factory=set)


def _look(value: Value, index: tuple[Expr, ...], stored: dict[int, Value], seen: _Seen, root: Value) -> None:
    key = id(value), index
    if key in seen.visited:
        return
    seen.visited.add(key)
    if value is not root and (id(value) in stored or value.op == "input"):
        return
    if value.op == "library":
        raise _Stored(value)
    lanes = list(index)
    if value.op in ("reduce", "product"):
        if any(dim >= COLUMNS for dim in lanes_of(index)):
            raise _Stored(value)  # inside another reduction: it would be made again for each of its columns
        (seen.reductions if value.op == "reduce" else seen.products).append((value, index))
        lanes += [lane(COLUMNS + i) for i in range(len(value.attributes["over"]))]
    for view in value.operands:
        _look(view.value, looked_through(view.index, lanes), stored, seen, root)


def _around_product(root: Value, seen: _Seen) -> Work:
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
    return Work(((root, identity(root.shape)),), root.shape, (), product)


# -- kernels that become one -----------------------------------------------------------------------------------------


def _merged(works: Sequence[Work], stored: dict[int, Value]) -> list[Work]:
    made: list[Work] = []
    for work in works:
        needs = {id(value) for root, _ in work.roots for value in _needed(root, stored)}
        late = [i for i, one in enumerate(made) if any(id(root) in needs for root, _ in one.roots)]
        for at, other in enumerate(made):
            if any(i > at for i in late):
                continue
            both = _together(other, work)
            if both is not None and _still_fits(both, stored):
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
    if one.product is not None or other.product is not None or one.rows != other.rows:
        return None
    if one.columns and other.columns and one.columns != other.columns:
        return None
    return Work((*one.roots, *other.roots), one.rows, one.columns or other.columns)


def _still_fits(work: Work, stored: dict[int, Value]) -> bool:
    """Whether each root can be made from what lies in memory before, with reductions over the columns alone."""
    own = {id(root) for root, _ in work.roots}
    before = {key: value for key, value in stored.items() if key not in own}
    for root, index in work.roots:
        seen = _Seen()
        try:
            _look(root, index, before, seen, root)
        except _Stored:
            return False
        if seen.products:
            return False
        overs = {value.attributes["over"] for value, _ in seen.reductions}
        if any(over != work.columns for over in overs) and work.columns:
            return False
    return True


def view_value(view: View, shape: tuple[Size, ...]) -> Value:
    """What ``view`` shows as a value of its own, over axes of ``shape``."""
    if view.index == identity(shape) and view.value.shape == shape:
        return view.value
    return Value("cast", shape, view.value.dtype, (view,))
