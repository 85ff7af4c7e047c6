"""What a value is made of, seen from its own places."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kernlint.generate.terms import COLUMNS, MOST_PLACES
from kernlint.generate.values import TooMuch, Value, lane, lanes_of, looked_through
from kernlint.records import dataclass
from kernlint.workload import Expr, Lane, Opaque

#: Values that a kernel is built around, in tiles.
PRODUCTS = ("product", "attention")


class Stored(Exception):
    """``value`` must lie in memory first."""

    def __init__(self, value: Value) -> None:
        self.value = value


@dataclass
class Ingredients:
    """What a root is made of, seen from its lanes; products too that reductions go ``through`` where that is asked for."""

    reductions: list[tuple[Value, tuple[Expr, ...]]] = field(default_factory=list)
    products: list[tuple[Value, tuple[Expr, ...]]] = field(default_factory=list)
    scans: list[tuple[Value, tuple[Expr, ...]]] = field(default_factory=list)
    visited: set[tuple[int, tuple[Expr, ...]]] = field(default_factory=set)
    found: list[tuple[Value, tuple[Expr, ...]]] = field(default_factory=list)
    through: bool = False


def look(value: Value, index: tuple[Expr, ...], stored: Mapping[int, Value], seen: Ingredients, root: Value) -> None:
    """Note in ``seen`` all that ``value``, looked at by ``index``, is made of from what is ``stored`` and what is given."""
    key = id(value), index
    if key in seen.visited:
        return
    seen.visited.add(key)
    if len(seen.visited) > MOST_PLACES:
        raise TooMuch("each element is made of too many others")
    seen.found.append((value, index))
    if value is not root and (id(value) in stored or value.op == "input"):
        return
    if value.op in ("partial", "scattered", "held") or (value is not root and value.attributes.get("stored")):
        raise Stored(value)
    lanes = list(index)
    if value.op in ("reduce", "scan", *PRODUCTS) and any(map(_is_told, index)):
        raise Stored(value)  # each element that tells a place would need another one of it
    if value.op == "scan":
        if any(dim >= COLUMNS for dim in lanes_of(index[:-1])) or not _begins_where_it_does(value, index[-1]):
            raise Stored(value)
        seen.scans.append((value, index))
    if value.op == "reduce" or value.op in PRODUCTS:
        inside = any(dim >= COLUMNS for dim in lanes_of(index))
        if inside and not (seen.through and value.op == "product"):
            raise Stored(value)  # inside another reduction: it would be made again for each of its columns
        (seen.reductions if value.op == "reduce" else seen.products).append((value, index))
        first = 2 * COLUMNS if inside else COLUMNS
        lanes += [lane(first + i) for i in range(len(value.attributes["over"]))]
    for view in value.operands:
        look(view.value, looked_through(view.index, lanes), stored, seen, root)


def _is_told(place: Expr) -> bool:
    """Whether an element of another value says what ``place`` is."""
    return any(isinstance(one, Opaque) and (one.op == "load" or any(map(_is_told, one.args))) for one in place.atoms())


def _begins_where_it_does(scan: Value, place: Expr) -> bool:
    """Whether who goes through the lane of ``place``, a lane and a number that is the same for all, meets the places of ``scan`` from
    that at which it begins: a running sum from its fourth element on needs the three before."""
    lanes = lanes_of((place,))
    if len(lanes) != 1 or place.coefficient(Lane(min(lanes))) != 1:
        return False
    (dim,) = lanes
    aside = (place - lane(dim)).value
    return aside == 0 if scan.attributes["backwards"] else aside is not None and aside <= 0


def is_lane(place: Expr) -> bool:
    if len(place.terms) != 1:
        return False
    ((monomial, count),) = place.terms.items()
    return count == 1 and len(monomial) == 1 and isinstance(monomial[0], Lane)
