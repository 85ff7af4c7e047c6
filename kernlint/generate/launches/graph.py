"""Values of kernels, each made once: equal ones are one object, over as few axes as they depend on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any

from kernlint.generate.calls.canonical import canonical
from kernlint.generate.launches.places import Bound, changed, looked_at, reach, tidy
from kernlint.generate.values import CannotGenerate, Value, View, lane, lanes_of, looked_through
from kernlint.workload import Dtype, Expr, Lane, Size
from kernlint.workload import dtype as dt
from kernlint.workload.expr import Atom, lift
from kernlint.workload.ranges import Range

#: What a reduction leaves out without a change.
NEUTRAL: Mapping[str, float] = {"sum": 0.0, "max": -math.inf, "min": math.inf}

#: As many values may be made, and looked at anew, for one program. What a kernel reads is looked through to what the launches before it
#: read, so that each round of a loop that hands on its sums multiplies them; programs that are written anew take some hundreds.
MOST_VALUES = 4_000

#: Two extents that a product of matrices is worth it from.
_WIDE = 8


class Graph:
    """Makes values over lanes; ``box`` has the extent of each."""

    def __init__(self) -> None:
        self.box: dict[Atom, Range] = {}
        self._numbers = count(1000)
        self._made: dict[Any, Value] = {}
        self._looked: dict[Any, View] = {}
        self._work = 0
        #: Whether what lies outside of masks is being looked at: a factor of nothing leaves nothing there.
        self._outside = False

    # -- lanes ------------------------------------------------------------------------------------------------------

    def lane(self, extent: Size) -> Expr:
        """A new lane; along one element there is nothing to tell apart."""
        made, number = lane(next(self._numbers)), lift(extent).value
        if number is None:
            raise CannotGenerate("an axis of unknown extent")
        if number == 1:
            return lift(0)
        self.box[_atom(made)] = (0, number - 1)
        return made

    @contextmanager
    def where(self, place: Expr, low: int, high: int) -> Iterator[None]:
        """While only ``low`` to ``high`` of the lane ``place`` are looked at."""
        atom, looked = _atom(place), self._looked
        before = self.box[atom]
        self.box[atom], self._looked = (low, high), {}
        try:
            yield
        finally:
            self.box[atom], self._looked = before, looked

    def extent(self, number: int) -> int:
        return self.box[Lane(number)][1] + 1

    # -- values -----------------------------------------------------------------------------------------------------

    def number(self, value: float, dtype: Dtype) -> View:
        return View(self._node("number", (), dtype, (), {"value": value}), ())

    def place(self, at: Expr) -> View:
        """A place as a number."""
        at = tidy(at, self.box)
        if at.value is not None:
            return self.number(at.value, dt.INT64)
        return self._over("place", dt.INT64, (), {"at": at})

    def undefined(self, dtype: Dtype) -> Value:
        """What nobody has written."""
        return self._node("undefined", (), dtype, (), {})

    def carried(self, dtype: Dtype) -> Value:
        """Stands for what a loop carries."""
        return Value("carried", (), dtype)

    def map(self, op: str, dtype: Dtype, *operands: View) -> View:
        """An operation on elements."""
        if op == "cast" and operands[0].value.dtype == dtype:
            return operands[0]
        known = [one.value.attributes["value"] for one in operands if one.value.op == "number"]
        if len(known) == len(operands) and op in _FOLDED:
            with_type = float if dtype.is_float else int
            return self.number(with_type(_FOLDED[op](*known)), dtype)
        same = self._unchanged(op, operands, dtype)
        return self._over(op, dtype, operands, {}) if same is None else same

    def _unchanged(self, op: str, operands: Sequence[View], dtype: Dtype) -> View | None:
        """The operand that an operation leaves as it is."""
        for one, other in (operands, tuple(reversed(operands))) if len(operands) == 2 else ():
            number = one.value.attributes["value"] if one.value.op == "number" else None
            if (op == "add" and number == 0) or (op == "mul" and number == 1):
                return self.map("cast", dtype, other)
            if op in ("maximum", "minimum") and number == NEUTRAL[op[:3]]:
                return self.map("cast", dtype, other)
            if self._outside and op == "mul" and number == 0:
                return self.number(0.0, dtype)
            if self._outside and op in ("sub", "add") and number == -math.inf and one is operands[0]:
                return one
        return None

    def choose(self, bounds: Sequence[Bound], inside: View, outside: View) -> View:
        """One value where ``bounds`` hold, else another."""
        left = []
        for bound in bounds:
            low, place, high = changed(bound, lambda one: tidy(one, self.box))
            above = reach(place - low, self.box)
            below = (-1, -1) if high is None else reach(place - high, self.box)
            if above is None or below is None:
                left.append((low, place, high))
            elif above[1] < 0 or below[0] >= 0:
                return outside
            elif above[0] < 0 or below[1] >= 0:
                left.append((low, place, high))
        if not left or (inside.value is outside.value and inside.index == outside.index):
            return inside
        return self._over("choose", inside.value.dtype, (inside, outside), {"cases": (tuple(left), ())})

    def pick(self, operands: Sequence[View]) -> View:
        """The element of the first operand at a place that the others tell."""
        return self._over("pick", operands[0].value.dtype, operands, {"wraps": ()})

    def product(self, left: View, right: View, at: Expr, dtype: Dtype) -> View:
        """``left`` times ``right``, summed over the lane ``at``."""
        return self.reduce("sum", self.map("mul", dtype, left, right), (at,), dtype)

    def reduce(self, kind: str, body: View, over: Sequence[Expr], dtype: Dtype) -> View:
        """``body`` reduced over the lanes ``over``."""
        over, body = self._with_inner(kind, body, [at for at in over if at.terms])
        over, body = self._as_one(body, over)
        for at in over:
            body = self._clipped(kind, body, at)
        if not over:
            return self.map("cast", dtype, body)
        lanes = [_number(at) for at in over]
        attributes = {"kind": kind, "over": tuple(map(self.extent, lanes))}
        factors = self._factors(body, lanes) if kind == "sum" else None
        if factors is not None:
            return self._over("product", dtype, factors, {"over": attributes["over"]}, lanes)
        return self._over("reduce", dtype, (body,), attributes, lanes)

    def _factors(self, body: View, over: Sequence[int]) -> tuple[View, View] | None:
        """What ``body`` is a product of, where both have so many rows of their own that a product of matrices is worth it."""
        while body.value.op == "cast" and body.value.dtype.is_float:
            (body,) = self.operands(body)
        if body.value.op != "mul":
            return None
        left, right = map(self._narrow, self.operands(body))
        for one, other in ((left, right), (right, left)):
            lanes = lanes_of(one.index)
            own = lanes - lanes_of(other.index) - set(over)
            if not lanes >= set(over) or math.prod(map(self.extent, own)) < _WIDE:
                return None
        return (left, right) if left.value.dtype == right.value.dtype else tuple(self.operands(body))  # type: ignore[return-value]

    def _narrow(self, view: View) -> View:
        """``view`` without conversions that add nothing to it."""
        while view.value.op == "cast" and view.value.dtype.is_float:
            (inner,) = self.operands(view)
            if not inner.value.dtype.is_float or inner.value.dtype.bits > view.value.dtype.bits:
                break
            view = inner
        return view

    def _with_inner(self, kind: str, body: View, over: Sequence[Expr]) -> tuple[tuple[Expr, ...], View]:
        """A sum of sums as one over the lanes of both."""
        inner = body
        while inner.value.op == "cast" and inner.value.dtype.is_float:
            inner = self.operands(inner)[0]
        value = inner.value
        if value.op == "product" and kind == "sum":
            lanes = [self.lane(extent) for extent in value.attributes["over"]]
            left, right = self.operands(inner, lanes)
            return self._with_inner(kind, self.map("mul", value.dtype, left, right), (*over, *lanes))
        if value.op != "reduce" or value.attributes["kind"] != kind:
            return tuple(over), body
        lanes = [self.lane(extent) for extent in value.attributes["over"]]
        return self._with_inner(kind, self.operands(inner, lanes)[0], (*over, *lanes))

    def _as_one(self, body: View, over: Sequence[Expr]) -> tuple[tuple[Expr, ...], View]:
        """Two lanes as one, where all that ``body`` looks at lies along both: ``step * outer + inner``."""
        for outer in over:
            for inner in over:
                if outer is inner:
                    continue
                step = self.extent(_number(inner))
                both = self.lane(step * self.extent(_number(outer)))
                looked = self.look(body, {_atom(inner): both - outer * step})
                if _number(outer) not in lanes_of(looked.index):
                    return self._as_one(
                        looked, tuple(both if one is inner else one for one in over if one is not outer)
                    )
        return tuple(over), body

    def _clipped(self, kind: str, body: View, at: Expr) -> View:
        """``body``, and the extent of the lane ``at`` shorter where the rest of it changes nothing."""
        atom = _atom(at)
        last = self.box[atom][1]
        for end in sorted(self._ends(body, at)):
            if not 0 < end <= last:
                continue
            self._outside = True
            try:
                with self.where(at, end, last):
                    beyond = self.look(body, {})
            finally:
                self._outside = False
            if beyond.value.op == "number" and _is_neutral(kind, beyond.value.attributes["value"], body.value):
                self.box[atom] = (0, end - 1)
                self._looked = {}
                return self.look(body, {})
        return body

    def _ends(self, body: View, at: Expr) -> set[int]:
        """Where choices along the lane ``at`` end."""
        found: set[int] = set()
        seen: set[Any] = set()
        waiting = [body]
        while waiting:
            view = waiting.pop()
            if (id(view.value), view.index) in seen:
                continue
            seen.add((id(view.value), view.index))
            if _number(at) not in lanes_of(view.index):
                continue
            for case in view.value.attributes.get("cases", ()):
                for bound in case:
                    _, place, high = looked_at(bound, view.index)
                    rest = high - (place - at) if high is not None else None
                    if rest is not None and rest.value is not None:
                        found.add(rest.value)
            if view.value.op not in ("reduce", "product"):
                waiting += self.operands(view)
        return found

    # -- looking ----------------------------------------------------------------------------------------------------

    def operands(self, view: View, over: Sequence[Expr] = ()) -> list[View]:
        """What ``view`` is made of, as it is looked at from here; ``over`` are lanes here for those it reduces over."""
        if view.value.op == "input":
            return []
        places = [*view.index, *over]
        made = []
        for one in view.value.operands:
            if len(places) < len(view.value.shape) + len(view.value.attributes.get("over", ())):
                break
            index = tuple(tidy(place, self.box) for place in looked_through(one.index, places))
            made.append(View(one.value, index))
        return made

    def look(self, view: View, moved: Mapping[Atom, Expr]) -> View:
        """``view`` with lanes replaced, and made anew where that or the extents at hand make something else of it."""
        index = tuple(tidy(place.substitute(moved), self.box) for place in view.index)
        key = id(view.value), index, self._outside
        if key not in self._looked:
            self._spend()
            self._looked[key] = self._again(view.value, index)
        return self._looked[key]

    def _again(self, value: Value, index: tuple[Expr, ...]) -> View:
        view, op = View(value, index), value.op
        if op == "input" or (not value.operands and op != "place"):
            return view
        if op == "place":
            return self.place(looked_through((value.attributes["at"],), index)[0])
        if op in ("reduce", "product"):
            over = [self.lane(extent) for extent in value.attributes["over"]]
            body = [self.look(one, {}) for one in self.operands(view, over)]
            numbers = [_number(at) for at in over]
            return self._over(op, value.dtype, body, dict(value.attributes), numbers)
        operands = [self.look(one, {}) for one in self.operands(view)]
        if op == "choose":
            cases = value.attributes["cases"]
            made = operands[-1]
            for inside, case in zip(reversed(operands[:-1]), reversed(cases[:-1])):
                bounds = [looked_at(bound, index) for bound in case]
                made = self.choose(bounds, inside, made)
            return made
        if op in ("pick", "scan", "carried", "partial") or value.attributes:
            return view
        return self.map(op, value.dtype, *operands)

    # -- nodes ------------------------------------------------------------------------------------------------------

    def _over(
        self, op: str, dtype: Dtype, operands: Sequence[View], attributes: dict[str, Any], over: Sequence[int] = ()
    ) -> View:
        """The value of ``operands`` over the lanes that it depends on, but for those that it reduces ``over``."""
        exprs = [place for view in operands for place in view.index]
        exprs += [e for case in attributes.get("cases", ()) for bound in case for e in bound if e is not None]
        exprs += [attributes["at"]] if "at" in attributes else []
        used = sorted(lanes_of(exprs) - set(over))
        renamed: dict[Atom, Expr] = {Lane(old): lane(new) for new, old in enumerate([*used, *over])}

        def own(one: Expr | None) -> Expr | None:
            return None if one is None else one.substitute(renamed)

        views = tuple(View(v.value, tuple(map(own, v.index))) for v in operands)  # type: ignore[arg-type]
        if "cases" in attributes:
            attributes["cases"] = tuple(tuple(tuple(map(own, b)) for b in case) for case in attributes["cases"])
        if "at" in attributes:
            attributes["at"] = own(attributes["at"])
        shape = tuple(self.extent(one) for one in used)
        return View(self._node(op, shape, dtype, views, attributes), tuple(lane(one) for one in used))

    def _node(
        self, op: str, shape: tuple[int, ...], dtype: Dtype, views: tuple[View, ...], attributes: dict[str, Any]
    ) -> Value:
        number = repr(attributes["value"]) if "value" in attributes else None
        key = (op, shape, dtype, tuple((id(v.value), v.index) for v in views), number,
               *(attributes.get(name) for name in ("at", "cases", "kind", "over", "key")))  # fmt: skip
        if key not in self._made:
            self._spend()
            made = Value(op, shape, dtype, views, attributes)
            self._made[key] = canonical(made) if op == "reduce" else made
        return self._made[key]

    def _spend(self) -> None:
        self._work += 1
        if self._work > MOST_VALUES:
            raise CannotGenerate("more values than are followed")


def _atom(place: Expr) -> Atom:
    (atom,) = place.atoms()
    return atom


def _number(place: Expr) -> int:
    if not place.atoms():
        raise CannotGenerate("a sum over an axis of one element")
    atom = _atom(place)
    assert isinstance(atom, Lane)
    return atom.dim


def _is_neutral(kind: str, number: float, body: Value) -> bool:
    if number == NEUTRAL.get(kind):
        return True
    return kind == "max" and number == 0 and body.op in ("abs", "square", "exp", "exp2", "relu", "sigmoid")


_FOLDED: Mapping[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "neg": lambda a: -a,
    "abs": abs,
    "cast": lambda a: a,
    "maximum": max,
    "minimum": min,
    "exp": lambda a: 0.0 if a == -math.inf else math.exp(min(a, 700.0)),
    "exp2": lambda a: 0.0 if a == -math.inf else 2.0 ** min(a, 1000.0),
}
