"""Reductions of a product along its own axes: the largest of each row of scores, a sum of their exponentials.

A kernel has tiles of the product's rows and goes through its columns, so that no element of the product lies in memory. Which operand
has the rows is told by the axes that are reduced: those are columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernlint.generate.ingredients import Ingredients, Stored, is_lane, look
from kernlint.generate.product_plan import refuse_dear_operands
from kernlint.generate.terms import CHUNK, COLUMNS
from kernlint.generate.values import TooMuch, Value, View, exchanged, identity, lane, lanes_of, walk_all
from kernlint.generate.work import Root, Sides, Work, count
from kernlint.records import replace
from kernlint.workload import Expr, Lane, Opaque, Size
from kernlint.workload import dtype as dt
from kernlint.workload.expr import Atom, lift

#: Reductions that parts of the columns can be put together for.
IN_PARTS = frozenset({"sum", "max", "min", "expsum", "m2"})
_KINDS = IN_PARTS | {"argmax", "argmin"}
#: Columns up to which a program has all of a row, rows of the smallest tile, and multiprocessors of a large GPU.
WHOLE, LEAST_ROWS, SMS = 256, 16, 132


def _sides_of(product: Value, columns: Sequence[int]) -> Sides | None:
    """The sides of ``product`` where these axes are reduced; None where both operands have some of them, or one has no other axes."""
    axes = [lanes_of(view.index) for view in product.operands]
    second = next((n for n in (0, 1) if set(columns) <= axes[n] and not set(columns) & axes[1 - n]), None)
    if second is None:
        return None
    kept = [d for d, n in enumerate(product.shape) if lift(n).value != 1 and d not in columns]
    rows = tuple(d for d in kept if d in axes[1 - second] and d not in axes[second])
    return Sides(tuple(d for d in kept if d not in rows), rows, tuple(columns), second) if rows else None


def around_reductions(root: Value, stored: Mapping[int, Value], sizes: Mapping[Atom, float]) -> Work | None:
    """The kernel of ``root`` where that is made of reductions of one product along its axes; None where it is not, or the product
    had better lie in memory. Raises :class:`Stored`."""
    if not any(one.op == "product" for one in root.walk(set(stored) - {id(root)})):
        return None
    seen = Ingredients(through=True)
    try:
        look(root, identity(root.shape), stored, seen, root)
    except TooMuch:
        return None
    products = {id(value): value for value, _ in seen.products}
    inner = {index for _, index in seen.products if any(dim >= COLUMNS for dim in lanes_of(index))}
    if len(products) != 1 or len(inner) != 1 or seen.scans:
        return None
    (product,), (index,) = products.values(), inner
    types = {product.dtype, *(view.value.dtype for view in product.operands)}
    if product.op != "product" or product is root or not product.dtype.is_float or dt.FLOAT64 in types:
        return None
    places = _axes_at(index, product)
    walks = ((value, value.walk(set(stored) - {id(value)})) for value, _ in seen.reductions)
    reductions = [value for value, walk in walks if any(one is product for one in walk)]
    if places is None or not _alike(reductions):
        return None
    over = reductions[0].attributes["over"]
    columns = [places.get(COLUMNS + number) for number in range(len(over))]
    sides = None if None in columns else _sides_of(product, [axis for axis in columns if axis is not None])
    outside = {other for _, other in seen.products} - inner
    own = _own_columns(root, places, outside, product)
    if sides is None or own is None or not _fit(product, sides, bool(outside), reductions, sizes):
        return None
    for value, _ in seen.reductions:
        if value not in reductions:
            raise Stored(value)
    refuse_dear_operands(product, stored, sizes)
    order = (*sides.beside, *sides.rows)
    rows = {axis: lane(number) for number, axis in enumerate(order)}
    rows |= {axis: lane(COLUMNS + number) for number, axis in enumerate(sides.columns)}
    axis_of = {**{dim: axis for dim, axis in places.items() if dim < COLUMNS}, **own}
    at = tuple(rows[axis_of[d]] if d in axis_of else lift(0) for d in range(len(root.shape)))
    made = Root(root, at, root, (lift(0),) * len(at))
    return Work((made,), tuple(product.shape[axis] for axis in order), over, product, sides=sides)


def in_chunks(work: Work, root: Value) -> Work:
    """``work``, the kernel of a reduction, for ``root``, which is what it finds in parts of its columns."""
    index = (*work.roots[0].index, lane(CHUNK))
    made = Root(root, index, root, (lift(0),) * len(index))
    return replace(work, roots=(made,), chunks=root.attributes["chunks"])


def _axes_at(index: Sequence[Expr], product: Value) -> dict[int, int] | None:
    """The axis of ``product`` that each lane of ``index`` runs along; None where some place is no lane of its own."""
    found: dict[int, int] = {}
    for axis, (place, extent) in enumerate(zip(index, product.shape)):
        if lift(extent).value == 1:
            continue
        if not is_lane(place):
            return None
        (dim,) = lanes_of((place,))
        if dim in found:
            return None
        found[dim] = axis
    return found


def _alike(reductions: Sequence[Value]) -> bool:
    """Whether one loop finds all ``reductions``: over the same columns, none of which needs another one."""
    if not reductions or len({value.attributes["over"] for value in reductions}) != 1:
        return False
    own = set(map(id, reductions))
    apart = not any(id(one) in own for value in reductions for view in value.operands for one in view.value.walk())
    return apart and all(value.attributes["kind"] in _KINDS for value in reductions)


def _own_columns(
    root: Value, places: Mapping[int, int], outside: set[tuple[Expr, ...]], product: Value
) -> dict[int, int] | None:
    """The axes of ``root`` itself that are columns, each with that of the product; none where it has a result for each row. None where
    it has other axes than the product, or looks at that from elsewhere."""
    dims = [d for d, extent in enumerate(root.shape) if lift(extent).value != 1]
    if not outside:
        same = all(d in places and lift(root.shape[d]) == lift(product.shape[places[d]]) for d in dims)
        return {} if same and len(dims) == sum(dim < COLUMNS for dim in places) else None
    found = _axes_at(next(iter(outside)), product) if len(outside) == 1 else None
    if found is None or set(found) != set(dims):
        return None
    same = all(found.get(dim) == axis for dim, axis in places.items() if dim < COLUMNS)
    same = same and all(lift(root.shape[d]) == lift(product.shape[axis]) for d, axis in found.items())
    return {d: axis for d, axis in found.items() if d not in places} if same else None


def _fit(product: Value, sides: Sides, whole: bool, reductions: Sequence[Value], sizes: Mapping[Atom, float]) -> bool:
    """Whether programs have enough to do, each with a tile of rows: where they are few, parts of the columns are dealt out too."""
    over, extents = reductions[0].attributes["over"], [lift(product.shape[axis]) for axis in sides.columns]
    if any(extent != lift(n) for extent, n in zip(extents, over)):
        return False
    rows = count((product.shape[axis] for axis in sides.rows), sizes)
    programs = max(1.0, rows / LEAST_ROWS) * count((product.shape[axis] for axis in sides.beside), sizes)
    columns = count(over, sizes)
    if whole and columns > WHOLE:
        return False
    parted = not whole and all(value.attributes["kind"] in IN_PARTS for value in reductions)
    return (
        rows >= LEAST_ROWS and columns >= LEAST_ROWS and (programs >= SMS or (parted and columns >= SMS * LEAST_ROWS))
    )


# -- values that show no such reduction yet ---------------------------------------------------------------------------------


def row_by_row(values: Sequence[Value], sizes: Mapping[Atom, float]) -> list[Value]:
    """``values`` with reductions over rows and columns of a product as those of what each row is reduced to, and with single elements of
    products, as on a diagonal, as sums of their own."""
    found = {one.op for one in walk_all(values)}
    if "product" not in found or found & {"scan", "carried"}:  # states of recurrences are told by what they are
        return list(values)
    values, made = [*map(_Elements().of, values)], dict[int, Value]()
    new = {id(one): nested for one in walk_all(values) if (nested := _nested(one, sizes)) is not None}
    return [exchanged(one, new, made) for one in values]


def _nested(value: Value, sizes: Mapping[Atom, float]) -> Value | None:
    """The reduction ``value`` of a product over axes of both of its operands as one of each row, and one of these."""
    if value.op != "reduce" or value.attributes["kind"] not in ("sum", "max", "min"):
        return None
    over, rank, seen = value.attributes["over"], len(value.shape), Ingredients(through=True)
    try:
        look(value, identity(value.shape), {}, seen, value)
    except (Stored, TooMuch):
        return None
    looks = {(id(one), index): one for one, index in seen.products}
    if len(looks) != 1 or len(seen.reductions) != 1:
        return None
    (((_, index), product),) = looks.items()
    places = _axes_at(index, product)
    if places is None or product.op != "product":
        return None
    axes = [lanes_of(view.index) for view in product.operands]
    parts = [[n for n in range(len(over)) if places.get(COLUMNS + n) in axes[side] - axes[1 - side]] for side in (0, 1)]
    if not all(parts) or len(parts[0]) + len(parts[1]) != len(over):
        return None
    columns = min(parts, key=lambda part: count((over[n] for n in part), sizes))
    rows = [n for n in range(len(over)) if n not in columns]
    order = {rank + n: lane(rank + at) for at, n in enumerate((*rows, *columns))}
    moved = {Lane(dim): place for dim, place in order.items()}
    view = value.operands[0]
    body = View(view.value, tuple(place.substitute(moved) for place in view.index))  # type: ignore[arg-type]
    shape = (*value.shape, *(over[n] for n in rows))
    attributes = {**value.attributes, "over": tuple(over[n] for n in columns)}
    # What rows add up to is kept as wide as torch keeps it on its way.
    wide = dt.FLOAT32 if value.dtype.is_float and value.dtype.bits < 32 else value.dtype
    each = Value("reduce", shape, wide, (body,), attributes, "")
    attributes = {**value.attributes, "over": tuple(over[n] for n in rows)}
    return Value(
        "reduce", value.shape, value.dtype, (View(each, tuple(map(lane, range(len(shape))))),), attributes, value.name
    )


class _Elements:
    """Puts what is looked at on a diagonal of a product in the place of the product, each once."""

    def __init__(self) -> None:
        self.made: dict[int, Value] = {}
        self.singles: dict[object, View | None] = {}

    def of(self, value: Value) -> Value:
        if id(value) not in self.made:
            space = (*value.shape, *value.attributes.get("over", ()))
            views = tuple(
                view if value.op in ("pick", "choose") else self._single(view, space) or view for view in value.operands
            )
            views = tuple(View(self.of(view.value), view.index) for view in views)
            same = all(one.value is other.value for one, other in zip(views, value.operands))
            self.made[id(value)] = value if same else replace(value, operands=views)
        return self.made[id(value)]

    def _single(self, view: View, space: tuple[Size, ...]) -> View | None:
        at = View(view.value, tuple(_digit(place, space) for place in view.index))
        key = id(view.value), at.index, space
        if key not in self.singles:
            self.singles[key] = _single(at, space) if _repeats(at) else None
        return self.singles[key]


def _digit(place: Expr, space: Sequence[Size]) -> Expr:
    """``place``, the digit of a step ``n + 1`` through rows of ``n`` elements, as the lane that it is on their diagonal."""
    whole = next((one for one in place.atoms() if isinstance(one, Opaque) and one.op in ("floordiv", "mod")), None)
    if whole is None or place != Expr.atom(whole):
        return place
    length = whole.args[1]
    for dim in lanes_of(whole.args[:1]):
        if dim < len(space) and whole.args[0] == lane(dim) * length + lane(dim) and lift(space[dim]) == length:
            return lane(dim)
    return place


def _repeats(view: View) -> bool:
    """Whether two places of ``view`` run along one lane."""
    dims = [dim for place in view.index for dim in lanes_of((place,))]
    return len(dims) != len(set(dims)) and all(place.value is not None or is_lane(place) for place in view.index)


#: What makes an element of elements at the same place.
_PLAIN = frozenset({"add", "sub", "mul", "div", "neg", "cast"})


def _single(view: View, space: Sequence[Size]) -> View | None:
    """``view`` on a diagonal of a product, or of what is made of one element by element, as sums for places in ``space``; None where
    it is of something else."""
    value = view.value
    if value.op == "product":
        first, second = (
            lanes_of(one.index) - lanes_of(two.index) for one, two in (value.operands, value.operands[::-1])
        )
        lanes = [lanes_of((place,)) for place in view.index]
        shared = any(lanes[a] & lanes[b] for a in first for b in second if max(a, b) < len(lanes))
        over = value.attributes["over"]
        if not shared or not value.dtype.is_float:
            return None
        own = [*view.index, *(lane(len(space) + number) for number in range(len(over)))]
        whole = (*space, *over)
        term = Value("mul", whole, value.dtype, tuple(one.at(own) for one in value.operands))
        body = View(term, tuple(map(lane, range(len(whole)))))
        made = Value("reduce", tuple(space), value.dtype, (body,), {"kind": "sum", "over": over}, value.name)
        return View(made, tuple(map(lane, range(len(space)))))
    if value.op not in _PLAIN or not any(one.op == "product" for one in value.walk()):
        return None
    parts = [one.at(view.index) for one in value.operands]
    singles = [_single(one, space) for one in parts]
    if not any(singles):
        return None
    made = Value(
        value.op, tuple(space), value.dtype, tuple(s or p for s, p in zip(singles, parts)), value.attributes, value.name
    )
    return View(made, tuple(map(lane, range(len(space)))))
