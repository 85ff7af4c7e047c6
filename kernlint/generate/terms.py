"""What one program computes, as terms: values looked at from the places of a tile.

A term is one line of a kernel to be: a load at an address, an operation on other terms, a reduction. Terms that are equal are one
object, so that nothing is computed twice. Its ``axes`` say how far it spreads over the tile: ``ROW`` lanes, ``COLUMN`` lanes, both, or
none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kernlint.generate.precision import rounded
from kernlint.generate.values import CannotGenerate, TooMuch, Value, View, looked_through
from kernlint.records import dataclass
from kernlint.workload import Dtype, Expr, Lane, Opaque, Size
from kernlint.workload import dtype as dt
from kernlint.workload.expr import Atom, lift

#: Lanes below are places along the rows of a tile, those from here on along its columns.
COLUMNS = 100
#: The lane that tells the parts of a reduction that is done in parts.
CHUNK = 90

#: Values at places that one kernel looks at.
MOST_PLACES = 1500

#: ``low <= place < high`` for each; no upper end where None.
Bounds = tuple[tuple[Expr, Expr, Expr | None], ...]


@dataclass(frozen=True, eq=False)
class Term:
    """``op`` is ``load`` (of ``buffer`` at ``address``, elements; where ``bounds`` hold), ``number``, ``place`` (``address`` itself),
    ``reduce`` (``kind`` over the columns), ``scan`` (state ``kind`` of the recurrence ``number``), ``carried`` (it before its
    update), ``product``, ``choose``, ``cast`` or an elementwise operation on ``operands``."""

    op: str
    dtype: Dtype
    operands: tuple[Term, ...] = ()
    lanes: frozenset[int] = frozenset()
    buffer: str = ""
    address: Expr | None = None
    bounds: Bounds = ()
    kind: str = ""
    number: Any = None
    over: tuple[Size, ...] = ()
    name: str = ""

    @property
    def in_columns(self) -> bool:
        return any(lane >= COLUMNS for lane in self.lanes)

    def walk(self, seen: set[int] | None = None) -> Iterable[Term]:
        """This term and its operands, operands first, each once."""
        seen = set() if seen is None else seen
        if id(self) in seen:
            return
        seen.add(id(self))
        for operand in self.operands:
            yield from operand.walk(seen)
        yield self


@dataclass(frozen=True)
class Recurrence:
    """States that are handed on along the columns ``region``: what stands for each before its update, what it begins with, what
    it becomes; at places outside of ``bounds`` they stay as they are."""

    carried: tuple[Term, ...]
    first: tuple[Term, ...]
    update: tuple[Term, ...]
    bounds: Bounds
    region: int
    backwards: bool


@dataclass(frozen=True)
class Buffer:
    """Memory that a kernel is given: ``strides`` of the ``value`` that lies in it, in elements, over open sizes."""

    name: str
    value: Value
    strides: tuple[Size, ...]

    def address(self, index: Iterable[Size]) -> Expr:
        """Where the element at ``index`` lies, in elements from the first."""
        return sum((lift(place) * stride for place, stride in zip(index, self.strides)), lift(0))


def register_type(dtype: Dtype) -> Dtype:
    """What a value of ``dtype`` is computed in: halves in fp32, as torch does within one operation."""
    return dt.FLOAT32 if dtype.is_float and dtype.bits < 32 else dtype


class Terms:
    """Makes the terms of one kernel: ``buffer_of`` tells where a value lies in memory, None for one that is computed here. Reductions
    over other extents than ``columns`` have columns of their own."""

    def __init__(self, buffer_of: Callable[[Value], Buffer | None], columns: tuple[Size, ...] = ()) -> None:
        self.buffer_of = buffer_of
        #: The first lane of the columns of these extents.
        self.regions: dict[tuple[Size, ...], int] = {columns: COLUMNS} if columns else {}
        self._made: dict[Any, Term] = {}
        self._same: dict[Any, Term] = {}
        #: Loads that nothing guards, by buffer and address.
        self._free: dict[tuple[str, Expr], Term] = {}
        #: Places that are read from memory, by the key of what stands for them in addresses.
        self.loaded: dict[int, Term] = {}
        #: What stands for the values that this kernel is built around, by identity: each is looked at from one place.
        self.accumulators: dict[int, Term] = {}
        self.buffers: dict[str, Buffer] = {}
        self.recurrences: list[Recurrence] = []
        #: The number of a recurrence, by what stands for its states and its place.
        self._recurring: dict[Any, int] = {}
        #: Of a recurrence that is being looked at: what stands for its states there.
        self._states: dict[tuple[int, tuple[Expr, ...]], Term] = {}

    def at(self, value: Value, index: Sequence[Expr], bounds: Bounds = ()) -> Term:
        """The element of ``value`` at ``index``; loads are guarded by ``bounds``."""
        key = id(value), tuple(index), bounds
        if key not in self._made:
            if len(self._made) >= MOST_PLACES:
                raise TooMuch("each element is made of too many others")
            self._made[key] = self._term(value, tuple(index), bounds)
        return self._made[key]

    def view(self, view: View, index: Sequence[Expr], bounds: Bounds = ()) -> Term:
        return self.at(view.value, looked_through(view.index, index), bounds)

    def _term(self, value: Value, index: tuple[Expr, ...], bounds: Bounds) -> Term:
        buffer = self.buffer_of(value)
        if buffer is not None:
            return self._load(buffer, index, bounds)
        op = value.op
        if id(value) in self.accumulators:
            return self.accumulators[id(value)]
        if op == "number":
            return self.new("number", register_type(value.dtype), number=value.attributes["value"])
        if op == "place":
            (at,) = looked_through((value.attributes["at"],), index)
            return self.new("place", dt.INT32, address=at, lanes=self.lanes_of(at))
        if op == "reduce":
            return self._reduce(value, index, bounds)
        if op == "scan":
            return self._scan(value, index)
        if op == "carried":
            if (id(value), index) not in self._states:
                raise CannotGenerate("a state of a recurrence outside of it")
            return self._states[id(value), index]
        if op == "choose":
            return self._choose(value, index, bounds)
        if op == "pick":
            return self._pick(value, index, bounds)
        if op == "partial":
            # The kernel that makes it reduces its own part of the columns: what it stores is a state of that reduction.
            term = self.view(value.operands[0], index[:-1])
            return self.new("state", value.dtype, (term,), lanes=term.lanes, kind=value.attributes["state"])
        if op in ("product", "attention", "scores", "scattered", "input"):
            raise CannotGenerate(f"a {op} inside another kernel")
        operands = tuple(self.view(one, index, bounds) for one in value.operands)
        if op == "cast":
            return self._cast(operands[0], value)
        return self.new(op, register_type(value.dtype), operands, name=value.name)

    def _cast(self, term: Term, value: Value) -> Term:
        target = value.dtype
        if target.is_float and target.bits < 32:
            source = value.operands[0].value.dtype
            if source == target or (term.op == "load" and term.kind == str(target)):
                return term
            if term.op == "number" and type(term.number) in (int, float):
                return self.new("number", dt.FLOAT32, number=rounded(float(term.number), target))
            # Rounded as the source asks for, and computed with in fp32 from there.
            return self.new("narrow", dt.FLOAT32, (term,), kind=str(target), name=value.name)
        if register_type(target) == term.dtype:
            return term
        return self.new("cast", register_type(target), (term,), name=value.name)

    def _load(self, buffer: Buffer, index: tuple[Expr, ...], bounds: Bounds) -> Term:
        address = _rejoined(buffer.address(index))
        bounds = self._guards(address, bounds)
        self.buffers[buffer.name] = buffer
        dtype = buffer.value.dtype
        if bounds and (buffer.name, address) in self._free:
            return self._free[buffer.name, address]  # it is there to be read for other places as well
        made = self.new("load", register_type(dtype), (), buffer=buffer.name, address=address, bounds=bounds,
                        lanes=self.lanes_of(address, bounds), kind=str(dtype), name=buffer.value.name)  # fmt: skip
        if not bounds:
            self._free[buffer.name, address] = made
        return made

    def _guards(self, address: Expr, bounds: Bounds) -> Bounds:
        """Those of ``bounds`` that a load at ``address`` needs. What lies there is the same whichever column looks there: the columns of a
        tile read it once, and choose among what is made of it."""
        lanes, free, count = set(self.lanes_of(address)), list(bounds), -1
        while count != len(free):
            count = len(free)
            for bound in list(free):
                own = self.lanes_of(bound[1])
                if own & lanes or min(own, default=0) < COLUMNS or (bound[2] is not None and bound[2] == bound[0]):
                    lanes |= own
                    free.remove(bound)
        return tuple(one for one in bounds if one not in free)

    def _reduce(self, value: Value, index: tuple[Expr, ...], bounds: Bounds) -> Term:
        over = value.attributes["over"]
        if any(isinstance(atom, Lane) and atom.dim >= COLUMNS for place in index for atom in place.atoms()):
            raise CannotGenerate("a reduction whose result is needed along the columns")
        first = self.regions.setdefault(over, COLUMNS * (1 + len(self.regions)))
        columns = [Expr.atom(Lane(first + i)) for i in range(len(over))]
        # A guard that depends on the columns is about who uses the result, not about what it is made of.
        bounds = tuple(bound for bound in bounds if not any(dim >= COLUMNS for dim in self.lanes_of(*_known(bound))))
        body, *beside = (self.view(operand, [*index, *columns], bounds) for operand in value.operands)
        lanes = frozenset(lane for lane in body.lanes if lane < COLUMNS)
        dtype = register_type(value.dtype)
        if not beside and dtype.bits > body.dtype.bits and (dtype.is_float or body.dtype.is_integer):
            # Sums of int32 are int64 in torch, and wrap around in registers of 32 bits.
            body = self.new("cast", dtype, (body,))
        return self.new(
            "reduce", dtype, (body, *beside), lanes=lanes, kind=value.attributes["kind"], over=over, name=value.name
        )

    def _scan(self, value: Value, index: tuple[Expr, ...]) -> Term:
        key = tuple(map(id, value.operands)), index
        if key not in self._recurring:
            self._recurring[key] = len(self.recurrences)
            self.recurrences.append(self._recurrence(value, index))
        number = self._recurring[key]
        found = self.recurrences[number]
        own, lanes = value.attributes["state"], self.lanes_of(*index)
        kept = (*found.first, *found.update)
        return self.new(
            "scan", found.carried[own].dtype, kept, lanes=lanes, kind=str(own), number=number, name=value.name
        )

    def _recurrence(self, value: Value, index: tuple[Expr, ...]) -> Recurrence:
        count, place = len(value.attributes["carried"]), index[-1]
        (lane,) = self.lanes_of(place) if len(self.lanes_of(place)) == 1 else (0,)
        region = lane // COLUMNS * COLUMNS
        extents = next((over for over, first in self.regions.items() if first == region), ())
        if (
            not region
            or len(extents) != 1
            or place.coefficient(Lane(lane)) != 1
            or region in self.lanes_of(*index[:-1])
        ):
            raise CannotGenerate("a recurrence along other places than those of the columns")
        if value.attributes["backwards"] and lift(extents[0]) != lift(value.shape[-1]):
            raise CannotGenerate("a recurrence from its end of which the end is not seen")
        bounds: Bounds = ()
        if place != Expr.atom(Lane(lane)) or lift(extents[0]) != lift(value.shape[-1]):
            bounds = ((lift(0), place, lift(value.shape[-1])),)
        lanes = self.lanes_of(*index)
        carried = tuple(
            self.new("carried", register_type(one.dtype), lanes=lanes, kind=f"{len(self.recurrences)}.{number}")
            for number, one in enumerate(value.attributes["carried"])
        )
        for one, term in zip(value.attributes["carried"], carried):
            self._states[id(one), index] = term
        first = tuple(self.view(view, index) for view in value.operands[:count])
        update = tuple(self.view(view, index, bounds) for view in value.operands[count:])
        return Recurrence(carried, first, update, bounds, region, value.attributes["backwards"])

    def _choose(self, value: Value, index: tuple[Expr, ...], bounds: Bounds) -> Term:
        found: Term | None = None
        cases = []
        for view, case in zip(value.operands, value.attributes["cases"]):
            held = tuple(_through(bound, index) for bound in case)
            sure = [_holds(bound) for bound in held]
            if False in sure:
                continue
            held = tuple(bound for bound, holds in zip(held, sure) if holds is None)
            cases.append((view, held))
            if not held:
                break
        for view, held in reversed(cases):
            term = self.view(view, index, (*bounds, *held))
            if found is None:
                found = term  # the last case takes what is left
                continue
            lanes = frozenset().union(*(self.lanes_of(*_known(bound)) for bound in held), term.lanes, found.lanes)
            found = self.new("choose", register_type(value.dtype), (term, found), lanes=lanes, bounds=held)
        assert found is not None
        return found

    def _pick(self, value: Value, index: tuple[Expr, ...], bounds: Bounds) -> Term:
        table, *others = value.operands
        values = self._picks(others, index, bounds, value.attributes["wraps"])
        places = [place.substitute(values) for place in looked_through(table.index, index)]
        return self.at(table.value, places, bounds)

    def picked_places(self, at: tuple[Expr, ...], target: Value, index: Sequence[Expr]) -> list[Expr]:
        """The places ``at`` of ``target``, which elements of its last operands tell, as they are looked at from ``index``."""
        values = self._picks(target.operands[2:], index, (), target.attributes["wraps"])
        return [place.substitute(values) for place in looked_through(at, index)]

    def _picks(
        self, views: Sequence[View], index: Sequence[Expr], bounds: Bounds, extents: Sequence[Size]
    ) -> dict[Atom, Size]:
        """What the elements of ``views`` are called in places; those below zero count from the end of axes of ``extents``, where there
        are some."""
        values: dict[Atom, Size] = {}
        for number, view in enumerate(views, 1):
            term = self.view(view, index, bounds)
            if extents:
                extent = self.new("place", dt.INT32, address=lift(extents[number - 1]))
                zero = self.new("number", term.dtype, number=0)
                moved = self.new("add", term.dtype, (term, extent))
                term = self.new("where", term.dtype, (self.new("lt", dt.BOOL, (term, zero)), moved, term))
            # Sums are written in the order of their terms' texts, so that a key must not be where the term lies in memory.
            key = next((key for key, known in self.loaded.items() if known is term), -1 - len(self.loaded))
            self.loaded[key] = term
            values[Opaque("load", (), number)] = Expr.atom(Opaque("load", (), key))
        return values

    def lanes_of(self, *exprs: Any) -> frozenset[int]:
        """The lanes that places, or bounds of some, spread over."""
        found: set[int] = set()
        for expr in exprs:
            if isinstance(expr, tuple):
                found |= self.lanes_of(*_known(expr))
                continue
            for atom in expr.atoms():
                if isinstance(atom, Lane):
                    found.add(atom.dim)
                elif isinstance(atom, Opaque) and atom.op == "load":
                    found |= self.loaded[atom.key].lanes
        return frozenset(found)

    def new(self, op: str, dtype: Dtype, operands: tuple[Term, ...] = (), **rest: Any) -> Term:
        """The term of these parts; the same one where it was asked for before."""
        lanes = rest.pop("lanes", None)
        if lanes is None:
            lanes = frozenset().union(*(operand.lanes for operand in operands)) if operands else frozenset()
        rest.setdefault("name", "")
        key = (op, dtype, tuple(map(id, operands)), lanes, rest.get("buffer"), rest.get("address"), rest.get("bounds"),
               rest.get("kind"), repr(rest.get("number")), rest.get("over"))  # fmt: skip
        if key not in self._same:
            self._same[key] = Term(op, dtype, operands, lanes, **rest)
        return self._same[key]


def _rejoined(address: Expr) -> Expr:
    """``address`` with ``n`` for ``n // m * m + n % m``."""
    for atom in (atom for atom in address.atoms() if isinstance(atom, Opaque) and atom.op == "mod"):
        step = address.coefficient(atom)
        whole, part = atom.args
        quotient = Opaque("floordiv", atom.args)
        if step is not None and step.terms and address.coefficient(quotient) == step * part:
            return _rejoined(address.substitute({atom: 0, quotient: 0}) + step * whole)
    return address


def _known(bound: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(one for one in bound if one is not None)


def _holds(bound: tuple[Expr, Expr, Expr | None]) -> bool | None:
    """Whether ``bound`` holds; None where that depends."""
    low, place, high = (one.value if one is not None else None for one in bound)
    if place is None or low is None or (high is None and bound[2] is not None):
        return None
    return low <= place and (high is None or place < high)


def _through(bound: tuple[Expr, Expr, Expr | None], index: Sequence[Expr]) -> tuple[Expr, Expr, Expr | None]:
    low, place, high = bound
    (low, place), end = looked_through((low, place), index), () if high is None else looked_through((high,), index)
    return low, place, end[0] if end else None
