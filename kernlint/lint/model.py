"""What a lint run is made of: findings as plain data that can cross processes and lie in a cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from kernlint.records import dataclass

#: From the most to the least severe.
SEVERITIES = ("error", "warning", "info")


def at_least(severity: str, threshold: str) -> bool:
    """Whether ``severity`` is ``threshold`` or worse."""
    return SEVERITIES.index(severity) <= SEVERITIES.index(threshold)


@dataclass(frozen=True, order=True)
class Place:
    """A half-open source range; lines and columns count from 1.

    In a notebook ``cell`` is the number of the cell (from 1, of all kinds) and the lines are those of the cell.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    cell: int | None = None

    @property
    def ends(self) -> tuple[int, int, int, int]:
        """Line, column, end line and end column."""
        return self.line, self.column, self.end_line, self.end_column

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Edit:
    """Replace what stands at ``place`` by ``text``."""

    place: Place
    text: str

    def to_json(self) -> dict[str, Any]:
        return {"location": self.place.to_json(), "text": self.text}


@dataclass(frozen=True)
class Fix:
    """A change of the source that mends a finding; ``applicability`` is ``safe`` or ``unsafe``."""

    message: str
    edits: tuple[Edit, ...]
    applicability: str = "safe"

    def to_json(self) -> dict[str, Any]:
        return {
            "applicability": self.applicability,
            "message": self.message,
            "edits": [edit.to_json() for edit in self.edits],
        }


@dataclass(frozen=True)
class Gain:
    """What the change of a finding is predicted to gain on ``device``: by scope (``gpu``, ``call``) the times before
    and after in microseconds and the speedup (1.0: none) with its 80 % interval."""

    device: str
    scopes: Mapping[str, Mapping[str, float]]

    @property
    def best(self) -> float:
        """The larger of the predicted speedups."""
        return max(numbers["speedup"] for numbers in self.scopes.values())

    @property
    def sure(self) -> bool:
        """Whether the interval of a scope holds no loss."""
        return any(numbers["low"] >= 1 for numbers in self.scopes.values())

    def to_json(self) -> dict[str, Any]:
        return {"device": self.device, **{scope: dict(numbers) for scope, numbers in self.scopes.items()}}


@dataclass(frozen=True)
class Finding:
    """One finding in one file.

    ``file`` is the path as shown to the user, with forward slashes. ``category`` is that of the rule, ``diagnostic``
    for KL9xx. ``kernel`` is the kernel concerned (empty for host code). ``lines`` are the first source lines of
    ``place`` for the excerpt, ``fingerprint`` stays the same when lines move.
    """

    code: str
    name: str
    severity: str
    category: str
    message: str
    file: str
    place: Place
    kernel: str = ""
    evidence: tuple[str, ...] = ()
    advice: str = ""
    gain: Gain | None = None
    fix: Fix | None = None
    fingerprint: str = ""
    lines: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[Any, ...]:
        """The order of reports: by file, place and code."""
        place = self.place
        return (self.file, place.cell or 0, place.line, place.column, self.code, place.end_line, place.end_column)

    def moved(self, file: str) -> Finding:
        """The same finding under another name of the file."""
        return replace(self, file=file)

    def to_json(self) -> dict[str, Any]:
        """The item of ``--output-format json``, as ``check.schema.json`` describes it."""
        return {
            "code": self.code,
            "name": self.name,
            "severity": self.severity,
            "category": self.category,
            "message": self.message,
            "file": self.file,
            "location": self.place.to_json(),
            "kernel": self.kernel or None,
            "evidence": list(self.evidence),
            "advice": self.advice or None,
            "estimate": None if self.gain is None else self.gain.to_json(),
            "fix": None if self.fix is None else self.fix.to_json(),
            "fingerprint": self.fingerprint,
        }

    def to_record(self) -> dict[str, Any]:
        """Everything, for the cache; :meth:`from_record` is the way back."""
        return {**self.to_json(), "lines": list(self.lines)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Finding:
        """Raises ``KeyError`` or ``TypeError`` where ``record`` is no finding."""
        estimate, fix = record["estimate"], record["fix"]
        gain = None
        if estimate is not None:
            gain = Gain(estimate["device"], {s: estimate[s] for s in ("gpu", "call") if s in estimate})
        if fix is not None:
            edits = tuple(Edit(Place(**edit["location"]), edit["text"]) for edit in fix["edits"])
            fix = Fix(fix["message"], edits, fix["applicability"])
        return cls(
            code=record["code"],
            name=record["name"],
            severity=record["severity"],
            category=record["category"],
            message=record["message"],
            file=record["file"],
            place=Place(**record["location"]),
            kernel=record["kernel"] or "",
            evidence=tuple(record["evidence"]),
            advice=record["advice"] or "",
            gain=gain,
            fix=fix,
            fingerprint=record["fingerprint"],
            lines=tuple(record["lines"]),
        )
