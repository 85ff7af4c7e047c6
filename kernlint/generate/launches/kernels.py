"""One program of a launched kernel at places that are expressions: what a value of it is at lanes, rounds and programs left open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from kernlint.generate.launches.graph import Graph
from kernlint.generate.launches.operations import OPERATIONS
from kernlint.generate.launches.places import Bound, Place, Pointer, Test, changed, numbers, reach, replaced
from kernlint.generate.values import CannotGenerate, View, element
from kernlint.workload import Dtype, Expr, Launch
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import Atom, ProgramId, lift
from kernlint.workload.values import MANNERS, Value, Values


class Lanes:
    """The values of one program of ``launch``, its ids, rounds and the lanes that are asked for being atoms with ranges in the box of
    ``graph``. ``load`` tells what memory holds. Indices are made of these atoms; elements are made of what ``solved`` has for them."""

    def __init__(self, launch: Launch, values: Values, graph: Graph, load: Callable[..., View]) -> None:
        self.launch, self.values, self.graph, self.load = launch, values, graph, load
        self.solved: list[Mapping[Atom, Expr]] = []
        self.rounds: dict[int, Expr] = {}
        #: What stands for a value that a loop carries.
        self.carried: dict[tuple[int, Place], Any] = {}
        self.indices = {value.region.loop: value for value in values if value.op == "index"}
        #: Elements that are part of an address, by key.
        self.picked: dict[int, View] = {}
        self._known: dict[Any, Any] = {}
        for axis, extent in enumerate(numbers(launch.grid)):
            graph.box[ProgramId(axis)] = (0, extent - 1)

    # -- asking -----------------------------------------------------------------------------------------------------

    def at(self, value: Value, place: Place) -> Any:
        """What ``value`` is at ``place``: an index, a :class:`Pointer`, a :class:`Test`, a view of elements, or a tuple of such."""
        if value.op == "constant":
            return self._constant(value)
        key = value.id, place, frozenset(self.rounds.items()), frozenset(self.carried), len(self.solved)
        if key not in self._known:
            self._known[key] = self._made(value, place)
        return self._known[key]

    def _constant(self, value: Value) -> Any:
        given = value.detail
        return lift(int(given)) if isinstance(given, int) and not isinstance(given, bool) else given

    def operand(self, operand: Value, place: Place) -> Any:
        """``operand`` as it is looked at from ``place`` of what is made of it."""
        lead = len(place) - len(operand.shape)
        if lead < 0 and operand.shape:
            raise CannotGenerate("tiles of other shapes")
        return self.at(operand, tuple(lift(0) if n == 1 else place[lead + d] for d, n in enumerate(operand.shape)))

    def elements(self, operand: Value, place: Place) -> View:
        """``operand`` as elements."""
        return self.view(self.operand(operand, place), operand.dtype)

    def view(self, given: Any, dtype: Dtype | None = None) -> View:
        """What was asked for as elements."""
        graph = self.graph
        if isinstance(given, View):
            return given
        if isinstance(given, Expr):
            place = self.final(given)
            span = reach(place, graph.box)
            if span is None or span[0] < -(1 << 31) or span[1] >= 1 << 31:
                raise CannotGenerate("arithmetic on places that may wrap around")
            return graph.place(place)
        if isinstance(given, bool):
            return graph.number(given, dt.BOOL)
        if isinstance(given, float):
            return graph.number(given, dtype if dtype is not None and dtype.is_float else dt.FLOAT32)
        if isinstance(given, Test):
            return graph.choose(self.bounds(given), graph.number(True, dt.BOOL), graph.number(False, dt.BOOL))
        raise CannotGenerate("an operand that is no number")

    def final(self, place: Expr) -> Expr:
        """A place over the lanes of the result."""
        return replaced(place, self.solved, self.graph.box)

    def bounds(self, test: Test) -> list[Bound]:
        return [changed(bound, self.final) for bound in test.bounds]

    def index(self, value: Value, place: Place = ()) -> Expr:
        found = self.operand(value, place)
        return self.as_index(found)

    def as_index(self, found: Any) -> Expr:
        """What was asked for as a place; an element that memory holds stands in it as an atom."""
        if isinstance(found, View) and found.value.dtype.is_integer:
            if found.value.op == "number":
                return lift(found.value.attributes["value"])
            key = next(
                (k for k, one in self.picked.items() if (one.value, one.index) == (found.value, found.index)), None
            )
            if key is None:
                key = len(self.picked) + 1
                self.picked[key] = found
            return element(key)
        if isinstance(found, bool):
            return lift(int(found))
        if not isinstance(found, Expr):
            raise CannotGenerate("an index that is no number")
        return found

    @contextmanager
    def outside(self, loop: int) -> Iterator[None]:
        """Before ``loop`` or behind it."""
        round, carried = self.rounds.pop(loop, None), self.carried
        self.carried = {key: made for key, made in carried.items() if self.values[key[0]].node != loop}
        try:
            yield
        finally:
            self.carried = carried
            if round is not None:
                self.rounds[loop] = round

    # -- operations -------------------------------------------------------------------------------------------------

    def _made(self, value: Value, place: Place) -> Any:
        operation = OPERATIONS.get(value.op)
        if operation is not None:
            return operation(self, value, place)
        roles = value.roles or ("",) * len(value.operands)
        operands = [
            (one, self.operand(one, place))
            for one, role in zip(self.values.operands(value), roles)
            if role not in MANNERS
        ]
        given = [one for _, one in operands]
        if any(isinstance(one, Pointer) for one in given):
            return self._stepped(value.op, given)
        index = _indexed(value.op, given, self.graph)
        if index is not None:
            return index
        op = _NAMES.get(value.op)
        if op is None:
            raise CannotGenerate(f"`{value.op}` in a kernel")
        if value.dtype is not None and value.dtype.is_integer and value.op in ("//", "%", "/"):
            raise CannotGenerate("a division of integers from memory")
        if value.op in ("<<", ">>") and any(isinstance(one, Expr) and one.value is None for one in given):
            raise CannotGenerate("a shift of a place")
        dtype = value.dtype or dt.FLOAT32
        views = [self.view(one, _type(of, value)) for of, one in operands]
        if op == "fma":
            return self.graph.map("add", dtype, self.graph.map("mul", dtype, *views[:2]), views[2])
        if op in ("bitwise_and", "bitwise_or", "bitwise_not") and dtype.name == "bool":
            op = op.replace("bitwise", "logical")
        return self.graph.map(op, dt.BOOL if op in _COMPARISONS else dtype, *views)

    def _stepped(self, op: str, operands: Sequence[Any]) -> Pointer:
        pointers = [one for one in operands if isinstance(one, Pointer)]
        others = [one for one in operands if not isinstance(one, Pointer)]
        if len(pointers) != 1 or len(others) != 1 or op not in ("+", "-") or (op == "-" and operands[1] is pointers[0]):
            raise CannotGenerate("an address that is not followed")
        step = self.as_index(others[0])
        return Pointer(pointers[0].base, pointers[0].offset + (step if op == "+" else -step))

    def trip(self, loop: int) -> int:
        """How many rounds ``loop`` makes."""
        index = self.indices.get(loop)
        if index is None:
            raise CannotGenerate("a loop of unknown length")
        start, stop, step = (self.index(one) for one in self.values.operands(index))
        count = lift(ex.ceildiv(self.final(stop - start), step)) if step.value else lift(0)
        if count.value is None:
            raise CannotGenerate("a loop whose length differs between programs")
        return max(0, count.value)


_COMPARISONS = frozenset("lt le gt ge eq ne logical_and logical_or logical_not isnan isinf".split())

#: Functions of ``triton.language`` on each lane alone, as torch calls them.
_NAMES: Mapping[str, str] = {
    "+": "add", "-": "sub", "*": "mul", "/": "div", "fdiv": "div", "div_rn": "div", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
    "==": "eq", "!=": "ne", "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor", "~": "bitwise_not", "not": "logical_not",
    "and": "logical_and", "or": "logical_or", "<<": "shift_left", ">>": "shift_right", "negative": "neg", "abs": "abs",
    "maximum": "maximum", "minimum": "minimum", "fmax": "maximum", "fmin": "minimum", "fma": "fma", "sqrt_rn": "sqrt",
    "rint": "round",
    **{name: name for name in "exp exp2 log log2 sqrt rsqrt sin cos tanh sigmoid erf floor ceil trunc expm1 log1p isnan isinf".split()},
}  # fmt: skip


def _type(operand: Value, value: Value) -> Dtype | None:
    return operand.dtype if operand.dtype is not None else value.dtype


def _indexed(op: str, given: Sequence[Any], graph: Graph) -> Any:
    """Arithmetic on indices, and comparisons of them; None for what is none."""
    if op in ("&", "and") and all(isinstance(one, (Test, bool)) for one in given):
        bounds = tuple(bound for one in given if isinstance(one, Test) for bound in one.bounds)
        return False if False in given else Test(bounds) if bounds else True
    if not given or not all(isinstance(one, Expr) for one in given):
        return None
    if op in ("//", "%", "cdiv"):
        _check_division(given[0], given[1], graph)
    if op in _PLACES:
        return lift(_PLACES[op](*given))
    if op not in ("<", "<=", ">", ">=", "=="):
        return None
    left, right = given if op in ("<", "<=", "==") else reversed(given)
    apart = reach(left - right, graph.box)
    known = _decided(op, apart)
    if known is not None:
        return known
    if op == "==":
        return Test(((right, left, right + 1),))
    high = right if op in ("<", ">") else right + 1
    if left.value is not None:
        return Test(((left + (1 if op in ("<", ">") else 0), right, None),))
    span = reach(left, graph.box)
    return None if span is None else Test(((lift(span[0]), left, high),))


def _check_division(whole: Expr, part: Expr, graph: Graph) -> None:
    """Kernels divide towards zero, places towards what is less: raise :class:`CannotGenerate` unless it is the same."""
    first, second = reach(whole, graph.box), reach(part, graph.box)
    if first is None or first[0] < 0 or second is None or second[0] < 1:
        raise CannotGenerate("a division of what may be less than zero")


def _decided(op: str, apart: tuple[int, int] | None) -> bool | None:
    if apart is None:
        return None
    low, high = apart
    if op == "==":
        return True if low == high == 0 else False if low > 0 or high < 0 else None
    limit = 0 if op in ("<", ">") else 1
    return True if high < limit else False if low >= limit else None


_PLACES: Mapping[str, Callable[..., ex.Size]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": ex.floordiv, "%": ex.mod,
    "negative": lambda a: -a, "minimum": ex.minimum, "maximum": ex.maximum, "cdiv": ex.ceildiv,
}  # fmt: skip
