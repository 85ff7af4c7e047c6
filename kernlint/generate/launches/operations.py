"""What the operations of kernels make of values at places; arithmetic on each lane alone is in :mod:`kernels`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kernlint.generate.launches.places import Place, Pointer, Test, tidy
from kernlint.generate.launches.rounds import after_rounds, at_round
from kernlint.generate.values import CannotGenerate, View
from kernlint.workload import Expr, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import ProgramId, lift
from kernlint.workload.tile_axes import LOOKS, axes_along, looked_at
from kernlint.workload.values import Value

if TYPE_CHECKING:
    from kernlint.generate.launches.kernels import Lanes


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


def _looked(lanes: Lanes, value: Value, place: Place) -> Any:
    found = looked_at(lanes.values, value)
    if isinstance(found, str):
        raise CannotGenerate(found)
    given, order = found
    return lanes.operand(given, place if order is None else tuple(place[axis] for axis in order))


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


def _cast(lanes: Lanes, value: Value, place: Place) -> Any:
    if lanes.values.flag(value, "bitcast") is not False:
        raise CannotGenerate("bits looked at as another type")
    given, target = lanes.operand(lanes.values.operands(value)[0], place), value.dtype
    if isinstance(given, Pointer) or target is None:
        raise CannotGenerate("a converted address")
    if isinstance(given, Expr) and target.is_integer and target.bits >= 32:
        return given
    return lanes.graph.map("cast", target, lanes.view(given))


def _load(lanes: Lanes, value: Value, place: Place) -> View:
    pointer = address(lanes, value, place)
    mask, other = lanes.values.optional(value, "mask"), lanes.values.optional(value, "other")
    if lanes.values.optional(value, "boundary_check") is not None:
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
    acc = lanes.values.optional(value, "acc")
    return made if acc is None else lanes.graph.map("add", dtype, lanes.elements(acc, place), made)


def _reduced(lanes: Lanes, value: Value, place: Place) -> View:
    given = lanes.values.operands(value)[0]
    if lanes.values.flag(value, "return_indices") is not False:
        raise CannotGenerate(f"`{value.op}` with places")
    axes, kept = axes_along(lanes.values, value), lanes.values.flag(value, "keep_dims")
    if axes is None or kept is None:
        raise CannotGenerate(f"`{value.op}` along an axis that is not known")
    over = [lanes.graph.lane(given.shape[d]) for d in axes]
    if kept:
        place = tuple(at for d, at in enumerate(place) if d not in axes)
    inner = list(place)
    for d, at in zip(axes, over):
        inner.insert(d, at)
    body = lanes.elements(given, tuple(inner))
    return lanes.graph.reduce(value.op, body, over, value.dtype or dt.FLOAT32)


OPERATIONS: Mapping[str, Callable[[Lanes, Value, Place], Any]] = {
    "parameter": _parameter,
    "program_id": _program,
    "num_programs": _programs,
    "arange": _arange,
    **dict.fromkeys(("zeros", "zeros_like", "full"), _filled),
    "index": _index,
    **dict.fromkeys(("where", "either"), _chosen),
    **dict.fromkeys(LOOKS, _looked),
    "reshape": _reshaped,
    "cast": _cast,
    "load": _load,
    "dot": _dot,
    **dict.fromkeys(("sum", "max", "min"), _reduced),
    "phi": at_round,
    "exit": after_rounds,
}
