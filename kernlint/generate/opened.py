"""Values that were read at several sizes, as one over open sizes: each number in them as the size or product of sizes that it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations_with_replacement
from typing import Any

from kernlint.generate.values import CannotGenerate, Divided, Sized, Value, View
from kernlint.workload import Expr, Opaque, Size, Symbol
from kernlint.workload import expr as ex
from kernlint.workload.expr import Atom, Monomial, lift

#: Sizes that are multiplied to one number, and how far a number may lie from what they make.
_FACTORS, _BESIDE = 4, 8


class Differs(CannotGenerate):
    """What was read at other sizes is something else: no law is seen in it."""


class Opened:
    """``readings`` are the numbers that the open sizes had each time."""

    def __init__(self, readings: Sequence[Mapping[Symbol, int]]) -> None:
        self.readings = readings
        symbols = list(readings[0])
        self._products: list[tuple[Expr, tuple[int, ...]]] = []
        for count in range(1, _FACTORS + 1):
            for chosen in combinations_with_replacement(symbols, count):
                numbers = [1] * len(readings)
                made = lift(1)
                for symbol in chosen:
                    made = made * Expr.atom(symbol)
                    numbers = [n * reading[symbol] for n, reading in zip(numbers, readings)]
                self._products.append((made, tuple(numbers)))
        self._sizes: dict[tuple[int, ...], Size] = {}
        self._values: dict[tuple[int, ...], Value] = {}
        self._scales: dict[tuple[Expr, float, float], Sized] = {}

    # -- sizes ------------------------------------------------------------------------------------------------------

    def size(self, numbers: Sequence[int]) -> Size:
        """What is ``numbers`` at the sizes of the readings."""
        key = tuple(numbers)
        if len(set(key)) == 1:
            return key[0]
        if key not in self._sizes:
            self._sizes[key] = self._found(key)
        return self._sizes[key]

    def _found(self, numbers: tuple[int, ...]) -> Size:
        for made, known in self._products:
            # times * known + beside, for all readings
            apart = known[1] - known[0]
            times, rest = divmod(numbers[1] - numbers[0], apart) if apart else (0, 1)
            beside = numbers[0] - times * known[0]
            fits = not rest and times and abs(beside) <= _BESIDE
            if fits and all(times * k + beside == n for k, n in zip(known, numbers)):
                return ex.simplify(made * times + beside)
        for made, known in self._products:
            (symbol, *others) = made.atoms()
            if not others and isinstance(symbol, Symbol) and made == Expr.atom(symbol):
                parts = {k // n for k, n in zip(known, numbers) if n > 0 and k % n == 0}
                if len(parts) == 1 and all(n * min(parts) == k for k, n in zip(known, numbers)):
                    raise Divided(symbol.name, Expr.atom(Symbol(f"{symbol.name}_PART")) * min(parts))
        raise Differs("what is computed follows no law in the sizes")

    def expr(self, exprs: Sequence[Expr]) -> Expr:
        """An expression over lanes, whose numbers are sizes."""
        if all(one == exprs[0] for one in exprs):
            return exprs[0]
        made = lift(self.size([one.terms.get((), 0) for one in exprs]))
        terms = [sorted(((m, c) for m, c in one.terms.items() if m), key=_order) for one in exprs]
        if len({tuple(_shape(m) for m, _ in one) for one in terms}) != 1:
            raise Differs("what is computed follows no law in the sizes")
        for same in zip(*terms):
            part = lift(self.size([count for _, count in same]))
            for atoms in zip(*(sorted(monomial, key=_kind) for monomial, _ in same)):
                part = part * self._atom(atoms)
            made = made + part
        return made

    def _atom(self, atoms: Sequence[Atom]) -> Expr:
        first = atoms[0]
        if all(one == first for one in atoms):
            return Expr.atom(first)
        parts = [one for one in atoms if isinstance(one, Opaque)]
        if len(parts) != len(atoms) or len({(one.op, one.key, len(one.args)) for one in parts}) != 1:
            raise Differs("what is computed follows no law in the sizes")
        args = [self.expr(same) for same in zip(*(one.args for one in parts))]
        made: Callable[..., Size] | None = _APPLIED.get(parts[0].op)
        return lift(made(*args)) if made is not None else Expr.atom(Opaque(parts[0].op, tuple(args), parts[0].key))

    # -- values -----------------------------------------------------------------------------------------------------

    def value(self, values: Sequence[Value]) -> Value:
        """The value that ``values`` are at the sizes of the readings."""
        key = tuple(map(id, values))
        if key not in self._values:
            first = values[0]
            kinds = {(one.op, one.dtype, len(one.shape), len(one.operands), tuple(one.attributes)) for one in values}
            if len(kinds) != 1:
                raise Differs("what is computed follows no law in the sizes")
            shape = tuple(self.size([lift(n).value or 0 for n in same]) for same in zip(*(one.shape for one in values)))
            views = tuple(self.view(same) for same in zip(*(one.operands for one in values)))
            attributes = {name: self._given([one.attributes[name] for one in values]) for name in first.attributes}
            self._values[key] = Value(first.op, shape, first.dtype, views, attributes, first.name)
        return self._values[key]

    def view(self, views: Sequence[View]) -> View:
        if len({len(one.index) for one in views}) != 1:
            raise Differs("what is computed follows no law in the sizes")
        index = tuple(map(self.expr, zip(*(one.index for one in views))))
        return View(self.value([one.value for one in views]), index)

    def _given(self, given: Sequence[Any]) -> Any:
        first = given[0]
        if isinstance(first, Value):
            return self.value(given)
        if isinstance(first, tuple):
            if len({len(one) for one in given}) != 1:
                raise Differs("what is computed follows no law in the sizes")
            return tuple(self._given(same) for same in zip(*given))
        if isinstance(first, (int, Expr)) and not isinstance(first, bool):
            exprs = [lift(one) for one in given]
            made = self.expr(exprs)
            return ex.simplify(made) if isinstance(first, int) else made
        if isinstance(first, float) and all(isinstance(one, float) for one in given):
            return self._number(tuple(given))
        if any(type(one) is not type(first) or one != first for one in given):
            raise Differs("a number that follows no law in the sizes")
        return first

    def _number(self, numbers: tuple[float, ...]) -> float:
        """What is ``numbers`` at the sizes of the readings: the same, or a power of a size."""
        if len(set(map(repr, numbers))) == 1:
            return numbers[0]
        for power in (-0.5, -1.0, 0.5):
            for size, known in self._products:
                times = numbers[0] / known[0] ** power
                if all(math.isclose(n, times * k**power, rel_tol=1e-9) for n, k in zip(numbers, known)):
                    name = "scale" if not self._scales else f"scale_{len(self._scales) + 1}"
                    times = 1.0 if math.isclose(times, 1.0, rel_tol=1e-9) else times
                    key = size, power, times
                    return self._scales.setdefault(key, Sized(numbers[0], name, size, power, times))
        raise Differs("a number that follows no law in the sizes")


_APPLIED: Mapping[str, Callable[..., Size]] = {
    "floordiv": ex.floordiv,
    "mod": ex.mod,
    "min": ex.minimum,
    "max": ex.maximum,
}


def _kind(atom: Atom) -> tuple[str, Any]:
    """What an atom is, whatever the numbers in it are."""
    if isinstance(atom, Opaque):
        inner = tuple(sorted(str(_shape(m)) for arg in atom.args for m in arg.terms))
        return f"{atom.op} {atom.key}", inner
    return str(atom), ()


def _shape(monomial: Monomial) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(map(_kind, monomial)))


def _order(term: tuple[Monomial, int]) -> tuple[str, int]:
    return str(_shape(term[0])), term[1]
