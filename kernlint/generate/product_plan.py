"""Kernels around a product: what stands before and behind it in the same kernel, and where its elements go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernlint.generate.calls.exact import without_exact
from kernlint.generate.ingredients import PRODUCTS, Ingredients, Stored, is_lane, look
from kernlint.generate.terms import Bounds
from kernlint.generate.values import Value, identity, lane, lanes_of
from kernlint.generate.work import Root, Work, count
from kernlint.workload import Expr, Lane, Opaque, Size
from kernlint.workload import expr as ex
from kernlint.workload.expr import Atom, lift


def around_product(root: Value, seen: Ingredients, stored: Mapping[int, Value], sizes: Mapping[Atom, float]) -> Work:
    """A tile of the product that ``root`` is made of (by what was ``seen``), and what follows it element by element."""
    own = identity(root.shape)
    product, index = (root, own) if root.op in PRODUCTS else seen.products[0]
    if product is not root:
        outside = Ingredients()
        look(root, own, {**stored, id(product): product}, outside, root)
        if outside.products or any(product in value.walk() for value, _ in outside.reductions):
            raise Stored(product)
    inner = [value for value, _ in (*seen.products, *seen.reductions) if value is not product]
    if inner:
        raise Stored(inner[0])
    back = _placed_back(index, root.shape, product.shape)
    if back is None or any(at != index for value, at in seen.products if value is product):
        raise Stored(product)
    refuse_dear_operands(product, stored, sizes)
    places, bounds = back
    made = Root(root, places, root, (lift(0),) * len(places), bounds)
    return Work((made,), product.shape, (), product)


#: Rows, or columns, of a product that one tile has, so that what stands before the other operand is done once.
_ONE_TILE = 32


def refuse_dear_operands(product: Value, stored: Mapping[int, Value], sizes: Mapping[Atom, float]) -> None:
    """Raise :class:`Stored` for what each tile of ``product`` would make again."""
    for view in product.operands[product.op == "attention" :]:
        across = [n for d, n in enumerate(product.shape) if d not in lanes_of(view.index)]
        if view.value.op == "input" or (product.op == "product" and count(across, sizes) <= _ONE_TILE):
            continue
        if _is_dear(view.value, stored) or _tensors(view.value, stored) > 1:
            raise Stored(without_exact(view).value)


def _placed_back(
    index: Sequence[Expr], outer: Sequence[Size], inner: Sequence[Size]
) -> tuple[tuple[Expr, ...], Bounds] | None:
    """Where in a space of extents ``outer``, from which ``index`` looks at places of ``inner``, a place of ``inner`` is seen, and
    for which of them that is so. None where several places see one, or that is not known."""
    places: list[Expr | None] = [None] * len(outer)
    quotients: dict[int, dict[str, tuple[int, Expr]]] = {}
    bounds: Bounds = ()
    for d, (place, extent) in enumerate(zip(index, inner)):
        if lift(extent).value == 1:
            continue
        whole = next((one for one in place.atoms() if isinstance(one, Opaque)), None)
        if (
            whole is not None
            and place == Expr.atom(whole)
            and whole.op in ("floordiv", "mod")
            and is_lane(whole.args[0])
        ):
            (axis,) = lanes_of(whole.args[:1])
            if whole.op in quotients.setdefault(axis, {}):
                return None
            quotients[axis][whole.op] = d, whole.args[1]
            continue
        found = _digits(place, outer)
        if found is None or lift(extent) != lift(found[1]) or any(places[axis] is not None for axis, _ in found[0]):
            return None
        for axis, step in found[0]:
            rest = lane(d) if step.value == 1 else lift(ex.floordiv(lane(d), step))
            last = lift(step * outer[axis]) == lift(extent)
            places[axis] = rest if last else lift(ex.mod(rest, outer[axis]))
    for axis, parts in quotients.items():
        if parts.keys() != {"floordiv", "mod"} or places[axis] is not None:
            return None
        (high, step), (low, width) = parts["floordiv"], parts["mod"]
        if step != width or lift(inner[low]) != width:
            return None
        places[axis] = lane(high) * width + lane(low)
        if lift(inner[high]) * width != lift(outer[axis]):
            bounds = (*bounds, (lift(0), lane(high) * width + lane(low), lift(outer[axis])))
    if any(place is None and lift(extent).value != 1 for place, extent in zip(places, outer)):
        return None
    return tuple(lift(0) if place is None else place for place in places), bounds


def _digits(place: Expr, extents: Sequence[Size]) -> tuple[list[tuple[int, Expr]], Size] | None:
    """The axes that ``place`` counts through as the digits of one number, each with what a step along it is, and how many places
    there are; None where it does not."""
    steps: list[tuple[int, Expr]] = []
    for axis in lanes_of((place,)):
        step = place.coefficient(Lane(axis))
        if step is None or lanes_of((step,)):
            return None
        steps.append((axis, step))
    if place != sum((lane(axis) * step for axis, step in steps), start=lift(0)):
        return None
    found: list[tuple[int, Expr]] = []
    total = lift(1)
    while len(found) < len(steps):
        one = next((one for one in steps if one[1] == total and one not in found), None)
        if one is None:
            return None
        found.append(one)
        total = total * extents[one[0]]
    return found, ex.simplify(total)


#: What is too dear to be done again by each tile of a product.
_DEAR = frozenset(
    {"exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "erf", "div", "expm1", "log1p"}
)


def _is_dear(value: Value, stored: Mapping[int, Value]) -> bool:
    """Whether the elements of ``value`` are made by such operations from what lies in memory."""
    if id(value) in stored or value.op == "input":
        return False
    return value.op in _DEAR or any(_is_dear(view.value, stored) for view in value.operands)


def _tensors(value: Value, stored: Mapping[int, Value]) -> int:
    """How many tensors as large as ``value`` it is made of."""
    index = identity(value.shape)
    if id(value) in stored or not lanes_of(index):
        return 0
    seen = Ingredients()
    look(value, index, stored, seen, value)
    read = {(id(one), at) for one, at in seen.found if one is not value and (one.op == "input" or id(one) in stored)}
    return sum(lanes_of(at) == lanes_of(index) for _, at in read)
