"""Several sizes of one task beside each other: where the best change flips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from kernlint.cost.estimate import MODEL_VERSION
from kernlint.records import dataclass
from kernlint.report.budget import SCHEMA_VERSION
from kernlint.report.grid import Cell, Grid, paint
from kernlint.report.look import PLAIN, Look, printable
from kernlint.verdict.model import Verdict
from kernlint.verdict.speedup import format_speedup, format_us
from kernlint.version import __version__


@dataclass(frozen=True)
class SizeAnswer:
    """The verdict at one size: ``settings`` are the values of the names swept over; ``verdict`` is None where there is
    none, with the reason in ``error``."""

    settings: Mapping[str, Any]
    verdict: Verdict | None
    error: str = ""

    @property
    def change(self) -> str:
        """Code and name of the chosen rule, or ``none``; ``?`` without a verdict."""
        if self.verdict is None:
            return "?"
        rule = self.verdict.details.rule
        return "none" if rule is None else f"{rule.code} {rule.name}"

    @property
    def place(self) -> str:
        return " ".join(f"{name}={value}" for name, value in self.settings.items())

    def to_json(self) -> dict[str, Any]:
        if self.verdict is None:
            return {"settings": dict(self.settings), "error": self.error, "verdict": None}
        details = self.verdict.details
        return {
            "settings": dict(self.settings),
            "error": None,
            "verdict": {
                "worth_optimizing": "yes" if self.verdict.worth_optimizing else "no",
                "rule": None if details.rule is None else details.rule.to_json(),
                "call": details.estimate.call.to_json(),
                "gpu": details.estimate.gpu.to_json(),
                "expected_speedup": self.verdict.expected_speedup,
            },
        }


@dataclass(frozen=True)
class Sweep:
    """The answers of one task at several sizes, in the order they were asked."""

    file: str
    device: str
    scope: str
    answers: tuple[SizeAnswer, ...]

    @property
    def flips(self) -> tuple[tuple[SizeAnswer, SizeAnswer], ...]:
        """Neighbours whose best change differs."""
        known = [answer for answer in self.answers if answer.verdict is not None]
        return tuple((a, b) for a, b in pairwise(known) if a.change != b.change)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready data as ``schema/explain.schema.json`` describes it."""
        return {
            "schema_version": SCHEMA_VERSION,
            "kernlint_version": __version__,
            "model_version": MODEL_VERSION,
            "file": self.file,
            "device": self.device,
            "scope": self.scope,
            "sweep": [answer.to_json() for answer in self.answers],
            "flips": [
                {"from": dict(a.settings), "to": dict(b.settings), "before": a.change, "after": b.change}
                for a, b in self.flips
            ],
        }


def render(sweep: Sweep, look: Look = PLAIN) -> str:
    """The sweep as text."""
    flips = [line for flip in _flips(sweep) for line in look.wrapped(flip)]
    return "\n".join([*look.wrapped(_head(sweep)), "", *paint(_grid(sweep), look), "", *flips]) + "\n"


def _head(sweep: Sweep) -> str:
    return f"{printable(sweep.file)} on {sweep.device}, times of scope {sweep.scope}"


def _grid(sweep: Sweep) -> Grid:
    names = list(sweep.answers[0].settings)
    changes = {id(b) for _, b in sweep.flips}
    rows: list[tuple[Cell, ...]] = []
    for answer in sweep.answers:
        values = [str(answer.settings[name]) for name in names]
        mark = "<- flips" if id(answer) in changes else ""
        rows.append((*values, *_cells(answer, mark)))
    head = (*names, "worth", "change", "before us", "after us", "gain (80 %)", "PyTorch us", "")
    right = frozenset([*range(len(names)), *range(len(names) + 2, len(names) + 6)])
    return Grid(head, tuple(rows), right)


def _cells(answer: SizeAnswer, mark: str) -> tuple[Cell, ...]:
    if answer.verdict is None:
        return ("?", printable(answer.error), "-", "-", "-", "-", "")
    estimate = answer.verdict.details.estimate.chosen
    gain = format_speedup(estimate.low, estimate.high) or "-"
    worth = "yes" if answer.verdict.worth_optimizing else "no"
    times = (format_us(estimate.before_us), format_us(estimate.after_us), gain, format_us(estimate.reference_us))
    return (worth, answer.change, *times, mark)


def _flips(sweep: Sweep) -> Sequence[str]:
    if not sweep.flips:
        return ["The best change is the same at all these sizes."]
    return [f"The best change flips between {a.place} and {b.place}: {a.change} -> {b.change}." for a, b in sweep.flips]
