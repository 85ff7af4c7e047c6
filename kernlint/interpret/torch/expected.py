"""What integers the tensors of a program hold in the mean, from the draw that they begin with to the kernels that loop up to them:
``ends[1:] = randint(0, 21, (n,)).cumsum(0)`` rises by ten from element to element, and ``ends[1:] - ends[:-1]`` is ten."""

from __future__ import annotations

from typing import Any

from kernlint.interpret.python.arguments import Args, Kwargs
from kernlint.workload import Expr, Tensor, concrete
from kernlint.workload.steps import Expected

#: Operations that leave each element where it is among its neighbours; other copies keep the elements alone.
_IN_PLACE = frozenset({"copy_", "setitem", "cat", "pad", "contiguous", "clone"})


def drawn(args: Args, kwargs: Kwargs) -> Expected:
    """What ``randint(high, size)`` and ``randint(low, high, size)`` give: the middle of their bounds."""
    given = [kwargs.get("low", 0), kwargs.get("high")]
    ends = [value for value in args[:2] if not isinstance(value, (tuple, list))]
    ends = [0, *ends] if len(ends) == 1 and "high" not in kwargs else [*ends, *given[len(ends) :]]
    low, high = (concrete(end) if isinstance(end, (int, Expr)) else None for end in ends)
    return Expected(None if low is None or high is None else (low + high - 1) / 2)


def follow(
    known: dict[int, Expected], name: str, kind: str, reads: tuple[Tensor, ...], writes: tuple[Tensor, ...]
) -> None:
    """Add what the torch operation ``name`` makes of tensors that are ``known``, by storage, to these."""
    source = max(reads, key=lambda x: x.numel or 0)
    seen = _through(source, known.get(source.storage.id, Expected()))
    made = Expected()
    if name == "cumsum" and len(source.shape or ()) == 1:
        made = Expected(step=seen.mean)
    elif name == "diff":
        made = Expected(seen.step)
    elif name == "sub" and len(reads) == 2 and reads[0].storage.id == reads[1].storage.id:
        apart, each = concrete(reads[0].offset - reads[1].offset), known.get(source.storage.id, Expected()).step
        made = Expected(None if apart is None or each is None else apart * each)
    elif kind == "cast" or name in _IN_PLACE:
        made = seen
    elif kind in ("copy", "transpose", "gather") and source is reads[0]:
        made = Expected(seen.mean)
    for target in writes:
        if made != Expected():
            known[target.storage.id] = made if target.strides == (1,) else Expected(made.mean)
        else:
            known.pop(target.storage.id, None)


def _through(view: Tensor, behind: Expected) -> Expected:
    """What ``view`` shows of a storage that holds ``behind``."""
    stride: Any = concrete(view.strides[0]) if view.strides is not None and len(view.strides) == 1 else None
    return Expected(behind.mean, None if behind.step is None or stride is None else behind.step * stride)
