"""One program of a launched kernel at places that are expressions: what a value of it is at lanes, rounds and programs left open."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernlint.generate.launches.graph import Graph
from kernlint.generate.launches.places import Bound, changed, numbers, reach, replaced, tidy
from kernlint.generate.values import CannotGenerate, View, element
from kernlint.records import dataclass
from kernlint.workload import Dtype, Expr, Launch, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import Atom, ProgramId, lift
from kernlint.workload.values import Value, Values

#: A place in a tile: an expression for each of its axes.
Place = tuple[Expr, ...]


@dataclass(frozen=True)
class Pointer:
    """``offset`` elements from the first one of the tensor that is the argument ``base``."""

    base: str
    offset: Expr


@dataclass(frozen=True)
class Test:
    """Where all ``bounds`` hold."""

    bounds: tuple[Bound, ...]


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
        key = value.id, place, tuple(sorted(self.rounds.items())), tuple(sorted(self.carried)), len(self.solved)
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
            return graph.place(self.final(given))
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

    def optional(self, value: Value, role: str) -> Value | None:
        given = self.values.argument(value, role)
        return None if given is None or (given.op == "constant" and given.detail is None) else given

    # -- operations -------------------------------------------------------------------------------------------------

    def _made(self, value: Value, place: Place) -> Any:
        operation = _OPERATIONS.get(value.op)
        if operation is not None:
            return operation(self, value, place)
        roles = value.roles or ("",) * len(value.operands)
        operands = [
            (one, self.operand(one, place))
            for one, role in zip(self.values.operands(value), roles)
            if role not in _MANNERS
        ]
        given = [one for _, one in operands]
        if any(isinstance(one, Pointer) for one in given):
            return self._moved(value.op, given)
        index = _indexed(value.op, given, self.graph)
        if index is not None:
            return index
        op = _NAMES.get(value.op)
        if op is None:
            raise CannotGenerate(f"`{value.op}` in a kernel")
        if value.dtype is not None and value.dtype.is_integer and value.op in ("//", "%", "/"):
            raise CannotGenerate("a division of integers from memory")
        dtype = value.dtype or dt.FLOAT32
        views = [self.view(one, _type(of, value)) for of, one in operands]
        if op == "fma":
            return self.graph.map("add", dtype, self.graph.map("mul", dtype, *views[:2]), views[2])
        if op in ("bitwise_and", "bitwise_or", "bitwise_not") and dtype.name == "bool":
            op = op.replace("bitwise", "logical")
        return self.graph.map(op, dt.BOOL if op in _COMPARISONS else dtype, *views)

    def _moved(self, op: str, operands: Sequence[Any]) -> Pointer:
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


#: Arguments that say how precisely something is computed.
_MANNERS = frozenset({"propagate_nan", "sanitize_overflow", "ieee_rounding"})

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


# -- functions ---------------------------------------------------------------------------------------------------------


def _parameter(lanes: Lanes, value: Value, place: Place) -> Any:
    given = lanes.launch.arguments.get(value.detail)
    if isinstance(given, Tensor):
        return Pointer(value.detail, lift(0))
    if isinstance(given, (bool, float)):
        return given
    if isinstance(given, (int, Expr)):
        return lift(given)
    raise CannotGenerate(f"the argument `{value.detail}` is not known")


def _program(lanes: Lanes, value: Value, place: Place) -> Expr:
    axis = lanes.index(lanes.values.operands(value)[0]).value if value.operands else 0
    if axis is None:
        raise CannotGenerate("a program of an unknown axis")
    atom = ProgramId(axis)
    return lift(0) if lanes.graph.box.get(atom, (0, 0))[1] == 0 else Expr.atom(atom)


def _programs(lanes: Lanes, value: Value, place: Place) -> Expr:
    axis = lanes.index(lanes.values.operands(value)[0]).value if value.operands else 0
    grid = lanes.launch.grid
    return lift(grid[axis] if axis is not None and axis < len(grid) else 1)


def _arange(lanes: Lanes, value: Value, place: Place) -> Expr:
    return lanes.index(lanes.values.operands(value)[0]) + place[0]


def _filled(lanes: Lanes, value: Value, place: Place) -> Any:
    dtype = value.dtype or dt.FLOAT32
    if value.op != "full":
        return lanes.graph.number(0, dtype)
    given = lanes.values.argument(value, "value")
    if given is None:
        raise CannotGenerate("`full` of what is not known")
    return lanes.graph.map("cast", dtype, lanes.view(lanes.operand(given, ()), dtype))


def _index(lanes: Lanes, value: Value, place: Place) -> Expr:
    start, _, step = (lanes.index(one) for one in lanes.values.operands(value))
    if value.region.loop not in lanes.rounds:
        raise CannotGenerate("the place of a round outside of its loop")
    return start + step * lanes.rounds[value.region.loop]


def _chosen(lanes: Lanes, value: Value, place: Place) -> Any:
    test, x, y = lanes.values.operands(value)[:3]
    condition = lanes.operand(test, place)
    if isinstance(condition, bool):
        return lanes.operand(x if condition else y, place)
    one, other = (lanes.operand(v, place) for v in (x, y))
    if isinstance(one, Pointer) or isinstance(other, Pointer):
        raise CannotGenerate("a choice of addresses")
    dtype = value.dtype or dt.FLOAT32
    views = [lanes.graph.map("cast", dtype, lanes.view(given, value.dtype)) for given in (one, other)]
    if isinstance(condition, Test):
        return lanes.graph.choose(lanes.bounds(condition), *views)
    return lanes.graph.map("where", dtype, lanes.view(condition), *views)


def _with_axes(lanes: Lanes, value: Value, place: Place) -> Any:
    given, index = lanes.values.operands(value)
    parts = index.detail if isinstance(index.detail, tuple) else (index.detail,)
    if value.roles[1:2] == ("axis",):
        new = [axis % len(value.shape) for axis in parts if isinstance(axis, int)]
    else:
        if any(part is not None and not isinstance(part, slice) for part in parts):
            raise CannotGenerate("an element of a tile")
        new = [axis for axis, part in enumerate(parts) if part is None]
    return lanes.operand(given, tuple(at for axis, at in enumerate(place) if axis not in new))


def _transposed(lanes: Lanes, value: Value, place: Place) -> Any:
    given, *rest = lanes.values.operands(value)
    dims: Any = [one.detail for one in rest if one.op == "constant"]
    if len(dims) == 1 and isinstance(dims[0], (tuple, list)):
        dims = dims[0]
    rank = len(value.shape)
    order = [d % rank for d in dims] if dims else [*range(rank - 2), rank - 1, rank - 2]
    if sorted(order) != list(range(rank)):
        raise CannotGenerate("a transposition that is not followed")
    return lanes.at(given, tuple(place[order.index(axis)] for axis in range(rank)))


def _reshaped(lanes: Lanes, value: Value, place: Place) -> Any:
    given = lanes.values.operands(value)[0]
    if math.prod(given.shape) != math.prod(value.shape):
        raise CannotGenerate("a tile of another size")
    flat = lift(0)
    for at, extent in zip(place, value.shape):
        flat = flat * extent + at
    places: list[Expr] = []
    for extent in reversed(given.shape):
        places.insert(0, tidy(lift(ex.mod(flat, extent)), lanes.graph.box))
        flat = tidy(lift(ex.floordiv(flat, extent)), lanes.graph.box)
    return lanes.at(given, tuple(places))


def _spread(lanes: Lanes, value: Value, place: Place) -> Any:
    return lanes.operand(lanes.values.operands(value)[0], place)


def _cast(lanes: Lanes, value: Value, place: Place) -> Any:
    if lanes.values.setting(value, "bitcast"):
        raise CannotGenerate("bits looked at as another type")
    given, target = lanes.operand(lanes.values.operands(value)[0], place), value.dtype
    if isinstance(given, Pointer) or target is None:
        raise CannotGenerate("a converted address")
    if isinstance(given, Expr) and target.is_integer and target.bits >= 32:
        return given
    return lanes.graph.map("cast", target, lanes.view(given))


def _load(lanes: Lanes, value: Value, place: Place) -> View:
    pointer = address(lanes, value, place)
    mask, other = lanes.optional(value, "mask"), lanes.optional(value, "other")
    if lanes.optional(value, "boundary_check") is not None:
        raise CannotGenerate("a block pointer")
    test = True if mask is None else lanes.operand(mask, place)
    if test is True or (isinstance(test, Test) and not test.bounds):
        return lanes.load(lanes, value, pointer, ())
    rest = undefined(lanes, value) if other is None else lanes.elements(other, place)
    rest = lanes.graph.map("cast", value.dtype or dt.FLOAT32, rest)
    if test is False:
        return rest
    if isinstance(test, Test):
        bounds = lanes.bounds(test)
        return lanes.graph.choose(bounds, lanes.load(lanes, value, pointer, bounds), rest)
    return lanes.graph.map(
        "where", value.dtype or dt.FLOAT32, lanes.view(test), lanes.load(lanes, value, pointer, ()), rest
    )


def undefined(lanes: Lanes, value: Value) -> View:
    """What masked lanes hold of which nothing says what."""
    return View(lanes.graph.undefined(value.dtype or dt.FLOAT32), ())


def address(lanes: Lanes, value: Value, place: Place) -> Pointer:
    """Where an access is."""
    pointer = lanes.values.argument(value, "pointer")
    found = lanes.operand(pointer, place) if pointer is not None else None
    if not isinstance(found, Pointer):
        raise CannotGenerate("an address that is not followed")
    return found


def _dot(lanes: Lanes, value: Value, place: Place) -> View:
    a, b = lanes.values.operands(value)[:2]
    if len(a.shape) != len(b.shape) or len(a.shape) < 2:
        raise CannotGenerate("`dot` of other tiles")
    *batch, m, n = place
    at, dtype = lanes.graph.lane(a.shape[-1]), value.dtype or dt.FLOAT32
    left, right = lanes.elements(a, (*batch, m, at)), lanes.elements(b, (*batch, at, n))
    made = lanes.graph.product(left, right, at, dtype)
    acc = lanes.optional(value, "acc")
    return made if acc is None else lanes.graph.map("add", dtype, lanes.elements(acc, place), made)


def _reduced(lanes: Lanes, value: Value, place: Place) -> View:
    given = lanes.values.operands(value)[0]
    if lanes.values.setting(value, "return_indices"):
        raise CannotGenerate(f"`{value.op}` with places")
    axis = lanes.values.setting(value, "axis")
    rank = len(given.shape)
    axes = list(range(rank)) if axis is None else [axis % rank]
    over = [lanes.graph.lane(given.shape[d]) for d in axes]
    if lanes.values.setting(value, "keep_dims"):
        place = tuple(at for d, at in enumerate(place) if d not in axes)
    inner = list(place)
    for d, at in zip(axes, over):
        inner.insert(d, at)
    body = lanes.elements(given, tuple(inner))
    return lanes.graph.reduce(value.op, body, over, value.dtype or dt.FLOAT32)


def _item(lanes: Lanes, value: Value, place: Place) -> Any:
    given = lanes.values.operands(value)[0]
    if given.op in ("tuple", "broadcast") and isinstance(value.detail, int):
        return lanes.operand(lanes.values.operands(given)[value.detail], place)
    raise CannotGenerate(f"a part of `{given.op}`")


def _phi(lanes: Lanes, value: Value, place: Place) -> Any:
    from kernlint.generate.launches.rounds import at_round

    return at_round(lanes, value, place)


def _exit(lanes: Lanes, value: Value, place: Place) -> Any:
    from kernlint.generate.launches.rounds import after_rounds

    return after_rounds(lanes, value, place)


_OPERATIONS: Mapping[str, Callable[[Lanes, Value, Place], Any]] = {
    "parameter": _parameter,
    "program_id": _program,
    "num_programs": _programs,
    "arange": _arange,
    **dict.fromkeys(("zeros", "zeros_like", "full"), _filled),
    "index": _index,
    **dict.fromkeys(("where", "either"), _chosen),
    "axes": _with_axes,
    "trans": _transposed,
    "reshape": _reshaped,
    "cast": _cast,
    "load": _load,
    "dot": _dot,
    **dict.fromkeys(("sum", "max", "min"), _reduced),
    **dict.fromkeys(("multiple_of", "max_contiguous", "max_constancy", "to_tensor", "broadcast_to"), _spread),
    "item": _item,
    "phi": _phi,
    "exit": _exit,
}
