"""Symbolic integers: sums of products of atoms, the one form in which sizes, strides and indices are kept.

A size on the host, a grid extent, a pointer offset in a tile and a mask bound are all an :class:`Expr`. Two that are
equal as polynomials compare equal, so "is this stride one?", "does this loop advance by exactly a tile?" are
questions of arithmetic. What no polynomial can say (floor division, modulo, min, max, a loaded value) becomes an
:class:`Opaque` atom that still can be evaluated once its inputs are known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple, Union

# Atoms are hashed and compared more than anything else, which tuples do fastest; ``kind`` is there to tell them apart.


class Symbol(NamedTuple):
    """A host integer that the source does not fix, such as ``x.shape[0]``; non-negative."""

    name: str
    kind: str = "symbol"

    def __str__(self) -> str:
        return self.name


class ProgramId(NamedTuple):
    """The index of a program along one axis of the launch grid."""

    axis: int
    kind: str = "program"

    def __str__(self) -> str:
        return f"pid{self.axis}"


class Lane(NamedTuple):
    """The position inside a tile along dimension ``dim``, 0 to size - 1."""

    dim: int
    kind: str = "lane"

    def __str__(self) -> str:
        return f"lane{self.dim}"


class LoopIndex(NamedTuple):
    """The iteration number of a loop, 0 to trip - 1."""

    loop: int
    kind: str = "loop"

    def __str__(self) -> str:
        return f"iter{self.loop}"


class Opaque(NamedTuple):
    """``op`` applied to ``args``; ``op`` is one of floordiv, mod, min, max, and, xor, shift, truediv, load, unknown.

    ``load`` is a value read from memory and ``unknown`` one that was not followed; neither can be evaluated. The argument of an
    ``unknown`` is what it mostly is (a clamped index), a second one how far the compiler is told that it goes in steps of one.
    """

    op: str
    args: tuple[Expr, ...]
    key: int = 0
    kind: str = "opaque"

    def __str__(self) -> str:
        texts = [str(arg) for arg in self.args]
        if self.op in _SIGNS and len(texts) == 2:
            return f" {_SIGNS[self.op]} ".join(f"({text})" if " " in text or text[0] == "-" else text for text in texts)
        return f"{self.op}({', '.join(texts)})"

    @property
    def rounded_up(self) -> str:
        """``cdiv(x, y)`` where this is ``-x // y``, of which it is the opposite; else empty."""
        if self.op != "floordiv" or any(coefficient > 0 for coefficient in self.args[0].terms.values()):
            return ""
        return f"cdiv({-self.args[0]}, {self.args[1]})"


#: How operators of two operands are written.
_SIGNS = {"floordiv": "//", "mod": "%", "and": "&", "xor": "^", "truediv": "/"}

Atom = Union[Symbol, ProgramId, Lane, LoopIndex, Opaque]
Monomial = tuple[Atom, ...]
Size = Union[int, "Expr"]


class Expr:
    """An immutable polynomial with integer coefficients over atoms.

    Build it with :meth:`atom` or :meth:`constant` and combine it with ``+ - *``; use :func:`floordiv`, :func:`mod`,
    :func:`minimum`, :func:`maximum` and :func:`ceildiv` for the rest.
    """

    __slots__ = ("_atoms", "_hash", "_length", "_text", "terms")

    terms: dict[Monomial, int]

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms = {m: c for m, c in terms.items() if c} if 0 in terms.values() else dict(terms)
        # Answers kept: most expressions are never asked, the rest again and again.
        self._atoms: AbstractSet[Atom] | None = None
        self._hash: int | None = None
        self._length = 0
        self._text = ""

    @staticmethod
    def atom(atom: Atom) -> Expr:
        return Expr({(atom,): 1})

    @staticmethod
    def constant(value: int) -> Expr:
        # One that knows where it stands in the source is not any number.
        return _plain_constant(value) if type(value) is int else Expr({(): value})

    # -- arithmetic -------------------------------------------------------------------------------------------------

    def __add__(self, other: Size) -> Expr:
        summand = lift(other)
        if not summand.terms:
            return self
        result = dict(self.terms)
        _add_terms(result, summand)
        return Expr(result)

    __radd__ = __add__

    def __neg__(self) -> Expr:
        return Expr({m: -c for m, c in self.terms.items()})

    def __sub__(self, other: Size) -> Expr:
        result = dict(self.terms)
        _add_terms(result, lift(other), -1)
        return Expr(result)

    def __rsub__(self, other: Size) -> Expr:
        return lift(other) + (-self)

    def __mul__(self, other: Size) -> Expr:
        result: dict[Monomial, int] = {}
        factors = lift(other).terms.items()
        for m1, c1 in self.terms.items():
            for m2, c2 in factors:
                # A constant changes no order; sorting by texts is dear.
                monomial = (
                    tuple(sorted(m1 + m2, key=lambda atom: (type(atom).__name__, str(atom)))) if m1 and m2 else m1 or m2
                )
                result[monomial] = result.get(monomial, 0) + c1 * c2
        return Expr(result)

    __rmul__ = __mul__

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            other = Expr.constant(other)
        return self is other or (isinstance(other, Expr) and self.terms == other.terms)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    # -- questions --------------------------------------------------------------------------------------------------

    @property
    def value(self) -> int | None:
        """The integer this is, or None while an atom is left in it."""
        if len(self.terms) == 1:
            return self.terms.get(())
        return None if self.terms else 0

    @property
    def length(self) -> int:
        """How many terms and atoms it takes to write this down, those of opaque ones counted each time they stand there."""
        if not self._length:
            self._length = len(self.terms) + sum(map(len, self.terms))
            for monomial in self.terms:
                for atom in monomial:
                    if type(atom) is Opaque:
                        self._length += sum([arg.length for arg in atom.args])
        return self._length

    @property
    def is_followed(self) -> bool:
        """Whether this is made of sizes, indices and constants alone: no value read from memory, none that was not
        followed."""
        return not any(isinstance(atom, Opaque) and atom.op in ("load", "unknown") for atom in self.atoms())

    @property
    def is_natural(self) -> bool:
        """Whether this is surely never negative: sizes and indices, which are not, with no minus before any."""
        return all(c >= 0 for c in self.terms.values()) and all(
            not isinstance(atom, Opaque)
            or (atom.op in ("floordiv", "mod", "min", "max") and all(arg.is_natural for arg in atom.args))
            for monomial in self.terms
            for atom in monomial
        )

    def atoms(self) -> AbstractSet[Atom]:
        """All atoms, those inside opaque ones included, in the order in which they stand: what is done for one after the other must
        not hang on the hashes of a run."""
        if self._atoms is None:
            found: dict[Atom, None] = {}
            for monomial in self.terms:
                for atom in monomial:
                    found[atom] = None
                    if isinstance(atom, Opaque):
                        for arg in atom.args:
                            found.update(dict.fromkeys(arg.atoms()))
            self._atoms = found.keys()
        return self._atoms

    def coefficient(self, atom: Atom) -> Expr | None:
        """``c`` where this is ``c * atom + rest`` and neither contains ``atom``; None when it is not linear in it."""
        linear: dict[Monomial, int] = {}
        if atom not in self.atoms():
            return Expr(linear)
        for monomial, coefficient in self.terms.items():
            count = monomial.count(atom)
            rest = tuple([a for a in monomial if a != atom])
            args = [arg for a in rest if type(a) is Opaque for arg in a.args]
            if count > 1 or (args and any(atom in arg.atoms() for arg in args)):
                return None
            if count == 1:
                linear[rest] = linear.get(rest, 0) + coefficient
        return Expr(linear)

    def rewrite(self, change: Callable[[Atom], Size | None]) -> Expr:
        """This with each atom replaced by ``change(atom)``, or kept (its arguments rewritten) where that is None."""
        return self._rewritten(change, {})

    def _rewritten(self, change: Callable[[Atom], Size | None], known: dict[int, Expr | None]) -> Expr:
        """``known`` holds what became of atoms, by identity: index arithmetic uses each intermediate result several times
        (``r = i - i // n * n``), so that without it the work would double with each step."""
        total: dict[Monomial, int] = {}
        changed = False
        for monomial, coefficient in self.terms.items():
            factors = [_rewrite_atom(atom, change, known) for atom in monomial]
            if all(factor is None for factor in factors):
                total[monomial] = total.get(monomial, 0) + coefficient
                continue
            changed = True
            product, *others = [Expr.atom(atom) if new is None else new for atom, new in zip(monomial, factors)]
            _add_terms(total, math.prod(others, start=product), coefficient)
        return Expr(total) if changed else self

    def substitute(self, values: Mapping[Atom, Size]) -> Expr:
        if len(self.terms) == 1:
            ((monomial, coefficient),) = self.terms.items()
            if coefficient == 1 and len(monomial) == 1 and monomial[0] in values:
                return lift(values[monomial[0]])
        return self if values.keys().isdisjoint(self.atoms()) else self.rewrite(values.get)

    @staticmethod
    def substitution(values: Mapping[Atom, Size]) -> Callable[[Expr], Expr]:
        """:meth:`substitute` with ``values`` for many expressions with atoms in common, which must outlive it."""
        known: dict[int, Expr | None] = {}
        names = values.keys()
        return lambda expr: expr if names.isdisjoint(expr.atoms()) else expr._rewritten(values.get, known)

    def evaluate(self, values: Mapping[Atom, float]) -> float | None:
        """The number this is under ``values``; None where an atom has none (or is a loaded value)."""
        return self._evaluated(values, {})

    def _evaluated(self, values: Mapping[Atom, float], known: dict[int, float | None]) -> float | None:
        """``known`` as in :meth:`_rewritten`."""
        total: float = 0
        for monomial, coefficient in self.terms.items():
            product: float = coefficient
            for atom in monomial:
                number = values.get(atom)
                if number is None and isinstance(atom, Opaque):
                    number = _evaluate_opaque(atom, values, known)
                if number is None:
                    return None
                product *= number
            total += product
        return total

    def __str__(self) -> str:
        # Kept: terms are ordered by their texts as well, so that the work would double with each level of nesting.
        if not self._text:
            self._text = self._spelled()
        return self._text

    def _spelled(self) -> str:
        if not self.terms:
            return "0"
        parts = []
        for monomial, coefficient in sorted(self.terms.items(), key=lambda t: (-len(t[0]), str(t[0]))):
            factors = []
            for atom in monomial:
                upwards = atom.rounded_up if isinstance(atom, Opaque) else ""
                text = upwards or str(atom)
                factors.append(
                    f"({text})" if " " in text and not upwards and len(monomial) + abs(coefficient) > 2 else text
                )
                coefficient *= -1 if upwards else 1
            names = "*".join(factors)
            if not names:
                parts.append(str(coefficient))
            elif abs(coefficient) == 1:
                parts.append(names if coefficient == 1 else f"-{names}")
            else:
                parts.append(f"{coefficient}*{names}")
        return " + ".join(parts).replace("+ -", "- ")

    def __repr__(self) -> str:
        return f"Expr({self})"


@lru_cache(maxsize=1024)
def _plain_constant(value: int) -> Expr:
    return Expr({(): value})


def lift(value: Size) -> Expr:
    return value if isinstance(value, Expr) else Expr.constant(int(value))


def simplify(value: Size) -> Size:
    """An int where the expression is constant, so that concrete sizes stay plain Python integers."""
    if isinstance(value, Expr):
        number = value.value
        return value if number is None else number
    return value


def concrete(value: Size | None) -> int | None:
    """The integer, or None where the size is symbolic or unknown."""
    if value is None:
        return None
    return value.value if isinstance(value, Expr) else int(value)


def floordiv(a: Size, b: Size) -> Size:
    x, y = lift(a), lift(b)
    if y.value == 1:
        return simplify(x)
    if x.value is not None and y.value:
        return x.value // y.value
    raised = _rounded_up(x, y)
    if raised is not None:
        return ceildiv(raised, y)
    if y.value:
        # Split off the part that the divisor divides: (32*p + r) // 32 == p + r // 32.
        whole = {m: c // y.value for m, c in x.terms.items() if c % y.value == 0}
        rest = Expr({m: c for m, c in x.terms.items() if c % y.value})
        if not rest.terms:
            return simplify(Expr(whole))
        if whole:
            return simplify(Expr(whole) + Expr.atom(Opaque("floordiv", (rest, y))))
    quotient = _exact_quotient(x, y)
    return quotient if quotient is not None else Expr.atom(Opaque("floordiv", (x, y)))


def _rounded_up(x: Expr, y: Expr) -> Expr | None:
    """``n`` where ``x`` is ``n + y - 1``, which divided by ``y > 0`` is ``n`` divided and rounded up: one form for both.

    Of sizes alone: whoever looks at the lanes of an index wants to see it as it is."""
    if any(isinstance(atom, (Lane, ProgramId, LoopIndex)) for atom in x.atoms()):
        return None
    if y.value:
        return x - (y - 1) if y.value > 0 and (x.terms.get((), 0) + 1) % y.value == 0 else None
    raised = x - y + 1
    return raised if len(raised.terms) < len(x.terms) else None


def mod(a: Size, b: Size) -> Size:
    x, y = lift(a), lift(b)
    if y.value == 1:
        return 0
    if x.value is not None and y.value:
        return x.value % y.value
    if y.value:
        rest = Expr({m: c % y.value for m, c in x.terms.items()})
        if not rest.terms:
            return 0
        return Expr.atom(Opaque("mod", (rest, y)))
    if _exact_quotient(x, y) is not None:
        return 0
    return Expr.atom(Opaque("mod", (x, y)))


def ceildiv(a: Size, b: Size) -> Size:
    x, y = lift(a), lift(b)
    if x.value is not None and y.value:
        return -(-x.value // y.value)
    return simplify(-lift(floordiv(-x, y)))


def minimum(*values: Size) -> Size:
    return _extreme("min", min, values)


def maximum(*values: Size) -> Size:
    return _extreme("max", max, values)


def opaque(op: str, *args: Size, key: int = 0) -> Expr:
    return Expr.atom(Opaque(op, tuple(lift(a) for a in args), key))


def mostly(expr: Expr) -> Expr:
    """``expr`` with each integer that was not followed as what it mostly is."""
    lost = (atom for atom in expr.atoms() if isinstance(atom, Opaque) and atom.op == "unknown" and atom.args)
    return expr.substitute({atom: mostly(atom.args[0]) for atom in lost})


def _extreme(op: str, pick: Callable[[Iterable[int]], int], values: tuple[Size, ...]) -> Size:
    lifted = list(dict.fromkeys(lift(v) for v in values))
    numbers = [v.value for v in lifted if v.value is not None]
    symbolic = [v for v in lifted if v.value is None]
    if not symbolic:
        return pick(numbers)
    args = symbolic + ([Expr.constant(pick(numbers))] if numbers else [])
    return args[0] if len(args) == 1 else Expr.atom(Opaque(op, tuple(args)))


def _exact_quotient(x: Expr, y: Expr) -> Size | None:
    """x / y where y is one monomial that divides each term of x, else None."""
    if len(y.terms) != 1:
        return None
    ((divisor, factor),) = y.terms.items()
    result: dict[Monomial, int] = {}
    for monomial, coefficient in x.terms.items():
        rest = list(monomial)
        for atom in divisor:
            if atom not in rest:
                return None
            rest.remove(atom)
        if coefficient % factor:
            return None
        result[tuple(rest)] = coefficient // factor
    return simplify(Expr(result))


def _add_terms(total: dict[Monomial, int], summand: Expr, times: int = 1) -> None:
    for monomial, coefficient in summand.terms.items():
        total[monomial] = total.get(monomial, 0) + times * coefficient


def _rewrite_atom(atom: Atom, change: Callable[[Atom], Size | None], known: dict[int, Expr | None]) -> Expr | None:
    """What ``atom`` becomes; None where it stays as it is."""
    if id(atom) in known:
        return known[id(atom)]
    new = change(atom)
    result = None if new is None else lift(new)
    if result is None and isinstance(atom, Opaque):
        args = tuple(arg._rewritten(change, known) for arg in atom.args)
        if args != atom.args:
            result = lift(_APPLY[atom.op](*args)) if atom.op in _APPLY else Expr.atom(Opaque(atom.op, args, atom.key))
    known[id(atom)] = result
    return result


_APPLY: dict[str, Callable[..., Size]] = {
    "floordiv": floordiv,
    "mod": mod,
    "min": minimum,
    "max": maximum,
}

#: What each operation of an `Opaque` atom does to numbers.
OPERATIONS: dict[str, Callable[..., float]] = {
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "min": min,
    "max": max,
    "and": lambda a, b: int(a) & int(b),
    "or": lambda a, b: int(a) | int(b),
    "xor": lambda a, b: int(a) ^ int(b),
    "shl": lambda a, b: int(a) << int(b),
    "shr": lambda a, b: int(a) >> int(b),
    "truediv": lambda a, b: a / b,
    "pow2": lambda a: 1 << max(0, int(a) - 1).bit_length(),
}


def _evaluate_opaque(atom: Opaque, values: Mapping[Atom, float], known: dict[int, float | None]) -> float | None:
    if id(atom) in known:
        return known[id(atom)]
    function = OPERATIONS.get(atom.op)
    result = None
    if function is not None:
        args = [arg._evaluated(values, known) for arg in atom.args]
        if None not in args:
            with suppress(ZeroDivisionError, OverflowError, ValueError):
                result = function(*args)
    known[id(atom)] = result
    return result
