"""Which values one kernel computes together.

Each value that must lie in memory (a result, an operand of a library's function, a reduction that another shape of work needs) is the
root of a kernel, which computes all that the root is made of from what lies in memory before. A kernel has *rows* and *columns*: a
reduction goes over the columns, so that its results are one for each row. Kernels of the same rows and columns become one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kernlint.generate.held_axes import dependents, is_end, rounds_of
from kernlint.generate.ingredients import PRODUCTS, Ingredients, Stored, is_lane, look
from kernlint.generate.product_plan import around_product
from kernlint.generate.reduced_products import around_reductions, in_chunks
from kernlint.generate.scans import is_held
from kernlint.generate.terms import CHUNK, COLUMNS
from kernlint.generate.values import (
    CannotGenerate,
    TooMuch,
    Value,
    View,
    identity,
    lane,
    lanes_of,
    looked_through,
    walk_all,
)
from kernlint.generate.work import SHORT, Root, Work, count, is_short, made_often, merged, whole
from kernlint.records import replace
from kernlint.workload import Expr, Lane, Size
from kernlint.workload.expr import Atom, lift


def plan(outputs: Sequence[Value], sizes: Mapping[Atom, float], changed: Collection[int] = ()) -> list[Work]:
    """The kernels that compute ``outputs``, in order, for open sizes of about ``sizes``; those of ``changed``, by identity, go to memory
    that they are made of. Raises :class:`CannotGenerate`."""
    order = list(walk_all(outputs))
    rank = {id(value): number for number, value in enumerate(order)}
    stored: dict[int, Value] = {id(value): value for value in outputs if value.op != "input"}
    works: dict[int, list[Work]] = {}
    for _ in range(len(order) + 1):
        try:
            works = {key: _works(value, stored, sizes) for key, value in stored.items()}
            break
        except Stored as found:
            if id(found.value) in stored:
                raise CannotGenerate(f"a {found.value.op} that no kernel makes of what lies in memory") from None
            stored[id(found.value)] = found.value
    ordered = [work for key in sorted(works, key=lambda key: rank[key]) for work in works[key]]
    return merged(ordered, stored, sizes, changed)


#: Parts of a result that get a store each: where their elements lie between one another, and where they are neighbours.
_MOST_PARTS, _MOST_PLANES = 4, 32


def _works(target: Value, stored: dict[int, Value], sizes: Mapping[Atom, float]) -> list[Work]:
    """The kernels of ``target``: of what is put together of parts one for each, where there are few."""
    parts = _parts(target)
    if len(parts) < 2 or len(parts) > _most_parts(target, parts[0][1]):
        return [_work(target, stored, sizes)]
    works = []
    for value, axis, start in parts:
        work = _work(value, stored, sizes)
        if work.product is not None:
            raise Stored(work.product)
        shift = tuple(start if d == axis else lift(0) for d in range(len(target.shape)))
        works.append(replace(work, roots=(replace(work.roots[0], target=target, shift=shift),)))
    return works


def _most_parts(target: Value, axis: int) -> int:
    inside = any(lift(extent).value != 1 for extent in target.shape[axis + 1 :])
    return _MOST_PLANES if inside else _MOST_PARTS


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
    if not is_lane(place):
        return []
    (own,) = (atom.dim for atom in place.atoms() if isinstance(atom, Lane))
    parts = []
    for view, (start, extent) in zip(inner.operands, inner.attributes["extents"]):
        shape = tuple(extent if d == own else n for d, n in enumerate(target.shape))
        at = lane(own) + start if lift(extent).value != 1 else lift(start)
        places = [p.substitute({Lane(own): at}) for p in index]
        value = Value("cast", shape, dtype, (view.at(places),), name=view.value.name)
        parts.append((value, own, lift(start)))
    return parts


def _apart(target: Value) -> list[tuple[Value, int, Expr]]:
    """``target`` element by element along an axis of few, where the elements are made of the same things."""
    seen = Ingredients()
    try:
        look(target, identity(target.shape), {}, seen, target)
    except (Stored, TooMuch):
        return []
    if seen.reductions or seen.products or seen.scans:
        return []
    read = [lanes_of(index) for value, index in seen.found if value.op == "input"]
    for axis, extent in enumerate(target.shape):
        number = lift(extent).value
        others = {d for d, n in enumerate(target.shape) if d != axis and lift(n).value != 1}
        if number is None or not 1 < number <= _most_parts(target, axis) or not any(others == lanes for lanes in read):
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
    """The kernel of ``root``; raises :class:`Stored` for what must be stored before."""
    if root.op == "partial":
        return _partial(root, stored, sizes)
    if root.op == "scattered":
        return _scattered(root, stored, sizes)
    held = next(
        (one for one in dependents(root, lambda value: id(value) in stored and value is not root) if is_held(one)), None
    )
    if held is not None:
        return _through_rounds(root, held, stored, sizes)
    reduced = around_reductions(root, stored, sizes)
    if reduced is not None:
        return reduced
    seen = Ingredients()
    try:
        look(root, identity(root.shape), stored, seen, root)
    except TooMuch:
        often = made_often(root, seen, stored)
        if often is None:
            raise
        raise Stored(often) from None
    dims = [d for d, n in enumerate(root.shape) if lift(n).value != 1]
    if seen.scans:
        return _along_scans(root, seen, dims, stored)
    if seen.products:
        return around_product(root, seen, stored, sizes)
    if not seen.reductions:
        often = made_often(root, seen, stored)
        if often is not None:
            raise Stored(often)
        return _placed(root, dims[:-1], dims[-1:])
    long = [(value, index) for value, index in seen.reductions if not is_short(value, sizes)]
    kept = max((lanes_of(index) for _, index in long or seen.reductions), key=len)
    across = count((root.shape[d] for d in dims if d not in kept), sizes)
    for value, index in seen.reductions:
        if lanes_of(index) <= kept and count(value.attributes["over"], sizes) <= min(SHORT, max(_FEW, _AGAIN * across)):
            continue  # over a few elements: each row may do it for itself
        plain = [place for place in index if place.value is None]
        if lanes_of(index) != kept or not all(map(is_lane, plain)):
            if value is root:
                raise CannotGenerate("a reduction to a part of its own result")
            raise Stored(value)
    work = _placed(root, [d for d in dims if d in kept], [d for d in dims if d not in kept])
    for value, _ in long:
        if value is not root and work.columns and value.attributes["over"] != work.columns:
            raise Stored(value)  # two long loops over different things
    return work


def _through_rounds(root: Value, held: Value, stored: Mapping[int, Value], sizes: Mapping[Atom, float]) -> Work:
    """The kernel of what is made of states that one program holds, round by round."""

    def known(value: Value) -> bool:
        return (id(value) in stored and value is not root) or value.op == "input"

    first, update = (
        [value for view in half for value in dependents(view.value, known)]
        for half in (held.operands[: len(held.operands) // 2], held.operands[len(held.operands) // 2 :])
    )
    begun = set(map(id, first)) - set(map(id, update))
    for one in (root, *(view.value for view in held.operands)):
        for value in dependents(one, known):
            other = value.operands[0].value if is_end(value) else value
            if is_held(other) and other.attributes["carried"] != held.attributes["carried"]:
                raise Stored(value)
            if value.op == "reduce" and id(value) in begun and is_short(value, sizes):
                continue  # made once, before the rounds
            if value.op in ("reduce", "scan", "scattered", "partial", "pick", *PRODUCTS) and not _waits(value):
                raise Stored(value)  # which no round needs a state for
    try:
        rounds_of(root, known)
    except CannotGenerate:
        inner = [
            one for one in dependents(root, known) if one is not root and any(map(is_held, dependents(one, known)))
        ]
        for one in inner:
            try:
                rounds_of(one, known)
            except CannotGenerate:
                continue
            raise Stored(one) from None
        raise
    return Work((whole(root),), root.shape, (), held)


def _waits(value: Value) -> bool:
    """Whether ``value`` is made of states of a recurrence."""
    return any(one.op in ("carried", "held") for one in value.walk())


def _along_scans(root: Value, seen: Ingredients, dims: Sequence[int], stored: Mapping[int, Value]) -> Work:
    """The kernel of what is made of recurrences: its columns are the places along them, its rows all other axes."""
    if seen.products:
        raise Stored(seen.scans[0][0] if seen.scans[0][0] is not root else seen.products[0][0])
    (scan, index), *others = seen.scans
    time = lanes_of(index[-1:])
    columns = scan.shape[-1:]
    for value, _ in seen.scans:
        inner = [one for one in value.walk() if one.op == "scan" and not stored.keys() & {id(one)}]
        other = next((one for one in inner if one.attributes["carried"] != value.attributes["carried"]), None)
        if other is not None:
            raise Stored(other)
    for value, place in seen.scans:
        if lanes_of(place[-1:]) != time or len(time) != 1 or lanes_of(place[:-1]) & time:
            raise CannotGenerate("recurrences along two axes") if value is root else Stored(value)
    (axis,) = time
    rows = [d for d in dims if d != axis]
    for value, place in seen.reductions:
        if value.attributes["over"] != (
            columns if axis >= COLUMNS else root.shape[axis : axis + 1]
        ) or axis in lanes_of(place):
            raise Stored(value)
    del others
    return _placed(root, rows, [axis] if axis < COLUMNS else [])


#: Elements up to which a reduction may be done again for each row where it is not short: so many, and so many times those that the
#: row is made of.
_FEW, _AGAIN = 16, 4


def _partial(root: Value, stored: dict[int, Value], sizes: Mapping[Atom, float]) -> Work:
    """The kernel of a reduction in parts: its rows are those of the result."""
    reduction = root.operands[0].value
    if reduction.op in PRODUCTS:
        return replace(_work(reduction, stored, sizes), roots=(whole(root),), chunks=root.attributes["chunks"])
    reduced = around_reductions(reduction, stored, sizes)
    if reduced is not None:
        return in_chunks(reduced, root)
    seen = Ingredients()
    look(reduction, identity(reduction.shape), stored, seen, reduction)
    # What a few elements are reduced to, as what parts of another reduction come to, each part may do for itself.
    inner = [value for value, _ in (*seen.products, *seen.reductions) if value is not reduction]
    if any(value.op in PRODUCTS or not is_short(value, sizes) for value in inner):
        raise Stored(inner[0])
    dims = [d for d, n in enumerate(reduction.shape) if lift(n).value != 1]
    index = (*_index(reduction, dims, ()), lane(CHUNK))
    made = Root(root, index, root, (lift(0),) * len(index))
    rows = tuple(reduction.shape[d] for d in dims)
    return Work((made,), rows, reduction.attributes["over"], None, root.attributes["chunks"])


def _scattered(root: Value, stored: dict[int, Value], sizes: Mapping[Atom, float]) -> Work:
    """The kernel of elements that go to the places that other elements tell: it goes through what is scattered."""
    old, source, *indices = root.operands
    if old.value.op not in ("number", "input") and id(old.value) not in stored:
        raise Stored(old.value)
    for view in indices:
        seen = Ingredients()
        look(view.value, view.index, stored, seen, root)
        if seen.reductions or seen.products or seen.scans:
            raise Stored(view.value)
    body = Value("cast", root.attributes["space"], root.dtype, (source,), name=source.value.name)
    work = _work(body, stored, sizes)
    if work.product is not None:
        raise Stored(source.value)
    return replace(work, roots=(replace(work.roots[0], target=root, at=root.attributes["at"]),))


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


def view_value(view: View, shape: tuple[Size, ...]) -> Value:
    """What ``view`` shows as a value of its own, over axes of ``shape``."""
    if view.index == identity(shape) and view.value.shape == shape:
        return view.value
    return Value("cast", shape, view.value.dtype, (view,))
