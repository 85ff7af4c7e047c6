"""Convolutions, transposed ones too: depthwise ones of few taps as sums over them, others as products."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernlint.generate.calls.canonical import is_widening
from kernlint.generate.calls.products import multiplied
from kernlint.generate.calls.writer import Writer, fixed, per_channel, wide
from kernlint.generate.terms import Bounds
from kernlint.generate.values import CannotGenerate, Value, View, identity, lane, lanes_of, looked_through
from kernlint.records import dataclass
from kernlint.workload import Expr, Size, Tensor
from kernlint.workload import dtype as dt
from kernlint.workload import expr as ex
from kernlint.workload.expr import lift

#: Taps that are written one after the other.
MOST_TAPS = 64


@dataclass(frozen=True)
class _Geometry:
    """Along each axis of an image: how far windows are apart, what is added at its edges, how far taps are apart, and how many there
    are."""

    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    taps: Sequence[int]


def _convolution(rank: int, transposed: bool) -> Callable[[Writer], Value]:
    def make(w: Writer) -> Value:
        x, weight = w.tensor(0, "input"), w.tensor(1, "weight")
        places = {"stride": 3, "padding": 4, "dilation": 7 if transposed else 5}
        given = [per_axis(w.argument(at, name, 0 if name == "padding" else 1), rank) for name, at in places.items()]
        groups = fixed(w.argument(6, "groups", 1))
        if transposed:
            w.of_no_matter(output_padding=5)  # what is added to the extents of the result
        taps = fixed((weight.shape or ())[2:])
        if len(x.shape or ()) != rank + 2 or any(one is None for one in (*given, *taps)) or not isinstance(groups, int):
            raise CannotGenerate("a convolution whose geometry is not known")
        stride, padding, dilation = (one or [] for one in given)
        geometry = _Geometry(stride, padding, dilation, taps)
        own = not transposed and _is_depthwise(x, weight, groups)
        factors = _factors(w, weight, rank) if own else None
        if factors is not None:
            made = _axis_by_axis(w, x, factors, geometry)
        elif own and groups > 1 and math.prod(taps) <= MOST_TAPS:
            made = _over_taps(w, x, weight, geometry)
        else:
            made = _in_groups(w, x, weight, geometry, groups, _transposed if transposed else _plain)
        bias = w.argument(2, "bias")
        return w.map("add", made, per_channel(w, bias, rank + 2)) if isinstance(bias, Tensor) else made

    return make


def _is_depthwise(x: Tensor, weight: Tensor, groups: int) -> bool:
    filters = weight.shape or ()
    return lift((x.shape or ())[1]).value == groups == lift(filters[0]).value and lift(filters[1]).value == 1


def _over_taps(w: Writer, x: Tensor, weight: Tensor, geometry: _Geometry) -> Value:
    """A depthwise convolution as a sum over its taps."""
    image, kernel = w.operand(x), w.operand(weight)
    shape, rank = x.shape or (), len(geometry.taps)
    total: Any = None
    for number in range(math.prod(geometry.taps)):
        at: list[int] = []
        rest = number
        for n in reversed(geometry.taps):
            at.insert(0, rest % n)
            rest //= n
        pads = geometry.padding
        places = [lane(2 + d) * geometry.stride[d] + at[d] * geometry.dilation[d] - pads[d] for d in range(rank)]
        bounds = tuple((lift(pads[d]), places[d] + pads[d], lift(shape[2 + d]) + pads[d]) for d in range(rank)
                       if pads[d] != 0 or at[d] > 0)  # fmt: skip
        look = image.at([lane(0), lane(1), *places])
        tap = Value("choose", w.shape, x.dtype or dt.FLOAT32, (look, _nothing()), {"cases": (bounds, ())})
        factor = kernel.at([lane(1), lift(0), *map(lift, at)])
        product = Value("mul", w.shape, w.dtype, (View(tap, identity(w.shape)), factor))
        total = product if total is None else w.map("add", total, product)
    assert isinstance(total, Value)
    return total


def _factors(w: Writer, weight: Tensor, rank: int) -> list[View] | None:
    """For each axis what the taps along it are, where a filter is their outer product: views from the channel and the tap."""
    channel, taps = lane(0), [lane(1 + d) for d in range(rank)]
    view = w.operand(weight)
    waiting = [view.at([channel, lift(0), *taps])]
    found: dict[int, View] = {}
    while waiting:
        one = waiting.pop()
        axes = [d for d in range(rank) if 1 + d in lanes_of(one.index)]
        if len(axes) > 1 and (one.value.op == "mul" or is_widening(one.value)):
            waiting += [part.at(one.index) for part in one.value.operands]
        elif len(axes) == 1 and axes[0] not in found:
            (axis,) = axes
            places = [lane(1) if d == 1 + axis else lane(d) for d in range(1 + rank)]
            found[axis] = one.at(places)
        else:
            return None
    return [found[d] for d in range(rank)] if rank > 1 and len(found) == rank else None


def _axis_by_axis(w: Writer, x: Tensor, factors: Sequence[View], geometry: _Geometry) -> Value:
    """A convolution with an outer product: first along the last axis, whose result the next one goes over."""
    image, shape = w.operand(x), list(x.shape or ())
    for d in reversed(range(len(factors))):
        made = tuple(w.shape[2 + e] if e >= d else n for e, n in enumerate(shape[2:]))
        space = (*shape[:2], *made)
        stride, pad, gap = geometry.stride[d], geometry.padding[d], geometry.dilation[d]
        total: Value | None = None
        for tap in range(geometry.taps[d]):
            place = lane(2 + d) * stride + tap * gap - pad
            bounds = ((lift(pad), place + pad, lift(shape[2 + d]) + pad),)
            places = [place if e == 2 + d else at for e, at in enumerate(identity(space))]
            look = image.at(places)
            seen = Value("choose", space, image.value.dtype, (look, _nothing()), {"cases": (bounds, ())})
            factor = factors[d].at([lane(1), lift(tap)])
            one = Value("mul", space, wide(w.dtype), (View(seen, identity(space)), factor))
            both = () if total is None else (View(total, identity(space)), View(one, identity(space)))
            total = one if total is None else Value("add", space, wide(w.dtype), both)
        assert total is not None
        image = View(total, identity(space))
    return w.cast(image, w.dtype)


def _nothing() -> View:
    return View(Value("number", (), dt.FLOAT32, attributes={"value": 0.0}), ())


@dataclass(frozen=True)
class _Along:
    """How a convolution goes along one axis of the image: the ``extents`` of the axes that places of the result have there, how one
    of these is found from the place (``seen``), the place in the image for that and a tap, under which ``bounds``, the tap in the
    filter, and how many there are."""

    extents: tuple[Size, ...]
    seen: tuple[Expr, ...]
    image: Expr
    bounds: Bounds
    tap: Expr
    tap_bounds: Bounds
    taps: int


def _plain(
    geometry: _Geometry, d: int, extents: tuple[Size, Size], result: Expr, at: Sequence[Expr], tap: Expr
) -> _Along:
    """Along axis ``d``, whose ``extents`` are those of the image and of the result, for the place ``result``, axes of the product
    ``at`` and the lane ``tap``."""
    pad, image = geometry.padding[d], at[0] * geometry.stride[d] + tap * geometry.dilation[d]
    bounds = ((lift(pad), image, lift(extents[0]) + pad),) if pad else ()
    return _Along((extents[1],), (result,), image - pad, bounds, tap, (), geometry.taps[d])


def _transposed(
    geometry: _Geometry, d: int, extents: tuple[Size, Size], result: Expr, at: Sequence[Expr], tap: Expr
) -> _Along:
    """As :func:`_plain`. Places of the result that are a stride apart meet the same taps, each of which is a step of ``dilation`` in the
    image: so these are an axis of their own, and their offset another."""
    stride, pad, step = geometry.stride[d], geometry.padding[d], geometry.dilation[d]
    common = math.gcd(stride, step)
    apart = stride // common  # how far taps are apart that a place of the result meets
    taps = -(-geometry.taps[d] // apart)
    axes: tuple[Size, ...] = (extents[1],)
    seen: tuple[Expr, ...] = (result,)
    whole, offset = (*at, lift(0))[:2]
    if stride > 1:
        axes = (ex.simplify(lift(ex.ceildiv(extents[1], stride))), stride)
        seen = (lift(ex.floordiv(result, stride)), lift(ex.mod(result, stride)))
    met = offset + pad
    first = lift(0)
    if apart > 1:
        first = lift(ex.mod(lift(ex.floordiv(met, common)) * pow(step // common, -1, apart), apart))
    # What is divided is a whole number of strides, and not below zero with this much added to it.
    image = whole + ex.floordiv(met - first * step + stride * step, stride) - step - tap * (step // common)
    low = step + taps * (step // common)
    bounds: Bounds = ((lift(low), image + low, lift(extents[0]) + low),)
    if common > 1:
        bounds = (*bounds, (lift(0), lift(ex.mod(met, common)), lift(1)))
    place = first + tap * apart
    ends: Bounds = () if geometry.taps[d] % apart == 0 else ((lift(0), place, lift(geometry.taps[d])),)
    return _Along(axes, seen, image, bounds, place, ends, taps)


def _in_groups(
    w: Writer, x: Tensor, weight: Tensor, geometry: _Geometry, groups: int, along: Callable[..., _Along]
) -> Value:
    """A convolution as a product of pixels by filters, summed over channels and taps, for each of ``groups`` of channels."""
    rank, shape, filters = len(geometry.taps), x.shape or (), weight.shape or ()
    transposed = along is _transposed
    inputs = ex.simplify(lift(ex.floordiv(shape[1], groups)))
    outputs = filters[1] if transposed else ex.simplify(lift(ex.floordiv(filters[0], groups)))
    channels: tuple[Size, ...] = (groups, outputs) if groups > 1 else (outputs,)
    strided = [transposed and s > 1 for s in geometry.stride]
    first = 1 + len(channels)
    count = first + rank + sum(strided)
    wholes = [lane(first + d) for d in range(rank)]
    offsets = iter([lane(first + rank + number) for number in range(sum(strided))])
    summed_channel = lift(inputs).value != 1
    after = count + summed_channel
    numbers = [d for d in range(rank) if geometry.taps[d] > 1]
    taps = [lane(after + numbers.index(d)) if d in numbers else lift(0) for d in range(rank)]
    parts = [
        along(
            geometry,
            d,
            (shape[2 + d], w.shape[2 + d]),
            lane(2 + d),
            (wholes[d], next(offsets)) if strided[d] else (wholes[d],),
            taps[d],
        )
        for d in range(rank)
    ]
    space = (shape[0], *channels, *(one.extents[0] for one in parts), *(n for one in parts for n in one.extents[1:]))
    over = (*((inputs,) if summed_channel else ()), *(parts[d].taps for d in numbers))
    channel = lane(count) if summed_channel else lift(0)
    group, own = (lane(1), lane(2)) if groups > 1 else (lift(0), lane(1))
    image = _guarded(w, x, [lane(0), group * inputs + channel, *(one.image for one in parts)],
                     tuple(bound for one in parts for bound in one.bounds), (*space, *over))  # fmt: skip
    filtered = [group * inputs + channel, own] if transposed else [group * outputs + own, channel]
    kernel = _guarded(w, weight, [*filtered, *(one.tap for one in parts)],
                      tuple(bound for one in parts for bound in one.tap_bounds), (*space, *over))  # fmt: skip
    inner = copy.copy(w)
    inner.shape = space
    made = multiplied(inner, (image, kernel), over)
    if space == w.shape:
        return made
    of_channel = (lift(ex.floordiv(lane(1), outputs)), lift(ex.mod(lane(1), outputs))) if groups > 1 else (lane(1),)
    seen = (lane(0), *of_channel, *(one.seen[0] for one in parts), *(place for one in parts for place in one.seen[1:]))
    places = tuple(lift(0) if lift(n).value == 1 else place for place, n in zip(seen, space))
    return w.cast(View(made, places), w.dtype)


def _guarded(w: Writer, tensor: Tensor, places: Sequence[Expr], bounds: Bounds, space: tuple[Size, ...]) -> View:
    """``tensor`` at ``places``, zero where ``bounds`` do not hold, looked at from ``space``."""
    view = w.operand(tensor)
    look = view.at(places)
    if not bounds:
        return look
    # Of the axes of the product only those that decide: by them it is known what the operand's rows and columns are.
    used = sorted(lanes_of([*look.index, *(expr for bound in bounds for expr in bound if expr is not None)]))
    own = [lane(used.index(d)) if d in used else lift(0) for d in range(len(space))]
    cases = tuple(
        (*looked_through((low, place), own), None if high is None else looked_through((high,), own)[0])
        for low, place, high in bounds
    )
    inside = look.at(own)
    shape = tuple(space[d] for d in used)
    padded = Value("choose", shape, view.value.dtype, (inside, _nothing()), {"cases": (cases, ())})
    return View(padded, tuple(map(lane, used)))


def per_axis(value: Any, rank: int) -> list[int] | None:
    value = fixed(value)
    values = list(value) if isinstance(value, tuple) else [value] * rank
    values = values * rank if len(values) == 1 else values
    return values if len(values) == rank and all(isinstance(one, int) for one in values) else None


FUNCTIONS: Mapping[str, Callable[[Writer], Value]] = {
    f"{name}{rank}d": _convolution(rank, transposed)
    for name, transposed in (("conv", False), ("conv_transpose", True))
    for rank in (1, 2, 3)
}
