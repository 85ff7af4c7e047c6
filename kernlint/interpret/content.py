"""What values say, wherever they stand in the source: equal for those that differ in nothing but their places."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from hashlib import blake2b
from operator import attrgetter, eq
from typing import Any

from kernlint.interpret.edits import Literal
from kernlint.records import dataclass
from kernlint.workload import Expr, Kernel, Span


@dataclass(frozen=True)
class Content:
    """A ``digest`` of what a value says, without its ``places``, which come in the order in which it names them."""

    digest: bytes
    places: tuple[Span, ...]

    def moved_to(self, now: Content) -> Mapping[Span, Span] | None:
        """Where ``now``, which says the same, has each of the places of this; None where what was one place is no longer."""
        moved = dict(zip(self.places, now.places))
        return moved if all(map(eq, map(moved.__getitem__, self.places), now.places)) else None


def content_of(value: Any) -> Content | None:
    """What ``value``, made of records and plain data without sets of places, says; None where it holds anything else."""
    file = io.BytesIO()
    writer = _Writer(file, protocol=pickle.HIGHEST_PROTOCOL)
    try:
        writer.dump(value)
    except (pickle.PicklingError, AttributeError, TypeError, ValueError, RecursionError):
        return None
    return Content(blake2b(file.getbuffer(), digest_size=16).digest(), tuple(writer.places))


class _Writer(pickle.Pickler):
    """Writes records as their fields alone: without what they have worked out so far, and without places."""

    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol)
        self.fast = True  # equal parts are written alike whether they are one object or not
        self.places: list[Span] = []

    def reducer_override(self, value: Any) -> Any:
        kind: Any = type(value)
        if kind is Span:
            self.places.append(value)
            return Span, ()
        if kind is Literal:
            self.places.append(value.span)
            return int, (int(value),)
        if kind is Expr:
            return Expr, (value.terms,)
        parts = _parts(kind)
        return NotImplemented if parts is None else (kind, parts(value))


#: What a kernel tells when somebody asks for it.
_TOLD = {"read": "values", "tell_arbitrary": "arbitrary"}


@cache
def _parts(kind: type) -> Callable[[Any], Sequence[Any]] | None:
    """What gives the fields of a record of ``kind``; None for other things."""
    if not is_dataclass(kind):
        return None
    if not kind.__module__.startswith("kernlint."):
        raise pickle.PicklingError(f"{kind.__qualname__}, which may be a part of a tree")
    told = _TOLD if kind is Kernel else {}
    names = [told.get(field.name, field.name) for field in fields(kind)]
    found = attrgetter(*names, "__class__")  # of one name alone it would be no tuple
    return lambda value: found(value)[:-1]
