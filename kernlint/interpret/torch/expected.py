"""What integers the tensors of a program hold in the mean, from the draw or the number that they begin with to the kernels that loop
up to them: ``ends[1:] = randint(0, 21, (n,)).cumsum(0)`` rises by ten from element to element, and ``ends[1:] - ends[:-1]`` is ten."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernlint.interpret.python.arguments import Args, Kwargs
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
    return Expected(None if low is None or high is None else (low + high - 1) / 2)


def filled(number: Any) -> Expected:
    """What ``full(size, number)`` gives."""
    value = concrete(number) if isinstance(number, (int, Expr)) else None
    return Expected() if value is None else Expected(value, 0.0, equal=True)


def listed(numbers: Any) -> Expected:
    """What a tensor made of a list of integers holds."""
    if not isinstance(numbers, (list, tuple)) or not numbers or not all(isinstance(one, int) for one in numbers):
        return Expected()
    apart = (numbers[-1] - numbers[0]) / max(1, len(numbers) - 1)
    return Expected(sum(numbers) / len(numbers), apart, equal=len(set(numbers)) == 1)


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
        made = replace(made, counted=counted, ordered=ordered)
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
    seen = _through(source, known.get(source.storage.id, Expected()))
    if name == "cumsum" and len(source.shape or ()) == 1:
        return Expected(step=seen.mean)
    if name == "diff":
        return Expected(seen.step)
    if name == "sub" and len(reads) == 2 and reads[0].storage.id == reads[1].storage.id:
        apart, each = concrete(reads[0].offset - reads[1].offset), known.get(source.storage.id, Expected()).step
        return Expected(None if apart is None or each is None else apart * each)
    if kind == "cast" or name in _IN_PLACE:
        return replace(seen, equal=seen.equal and name not in _JOINING)
    if kind in ("copy", "transpose", "gather") and source is reads[0] and not name.endswith("_"):
        return seen if seen.equal else Expected(seen.mean)
    return Expected()


def _step(view: Tensor) -> int | None:
    """Elements from one to the next along the last axis of more than one."""
    extents = [concrete(extent) for extent in view.shape or ()]
    steps = [concrete(stride) for stride in view.strides or ()]
    return next((step for extent, step in zip(reversed(extents), reversed(steps)) if extent != 1), 0)


def _through(view: Tensor, behind: Expected) -> Expected:
    """What ``view`` shows of a storage that holds ``behind``."""
    stride: Any = concrete(view.strides[0]) if view.strides is not None and len(view.strides) == 1 else None
    step = None if behind.step is None or stride is None else behind.step * stride
    return behind if behind.equal else Expected(behind.mean, step)
