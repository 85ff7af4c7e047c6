"""Sums over one half of a symmetric matrix, by that over all of it.

The sum of ``x[i] . x[j]`` over ``i < j`` is half of that over all ``i`` and ``j`` less the diagonal, and the whole factors: it is the
square of a sum (Rendle, "Factorization Machines", ICDM 2010, lemma 3.1). What stands on the diagonal is added and taken
away again: where that is much larger than the rest, digits are lost, and where it is infinite, nothing is left.
"""

from __future__ import annotations

from kernlint.generate.calls.canonical import through, without_casts
from kernlint.generate.values import Value, View, identity, lane, looked_through
from kernlint.workload import Expr, Lane
from kernlint.workload import dtype as dt
from kernlint.workload.expr import lift

#: What a comparison says of the difference of its sides, as one that is not below zero.
_NOT_BELOW = {"ge": (1, 0), "gt": (1, -1), "le": (-1, 0), "lt": (-1, -1)}


def of_half(value: Value) -> Value | None:
    """The sum ``value`` by that over all pairs, where it goes over those on one side of the diagonal of a product with itself."""
    body = without_casts(value.operands[0])
    found = _chosen(body) if body.value.op == "where" else None
    if found is None:
        return None
    product, distance = found
    rank, over = len(value.shape), value.attributes["over"]
    for first in range(rank, rank + len(over)):
        for second in range(rank, rank + len(over)):
            strict = distance == lane(second) - lane(first) - 1
            if (strict or distance == lane(second) - lane(first)) and first != second:
                if lift(over[first - rank]) != lift(over[second - rank]) or not _is_symmetric(product, first, second):
                    return None
                return _by_all(value, product, first, second, strict)
    return None


def _chosen(body: View) -> tuple[View, Expr] | None:
    """The product that ``body`` has where a difference of places is not below zero, and the difference; None where it is no such choice
    between that and zero."""
    test, product, other = (without_casts(through(body, one)) for one in body.value.operands)
    zero = other.value.op == "number" and other.value.attributes["value"] == 0
    if not zero or product.value.op != "product" or test.value.op not in _NOT_BELOW:
        return None
    left, right = (_place(through(test, one)) for one in test.value.operands)
    if left is None or right is None:
        return None
    sign, aside = _NOT_BELOW[test.value.op]
    return product, (left - right) * sign + aside


def _place(view: View) -> Expr | None:
    """What ``view``, made of places and numbers, is; None where it is made of something else."""
    value = view.value
    if value.op == "place":
        return looked_through((value.attributes["at"],), view.index)[0]
    if value.op == "number":
        number = value.attributes["value"]
        return lift(number) if isinstance(number, (int, Expr)) else None
    parts = [_place(through(view, one)) for one in value.operands] if value.op in ("add", "sub", "cast") else [None]
    if any(part is None for part in parts):
        return None
    first, *rest = (part for part in parts if part is not None)
    return first + rest[0] if value.op == "add" else first - rest[0] if value.op == "sub" else first


def _is_symmetric(product: View, first: int, second: int) -> bool:
    """Whether ``product`` is the same with the lanes ``first`` and ``second`` exchanged."""
    swap = {Lane(first): lane(second), Lane(second): lane(first)}
    one, other = _factors(product)
    mirrored = tuple(place.substitute(swap) for place in one.index)  # type: ignore[arg-type]
    return one.value is other.value and mirrored == other.index


def _factors(product: View) -> list[View]:
    """The operands of ``product`` from where that is looked at; the lanes that it sums over lie far behind those."""
    over = [lane(_SUMMED + number) for number in range(len(product.value.attributes["over"]))]
    return [View(one.value, looked_through(one.index, [*product.index, *over])) for one in product.value.operands]


#: Where the lanes of the sum in a product begin while it is taken apart.
_SUMMED = 1 << 10


def _by_all(value: Value, product: View, first: int, second: int, strict: bool) -> Value:
    """Half of the sum of all of ``product`` less the diagonal, on which the lanes ``first`` and ``second`` are one; or with it."""
    rank, over = len(value.shape), value.attributes["over"]
    # Both are larger than the half, which may be all that a short type holds.
    wide = dt.FLOAT32 if value.dtype.bits < 32 else value.dtype
    whole = Value("reduce", value.shape, wide, (product,), value.attributes)
    kept = [dim for dim in range(rank, rank + len(over)) if dim != second]
    summed = product.value.attributes["over"]
    places = {Lane(dim): lane(rank + number) for number, dim in enumerate(kept)}
    places |= {Lane(_SUMMED + number): lane(rank + len(kept) + number) for number in range(len(summed))}
    places[Lane(second)] = places[Lane(first)]
    (one, _) = _factors(product)
    on_it = View(one.value, tuple(place.substitute(places) for place in one.index))  # type: ignore[arg-type]
    left = (*(over[dim - rank] for dim in kept), *summed)
    shape = (*value.shape, *left)
    square = Value("mul", shape, wide, (on_it, on_it))
    body = View(square, tuple(map(lane, range(len(shape)))))
    diagonal = Value("reduce", value.shape, wide, (body,), {"kind": "sum", "over": left})
    own = identity(value.shape)
    both = Value("sub" if strict else "add", value.shape, wide, (View(whole, own), View(diagonal, own)))
    half = Value("number", (), wide, attributes={"value": 0.5})
    return Value("mul", value.shape, value.dtype, (View(both, own), View(half, ())), name=value.name)
