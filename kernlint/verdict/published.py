"""Records as JSON: their fields in their order, with times and ratios rounded as everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from kernlint.verdict.speedup import round_ratio, round_us

#: Fields that are a speedup or an end of its interval; microseconds are in those whose name ends so.
_RATIOS = frozenset({"speedup", "middle", "low", "high"})


class Published:
    """A record that becomes JSON as it is: the keys are its fields."""

    def to_json(self) -> dict[str, Any]:
        return published(self, (field.name for field in fields(self)))  # type: ignore[arg-type]


def published(record: object, names: Iterable[str]) -> dict[str, Any]:
    """The attributes ``names`` of ``record`` as JSON-ready data."""
    return {name: _value(getattr(record, name), name) for name in names}


def _value(value: Any, name: str = "") -> Any:
    if hasattr(value, "to_json"):
        return value.to_json()
    if isinstance(value, Mapping):
        return {key: _value(one) for key, one in value.items()}
    if isinstance(value, (tuple, list)):
        return [_value(one) for one in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return round_ratio(value) if name in _RATIOS else round_us(value) if name.split("_")[-1] == "us" else value
    return value
