"""What a child process reported of a program on fake tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kernlint.records import dataclass, replace


@dataclass(frozen=True)
class Recording:
    """What was traced: for ``kernel`` and ``reference`` the two calls and the tables that their steps refer to; ``notes`` say
    what was not."""

    traces: Mapping[str, Mapping[str, Any]]
    notes: tuple[str, ...] = ()

    @classmethod
    def of_events(cls, events: Iterable[Mapping[str, Any]]) -> Recording:
        """That of a child's events, those of versions that were not traced to the end left out."""
        calls: dict[str, list[Mapping[str, Any]]] = {}
        traces: dict[str, Mapping[str, Any]] = {}
        for event in events:
            version = event.get("version")
            if not isinstance(version, str):
                continue
            if event.get("event") == "call":
                calls.setdefault(version, []).append(event)
            elif event.get("event") == "tables" and version in calls:
                traces[version] = {"calls": calls[version], "tables": event}
        return cls(traces)

    def noting(self, note: str) -> Recording:
        return replace(self, notes=(*self.notes, note))
