"""What was read of a function that stands elsewhere now: every place in it moved with the lines that it was read from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache, partial
from typing import Any, TypeVar

from kernlint.records import replace
from kernlint.workload import Expr, Kernel, Span
from kernlint.workload.values import Values

_T = TypeVar("_T")


class Moves:
    """By how many lines what was read has moved since, each part as a whole."""

    def __init__(self) -> None:
        self._by: dict[tuple[str, int], int] = {}

    def __bool__(self) -> bool:
        return any(self._by.values())

    def note(self, before: Span, now: Span) -> bool:
        """Note that what stood at ``before`` stands at ``now``; false where that is no move of whole lines, or one that what
        stands on the same lines has not made."""
        by = now.line - before.line
        same = before.file, before.column, before.end_line + by, before.end_column
        if same != (now.file, now.column, now.end_line, now.end_column):
            return False
        return all(
            self._by.setdefault((before.file, line), by) == by for line in range(before.line, before.end_line + 1)
        )

    def made(self, value: _T) -> _T:
        """``value`` with its places as they are now."""
        return placed(value, self._place)

    def _place(self, span: Span) -> Span:
        by = self._by.get((span.file, span.line), 0)
        return Span(span.file, span.line + by, span.column, span.end_line + by, span.end_column) if by else span


def placed(value: _T, place: Callable[[Span], Span]) -> _T:
    """``value`` with each of its places as ``place`` gives it."""
    return _Moved(place).of(value)


class _Moved:
    """One value, whose parts may be shared, with its places as ``place`` gives them."""

    def __init__(self, place: Callable[[Span], Span]) -> None:
        self._place = place
        #: By identity, beside what keeps it.
        self._known: dict[int, tuple[Any, Any]] = {}

    def of(self, value: Any) -> Any:
        kind: Any = type(value)
        if kind is Span:
            return self._place(value)
        if kind is tuple or kind is list:
            parts = [self.of(part) for part in value]
            return value if all(a is b for a, b in zip(parts, value)) else kind(parts)
        if kind is dict:
            return {self.of(key): self.of(part) for key, part in value.items()}
        names = _with_places(kind)
        if not names:
            return value
        if id(value) not in self._known:
            changed = {name: self.of(old) for name in names if (old := getattr(value, name)) is not None}
            if kind is Kernel and value.read is not None:
                changed["read"] = partial(self._values, value)
            moved = replace(value, **changed)
            if kind is Kernel:
                vars(moved)["original"] = value.original
            self._known[id(value)] = value, moved
        return self._known[id(value)][1]

    def _values(self, kernel: Kernel) -> Values | None:
        found: Values | None = self.of(kernel.values)
        return found


@cache
def _with_places(kind: type) -> tuple[str, ...]:
    """The fields of a record of ``kind`` that may hold places: those of no plain value."""
    if not is_dataclass(kind) or kind is Expr:
        return ()
    return tuple(field.name for field in fields(kind) if field.type not in _PLAIN)


_PLAIN = frozenset(
    {"str", "int", "float", "bool", "Dtype", "Dtype | None", "Expr", "Expr | None", "Expr | int", "Size", "Size | None"}
    | {"tuple[int, ...]", "tuple[str, ...]", "float | None", "int | None", "frozenset[int]"}
)
