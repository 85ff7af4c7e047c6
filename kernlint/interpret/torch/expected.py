"""What integers the tensors of a program hold in the mean, from the draw or the number that they begin with to the kernels that loop
up to them: ``ends[1:] = randint(0, 21, (n,)).cumsum(0)`` rises by ten from element to element, and ``ends[1:] - ends[:-1]`` is ten.
What is drawn lies evenly up to its ``spread`` around that."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from kernlint.interpret.python.arguments import Args, Kwargs
from kernlint.interpret.torch.numbers import kept
from kernlint.records import replace
from kernlint.workload import Expr, Tensor, concrete
from kernlint.workload.tensor import Expected

#: Operations that leave each element where it is among its neighbours; other copies keep the elements alone.
_IN_PLACE = frozenset({"copy_", "setitem", "cat", "pad", "contiguous", "clone"})
#: Those of them after which there are other elements beside.
_JOINING = frozenset({"copy_", "setitem", "cat", "pad"})


def drawn(args: Args, kwargs: Kwargs) -> Expected:
    """What ``randint(high, size)`` and ``randint(low, high, size)`` give: the middle of their bounds."""
    given = [kwargs.get("low", 0), kwargs.get("high")]
    ends = [value for value in args[:2] if not isinstance(value, (tuple, list))]
    ends = [0, *ends] if len(ends) == 1 and "high" not in kwargs else [*ends, *given[len(ends) :]]
    low, high = (concrete(end) if isinstance(end, (int, Expr)) else None for end in ends)
    if low is None or high is None:
        return Expected()
    return Expected((low + high - 1) / 2, spread=max(0.0, (high - 1 - low) / 2))


def filled(number: Any) -> Expected:
    """What ``full(size, number)`` gives."""
    value = concrete(number) if isinstance(number, (int, Expr)) else None
    return Expected() if value is None else Expected(value, 0.0, equal=True)


def computed(known: dict[int, Expected], name: str, operands: Sequence[Any], result: Tensor) -> None:
    """Add what the elementwise function ``name`` makes of ``operands``, tensors and numbers, as ``result`` to what is ``known`` of
    storages, unless more is known of that already."""
    told = known.get(result.storage.id, Expected())
    if name not in _ARITHMETIC or told.mean is not None or told.step is not None:
        return
    made, others = _operand(known, operands[0]), [-1] if name == "neg" else operands[1:]
    for law, operand in zip(_ARITHMETIC[name], others):
        made = made if operand is None else law(made, _operand(known, operand))
    if made != Expected():
        known[result.storage.id] = replace(made, counted=told.counted, ordered=told.ordered, numbers=told.numbers)


def _operand(known: Mapping[int, Expected], operand: Any) -> Expected:
    """What ``operand`` holds; a number is a tensor of equal ones."""
    if isinstance(operand, Tensor):
        return seen_through(operand, known.get(operand.storage.id, Expected()))
    return filled(operand)


def _sum(sign: int) -> Callable[[Expected, Expected], Expected]:
    """The law of sums, or of differences."""

    def law(a: Expected, b: Expected) -> Expected:
        mean = None if a.mean is None or b.mean is None else a.mean + sign * b.mean
        step = None if a.step is None or b.step is None else a.step + sign * b.step
        return Expected(mean, step, math.hypot(a.spread, b.spread), equal=a.equal and b.equal)

    return law


def _product(a: Expected, b: Expected) -> Expected:
    if a.equal:
        a, b = b, a
    if not b.equal or b.mean is None:
        return Expected(None if a.mean is None or b.mean is None else a.mean * b.mean)
    return _scaled(a, b.mean)


def _quotient(a: Expected, b: Expected) -> Expected:
    if not b.equal or not b.mean:
        return Expected()
    if a.equal and a.mean is not None:
        return filled(int(a.mean // b.mean))
    scaled = _scaled(a, 1 / b.mean)
    # Rounding takes half of all but one off.
    lost = (1 - 1 / abs(b.mean)) / 2
    return scaled if scaled.mean is None else replace(scaled, mean=scaled.mean - lost)


def _remainder(a: Expected, b: Expected) -> Expected:
    """Numbers in a row, or spread wider than the divisor, leave each rest alike."""
    if not b.equal or b.mean is None or b.mean < 1 or not (abs(a.step or 0) == 1 or 2 * a.spread >= b.mean):
        return Expected()
    return Expected((b.mean - 1) / 2, spread=(b.mean - 1) / 2, equal=b.mean == 1)


def _scaled(a: Expected, factor: float) -> Expected:
    mean, step = (None if one is None else one * factor for one in (a.mean, a.step))
    return Expected(mean, step, abs(factor) * a.spread, equal=a.equal)


def _bounded(pick: Callable[[float, float], float]) -> Callable[[Expected, Expected], Expected]:
    """The law of ``min`` or ``max`` with a number."""

    def law(a: Expected, b: Expected) -> Expected:
        if a.equal:
            a, b = b, a
        if not b.equal or a.mean is None or b.mean is None:
            return Expected()
        low, high = (pick(a.mean + side * a.spread, b.mean) for side in (-1, 1))
        return Expected((low + high) / 2, spread=(high - low) / 2, equal=low == high)

    return law


_Law = Callable[[Expected, Expected], Expected]
#: What functions make of numbers in the mean and of each operand behind these.
_ARITHMETIC: Mapping[str, tuple[_Law, ...]] = {
    **dict.fromkeys(("sub", "subtract"), (_sum(-1),)), **dict.fromkeys(("mul", "multiply", "neg"), (_product,)),
    "add": (_sum(1),), "floor_divide": (_quotient,), "remainder": (_remainder,),
    **dict.fromkeys(("clamp", "clip"), (_bounded(max), _bounded(min))),
    **dict.fromkeys(("clamp_min", "maximum"), (_bounded(max),)),
    **dict.fromkeys(("clamp_max", "minimum"), (_bounded(min),)),
}  # fmt: skip


def listed(numbers: Any) -> Expected:
    """What a tensor made of a list of integers holds."""
    if not isinstance(numbers, (list, tuple)) or not numbers or not all(isinstance(one, int) for one in numbers):
        return Expected()
    apart = (numbers[-1] - numbers[0]) / max(1, len(numbers) - 1)
    steps = [b - a for a, b in pairwise(numbers)] if numbers[0] == 0 and numbers == sorted(numbers) else numbers
    spread = (max(steps) - min(steps)) / 2 if steps else 0.0
    return Expected(sum(numbers) / len(numbers), apart, spread, equal=len(set(numbers)) == 1, numbers=kept(numbers))


def in_order(drawn: Expected, count: int | None) -> Expected:
    """What ``count`` numbers that were ``drawn`` are once they are sorted: as far apart as so many in their range."""
    if drawn.mean is None or drawn.step is not None or not count:
        return Expected(ordered=True)
    step = 2 * drawn.spread / count
    return Expected(drawn.mean, step, step, drawn.equal, ordered=True)


#: Kinds of operations whose results are counted where all that they read is, and those among them that put neighbours apart.
_COUNTING = frozenset({"elementwise", "cast", "copy", "transpose", "cat", "gather"})
_SCATTERING = frozenset({"remainder", "fmod", "bitwise_xor", "bitwise_not", "pow"})


def _is_counted(known: Mapping[int, Expected], name: str, kind: str, reads: tuple[Tensor, ...]) -> bool:
    """Whether the neighbours of a result are still near each other: those of multiples along a single axis are not, nor those
    of a view whose axes have changed places."""
    name = name.strip("_")
    apart = name in _SCATTERING or (name == "mul" and any(len(x.shape or ()) == 1 for x in reads))
    counted = all(known.get(x.storage.id, Expected()).counted and _step(x) in (0, 1) for x in reads)
    return counted and not apart and (kind in _COUNTING or name in _IN_PLACE)


#: Functions of a tensor and a number that keep to the order of its elements, or turn it round.
_MONOTONE = frozenset(
    "add sub mul floor_divide bitwise_right_shift clamp clamp_min clamp_max repeat_interleave clone contiguous".split()
)


def follow(
    known: dict[int, Expected], name: str, kind: str, reads: tuple[Tensor, ...], writes: tuple[Tensor, ...]
) -> None:
    """Add what the torch operation ``name`` makes of tensors that are ``known``, by storage, to these."""
    made = _made(known, name, kind, reads) if reads else Expected()
    if reads:
        counted, ordered = _is_counted(known, name, kind, reads), _is_ordered(known, name, kind, reads)
        made = replace(made, counted=counted, ordered=ordered, numbers=None)
    for target in writes:
        if made == Expected():
            known.pop(target.storage.id, None)
        elif made.equal or target.strides in (None, (1,)):
            known[target.storage.id] = made
        else:
            known[target.storage.id] = replace(made, step=None)


def _is_ordered(known: Mapping[int, Expected], name: str, kind: str, reads: tuple[Tensor, ...]) -> bool:
    """Whether what an operation makes goes one way: it keeps to the order of what it reads."""
    if name in ("searchsorted", "bucketize"):
        source = reads[-1 if name == "searchsorted" else 0]
    elif len(reads) == 1 and (name in _MONOTONE or kind == "cast"):
        (source,) = reads
    else:
        return False
    return len(source.shape or ()) == 1 and known.get(source.storage.id, Expected()).ordered


def _made(known: Mapping[int, Expected], name: str, kind: str, reads: tuple[Tensor, ...]) -> Expected:
    """What the torch operation ``name`` makes of ``reads``."""
    source = max(reads, key=lambda x: x.numel or 0)
    seen = seen_through(source, known.get(source.storage.id, Expected()))
    if name == "cumsum" and len(source.shape or ()) == 1:
        return Expected(step=seen.mean, spread=seen.spread)
    if name == "diff":
        return Expected(seen.step, spread=seen.spread)
    if name == "sub" and len(reads) == 2 and reads[0].storage.id == reads[1].storage.id:
        apart, behind = concrete(reads[0].offset - reads[1].offset), known.get(source.storage.id, Expected())
        if apart is None or behind.step is None:
            return Expected()
        return Expected(apart * behind.step, spread=behind.spread * math.sqrt(abs(apart)))
    if kind == "cast" or name in _IN_PLACE:
        return replace(seen, equal=seen.equal and name not in _JOINING)
    if kind in ("copy", "transpose", "gather") and source is reads[0] and not name.endswith("_"):
        return seen if seen.equal else Expected(seen.mean, spread=seen.spread if seen.step is None else 0.0)
    return Expected()


def _step(view: Tensor) -> int | None:
    """Elements from one to the next along the last axis of more than one."""
    extents = [concrete(extent) for extent in view.shape or ()]
    steps = [concrete(stride) for stride in view.strides or ()]
    return next((step for extent, step in zip(reversed(extents), reversed(steps)) if extent != 1), 0)


def seen_through(view: Tensor, behind: Expected) -> Expected:
    """What ``view`` shows of a storage that holds ``behind``."""
    stride: Any = concrete(view.strides[0]) if view.strides is not None and len(view.strides) == 1 else None
    step = None if behind.step is None or stride is None else behind.step * stride
    return behind if behind.equal else Expected(behind.mean, step, behind.spread)
