"""The numbers in small tensors of integers, one by one, where the program spells them out: the lengths and the offsets of sequences, which
grids and shapes rest on. ``max`` of ``lens`` is 96 where ``lens = torch.tensor([70, 96])``, and three blocks of 32 are launched."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kernlint.interpret.torch.arguments import tensors_in
from kernlint.interpret.torch.limits import limits
from kernlint.workload import Tensor, concrete
from kernlint.workload.tensor import Expected

#: Numbers of one tensor that are kept.
MOST = 64

_Numbers = tuple[int, ...]


def kept(numbers: Iterable[Any]) -> _Numbers | None:
    """``numbers`` as what a tensor holds; None where there are too many, or where they are no plain integers."""
    found = tuple(itertools.islice(numbers, MOST + 1))
    whole = all(isinstance(one, int) and not isinstance(one, bool) for one in found)
    return found if whole and len(found) <= MOST else None


def shown(known: Mapping[int, Expected], view: Tensor) -> _Numbers | None:
    """The numbers that ``view`` shows, row by row; None where they are not ``known``, by storage."""
    held, extents = known.get(view.storage.id), view.extents
    if held is None or held.numbers is None or extents is None or (view.numel or 0) > MOST:
        return None
    start, strides = concrete(view.offset), tuple(map(concrete, view.strides or ()))
    if start is None or None in strides or len(strides) != len(extents):
        return None
    places = [start + sum(map(operator.mul, index, strides)) for index in itertools.product(*map(range, extents))]
    inside = all(0 <= place < len(held.numbers) for place in places)
    return tuple(held.numbers[place] for place in places) if inside else None


def made(
    known: Mapping[int, Expected], name: str, args: list[Any], kwargs: Mapping[str, Any], target: Tensor
) -> _Numbers | None:
    """What the torch function ``name`` of ``args`` puts into the new tensor ``target``; None where that is not known."""
    values = [_value(known, one) for one in args]
    tensors = tensors_in(args)
    told = None not in values and not tensors_in(list(kwargs.values())) and bool(tensors)
    found = _result(name, values, kwargs, tensors[0], target) if told else None
    numbers = kept(found) if found is not None else None
    if numbers is None or target.dtype is None or not target.dtype.is_integer or len(numbers) != target.numel:
        return None
    span = limits(target.dtype)
    return numbers if all(span["min"] <= one <= span["max"] for one in numbers) else None


def _value(known: Mapping[int, Expected], given: Any) -> Any:
    if isinstance(given, Tensor):
        return shown(known, given)
    if isinstance(given, (list, tuple)):
        parts = [_value(known, one) for one in given]
        return None if None in parts else parts
    return given


_OF_TWO: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "maximum": max, "minimum": min,
    "floor_divide": operator.floordiv, "remainder": operator.mod,
}  # fmt: skip
_OF_ALL: dict[str, Callable[[Iterable[int]], int]] = {"max": max, "min": min, "amax": max, "amin": min, "sum": sum}
#: Functions that move a tensor or change its type, whatever else they are given.
_SAME = frozenset("to cuda cpu int long clone contiguous tensor as_tensor type".split())


def _result(
    name: str, values: list[Any], kwargs: Mapping[str, Any], first: Tensor, target: Tensor
) -> Iterable[int] | None:
    flat = len(first.shape or ()) == 1
    if name in _SAME and isinstance(values[0], tuple):
        return values[0]
    if name in _OF_TWO and len(values) == 2 and not kwargs:
        return _elementwise(_OF_TWO[name], values[0], values[1])
    if name == "neg" and len(values) == 1:
        return [-one for one in values[0]]
    alone = values[0] and isinstance(values[0], tuple) and not any(isinstance(one, tuple) for one in values[1:])
    if name in _OF_ALL and target.shape == () and alone:
        return [_OF_ALL[name](values[0])]
    if name == "cumsum" and flat:
        return itertools.accumulate(values[0])
    if name == "diff" and flat and len(values) == 1 and not kwargs:
        return [b - a for a, b in itertools.pairwise(values[0])]
    if name == "pad" and flat and len(values) == 2 and not kwargs and isinstance(values[1], list):
        before, after = values[1] if len(values[1]) == 2 else (-1, -1)
        return [*[0] * before, *values[0], *[0] * after] if min(before, after) >= 0 else None
    if name in ("cat", "concat", "concatenate") and flat and isinstance(values[0], list):
        whole = all(isinstance(part, tuple) for part in values[0])
        return [one for part in values[0] for one in part] if whole else None
    return None


def _elementwise(function: Callable[[int, int], int], a: Any, b: Any) -> list[int] | None:
    """``function`` of tensors of one size, or of a tensor and a number."""
    size = len(a) if isinstance(a, tuple) else len(b) if isinstance(b, tuple) else 0
    left, right = (one if isinstance(one, tuple) else (one,) * size for one in (a, b))
    whole = all(isinstance(one, int) for one in (*left, *right))
    if not whole or len(left) != len(right) or (function in (operator.floordiv, operator.mod) and 0 in right):
        return None
    return list(map(function, left, right))
