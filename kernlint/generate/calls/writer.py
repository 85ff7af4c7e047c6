"""The building blocks that torch's functions are made of, for one call and its result."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kernlint.generate.calls.canonical import canonical, through
from kernlint.generate.values import (
    CannotGenerate,
    Unbound,
    Value,
    View,
    broadcast_index,
    identity,
    lane,
    lanes_of,
)
from kernlint.workload import Call, Dtype, Expr, Size, Symbol, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import Atom, lift

#: What can be an operand of an elementwise operation.
Operand = Any


#: Operations of elements with their number of operands.
ELEMENTWISE = {
    **dict.fromkeys(
        "neg abs exp exp2 log log2 sqrt rsqrt sin cos tanh sigmoid erf floor ceil round sign reciprocal relu square cast isnan isinf "
        "logical_not bitwise_not expm1 log1p trunc".split(),
        1,
    ),
    **dict.fromkeys(
        "add sub mul div maximum minimum fmax fmin lt le gt ge eq ne logical_and logical_or bitwise_and bitwise_or bitwise_xor shift_left "
        "shift_right floor_divide remainder atan2".split(),
        2,
    ),
    "where": 3,
}


#: What puts two results of a reduction together, and elements of a pair (coordinates of points) that are gone through one by one.
_JOINED = {"sum": "add", "max": "maximum", "min": "minimum"}
_COORDINATES = 4
#: Values that are looked at to find out what a reduction goes over again.
_MOST_LOOKED_AT = 200


#: What torch makes of arithmetic on booleans, which in registers would wrap around.
_OF_BOOLEANS = {"add": "logical_or", "mul": "logical_and", "maximum": "logical_or", "minimum": "logical_and"}


#: Arguments of torch functions that change no element of the result, or say what is seen of it: its extents and its type.
_OF_NO_MATTER = frozenset(
    "device generator inplace layout memory_format non_blocking out pin_memory requires_grad scale_grad_by_freq sorted sparse "
    "stable compute_mode dtype size minlength num_classes output_size".split()
)
#: Functions whose arguments say nothing else, but for those that are looked at.
_TOLD_BY_RESULT = frozenset(
    "empty empty_like zeros zeros_like ones ones_like full full_like arange eye new_empty new_zeros new_ones new_full "
    "rand rand_like randn randn_like randint repeat one_hot adaptive_avg_pool1d adaptive_avg_pool2d "
    "adaptive_max_pool1d adaptive_max_pool2d".split()
)


class _Positional(tuple[Any, ...]):
    """The arguments of a call by position, which notes those that somebody looks at."""

    def __init__(self, given: Iterable[Any]) -> None:
        self.seen: set[int] = set()

    def __getitem__(self, place: Any) -> Any:
        places = range(len(self))[place]
        self.seen.update([places] if isinstance(places, int) else places)
        return super().__getitem__(place)

    def __iter__(self) -> Iterator[Any]:
        self.seen.update(range(len(self)))
        return super().__iter__()


class _ByName(Mapping[str, Any]):
    """The arguments of a call by name, which notes those that somebody looks at."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._given = given
        self.seen: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.seen.add(name)
        return self._given[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


class Writer:
    """Makes the value of one call, whose result is ``out``."""

    def __init__(self, view_of: Callable[[Tensor], View], sizes: Mapping[Atom, float], out: Tensor, call: Call) -> None:
        assert out.shape is not None and out.dtype is not None
        #: What a tensor shows, as a view of the value that its memory holds.
        self.view_of = view_of
        #: Numbers for the sizes that are left open.
        self.sizes = sizes
        self.shape: tuple[Size, ...] = out.shape
        self.dtype: Dtype = out.dtype
        self.out = out
        self.args = _Positional(call.args)
        self._named = _ByName(call.kwargs)
        self.kwargs: Mapping[str, Any] = self._named  # a function may set others
        self.call = call

    def of_no_matter(self, **places: int) -> None:
        """That no element of the result depends on the arguments of these names, which stand at ``places`` if they have none."""
        self.args.seen.update(places.values())
        self._named.seen.update(places)

    def refuse_unread(self) -> None:
        """Raise :class:`CannotGenerate` where an argument that says something was not looked at: the value is not that of the call."""
        if self.call.function.rstrip("_") in _TOLD_BY_RESULT:
            return
        unread = [f"argument {place + 1}" for place, value in enumerate(self.call.args)
                  if place not in self.args.seen and value is not None and value is not False]  # fmt: skip
        unread += [f"`{name}`" for name, value in self.call.kwargs.items()
                   if name not in self._named.seen | _OF_NO_MATTER and value is not None and value is not False]  # fmt: skip
        if unread:
            raise CannotGenerate(f"torch function {self.call.function} with {unread[0]}")

    # -- building blocks --------------------------------------------------------------------------------------------

    def argument(self, position: int, name: str, default: Any = None) -> Any:
        if name in self.kwargs:
            return self.kwargs[name]
        return self.args[position] if len(self.args) > position else default

    def operand(self, given: Operand) -> View:
        """A tensor, value, view or number as a view over its own axes."""
        if isinstance(given, Tensor):
            if given.shape is None:
                raise CannotGenerate("a tensor of unknown shape")
            return self.view_of(given)
        if isinstance(given, View):
            return given
        if isinstance(given, Value):
            return given.view
        if isinstance(given, bool):
            return View(Value("number", (), dt.BOOL, attributes={"value": given}), ())
        if isinstance(given, (int, Expr)):
            return View(Value("number", (), dt.INT64, attributes={"value": given}), ())
        if isinstance(given, float):
            return View(Value("number", (), dt.FLOAT32, attributes={"value": given}), ())
        raise CannotGenerate(f"torch function {self.call.function} with an argument that is not known")

    @staticmethod
    def shape_of(given: Operand) -> tuple[Size, ...]:
        if isinstance(given, (Tensor, Value)):
            return given.shape or ()
        return ()

    def spread(self, given: Operand, rank: int) -> View:
        """``given`` as it is looked at from ``rank`` axes."""
        view = self.operand(given)
        return view.at(broadcast_index(self.shape_of(given), rank))

    def map(
        self, op: str, *operands: Operand, shape: tuple[Size, ...] | None = None, dtype: Dtype | None = None
    ) -> Value:
        shape = self.shape if shape is None else shape
        views = tuple(self.spread(one, len(shape)) for one in operands)
        if op in _OF_BOOLEANS and all(view.value.dtype == dt.BOOL for view in views):
            op = _OF_BOOLEANS[op]
        made = dtype or self._type(op, operands)
        if made.is_float and made != dt.FLOAT64:
            # A double that makes no doubles, as of no axes, is a single before it is computed with.
            views = tuple(
                View(Value("cast", one.value.shape, dt.FLOAT32, (one.value.view,), name=one.value.name), one.index)
                if one.value.dtype == dt.FLOAT64
                else one
                for one in views
            )
        return Value(op, shape, made, views)

    def _type(self, op: str, operands: Sequence[Operand]) -> Dtype:
        if op in ("lt", "le", "gt", "ge", "eq", "ne", "logical_and", "logical_or", "logical_not", "isnan", "isinf"):
            return dt.BOOL
        return self.dtype

    def cast(self, view: View, target: Dtype) -> Value:
        """A copy with another element type, over the axes of the result."""
        return Value("cast", self.shape, target, (view,))

    def reduce(self, kind: str, given: Operand, axes: Sequence[int], keep: bool, dtype: Dtype | None = None) -> Value:
        """``given`` reduced over ``axes``."""
        shape = self.shape_of(given)
        columns = self._columns(given, axes) if kind in _JOINED else []
        if columns:
            inner = self.reduce(kind, given, columns, True, dtype)
            return self.reduce(kind, inner, axes, keep, dtype)
        left = tuple(1 if d in axes else n for d, n in enumerate(shape) if keep or d not in axes)
        # Axes of one element are only gone through where there are no others.
        summed = [d for d in sorted(axes) if lift(shape[d]).value != 1] or sorted(axes)
        places: list[Expr] = []
        at = 0
        for d, extent in enumerate(shape):
            if d in axes:
                places.append(lane(len(left) + summed.index(d)) if d in summed else lift(0))
                at += int(keep)
            else:
                places.append(lane(at) if lift(extent).value != 1 else lift(0))
                at += 1
        view = self.operand(given)
        over = tuple(shape[d] for d in summed)
        attributes = {"kind": kind, "over": over}
        body = view.at(places)
        if kind in _JOINED and self._is_of_pairs(view.value, shape):
            apart = [lift(extent).value for extent in over]
            if 1 < math.prod(extent or math.inf for extent in apart) <= _COORDINATES:
                return self._one_by_one(kind, body, left, [extent or 1 for extent in apart], dtype or self.dtype)
        return canonical(Value("reduce", left, dtype or self.dtype, (body,), attributes))

    def _columns(self, given: Operand, axes: Sequence[int]) -> list[int]:
        """Those of ``axes`` over which ``given`` holds reductions already, one for each place along the others: both are done row by
        row then."""
        view = self.operand(given)
        waiting, seen, found = [View(view.value, view.index)], set[tuple[int, tuple[Expr, ...]]](), list[set[int]]()
        while waiting and len(seen) < _MOST_LOOKED_AT:
            one = waiting.pop()
            if (id(one.value), one.index) in seen:
                continue
            seen.add((id(one.value), one.index))
            if one.value.op == "reduce":
                found.append(lanes_of(one.index))
            elif one.value.op not in ("product", "attention", "scan", "held", "scattered", "partial"):
                waiting += [through(one, inner) for inner in one.value.operands]
        rows = set().union(*found) & set(axes)
        columns = [d for d in axes if d not in rows and lift(self.shape_of(given)[d]).value != 1]
        return columns if rows and columns else []

    def _is_of_pairs(self, value: Value, shape: tuple[Size, ...]) -> bool:
        """Whether ``value`` has many more elements than what it is made of: each is one of a pair, and not kept in memory."""
        inputs = [one.shape for one in value.walk() if one.op in ("input", "carried")]
        counts = [[lift(extent).evaluate(self.sizes) for extent in one] for one in (shape, *inputs)]
        if value.op == "input" or any(extent is None for one in counts for extent in one):
            return False
        own, *others = (math.prod(extent or 0 for extent in one) for one in counts)
        return own > _COORDINATES * sum(others)

    @staticmethod
    def _one_by_one(kind: str, body: View, left: tuple[Size, ...], extents: Sequence[int], dtype: Dtype) -> Value:
        """A reduction over few places without a loop."""
        rank = len(left)
        total: Value | None = None
        for at in itertools.product(*map(range, extents)):
            places = [*(lane(d) for d in range(rank)), *map(lift, at)]
            one = Value("cast", left, dtype, (body.at(places),))
            both = () if total is None else (View(total, identity(left)), View(one, identity(left)))
            total = one if total is None else Value(_JOINED[kind], left, dtype, both)
        assert total is not None
        return total

    def axes(self, given: Tensor | Value, dim: Any) -> list[int]:
        rank = len(given.shape or ())
        dims = range(rank) if dim is None or dim == () else dim if isinstance(dim, (tuple, list)) else (dim,)
        return [self.axis(d, rank) for d in dims]

    def axis(self, dim: Any, rank: int) -> int:
        dim = fixed(dim)
        if not isinstance(dim, int) or not -rank <= dim < max(rank, 1):
            raise CannotGenerate(f"torch function {self.call.function} along an axis that is not known")
        return dim % rank if rank else 0

    def part(self, whole: Size, count: Size) -> Expr:
        """One of ``count`` equal parts of ``whole``. Raises :class:`CannotGenerate` where they leave a rest."""
        size, part = lift(whole), lift(ex.floordiv(whole, count))
        if part * count == size:
            return part
        first, second = size.evaluate(self.sizes), lift(count).evaluate(self.sizes)
        if first is None or not second or first % second:
            raise CannotGenerate(f"torch function {self.call.function} along an axis that is no multiple")
        if [size] != [Expr.atom(atom) for atom in size.atoms()]:
            fixed(size)  # of a plain size it is seen later that it had better be a product
        return part

    def tensor(self, position: int, name: str) -> Tensor:
        given = self.argument(position, name)
        if not isinstance(given, Tensor):
            raise CannotGenerate(f"torch function {self.call.function} with an argument that is not known")
        return given


def fixed(given: Any) -> Any:
    """``given``, a number or some, none of which may be a size that is left open. Raises :class:`Unbound` for one."""
    if isinstance(given, (tuple, list)):
        return tuple(map(fixed, given))
    for symbol in (atom for atom in given.atoms() if isinstance(atom, Symbol)) if isinstance(given, Expr) else ():
        raise Unbound(symbol.name)
    return given.value if isinstance(given, Expr) else given


def wide(dtype: Dtype | None) -> Dtype:
    return dtype if dtype is not None and dtype.is_float and dtype.bits > 16 else dt.FLOAT32


def called(name: str, value: Value) -> Value:
    return Value(value.op, value.shape, value.dtype, value.operands, value.attributes, name)


def per_channel(w: Writer, given: Any, rank: int) -> Any:
    """A tensor of one number for each channel, as it is looked at from images."""
    if not isinstance(given, Tensor):
        return given
    view = w.operand(given)
    shape = ((given.shape or (1,))[0], *(1,) * (rank - 2))
    return Value("cast", shape, given.dtype or dt.FLOAT32, (view.at((lane(0),)),))
