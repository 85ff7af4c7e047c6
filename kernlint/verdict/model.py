"""The verdict: plain frozen data that knows how to become JSON, and nothing about how it was reached.

``schema/verdict.schema.json`` describes the JSON. Field names are those of the schema, except where a key has a space.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from kernlint.records import dataclass
from kernlint.verdict.published import Published, published
from kernlint.verdict.speedup import round_us
from kernlint.version import __version__

#: Raised when a key of the JSON changes its meaning or goes; new keys do not count.
SCHEMA_VERSION = 2

CATEGORIES = ("precision", "tiling", "fusion", "algorithm", "launch", "memory", "none")
SEVERITIES = ("error", "warning", "info")
SCOPES = ("gpu", "call")
#: What an answer rests on: facts from the code, its project and the user; also on assumed ones; or there are none to rest on.
CERTAINTIES = ("proven", "assumed", "unknown")


@dataclass(frozen=True)
class RuleRef(Published):
    """A rule by its ``code`` (KL101) and its kebab-case ``name``."""

    code: str
    name: str


@dataclass(frozen=True)
class Location(Published):
    """A half-open source range, lines and columns from 1; ``symbol`` is the function around it, if any.

    In a Markdown task file the lines are those of the Markdown file.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    symbol: str | None = None


@dataclass(frozen=True)
class ScopeEstimate(Published):
    """Predicted times of one call in one scope, in microseconds.

    ``speedup`` is before over after, ``low`` to ``high`` its 80 % interval. ``reference_us`` is the time of the PyTorch
    reference. ``worth`` is the decision in this scope. A field is None where sizes are symbolic or nothing is known.
    """

    before_us: float | None = None
    after_us: float | None = None
    reference_us: float | None = None
    speedup: float | None = None
    low: float | None = None
    high: float | None = None
    worth: bool | None = None

    def __post_init__(self) -> None:
        for name in ("before_us", "after_us", "reference_us", "speedup", "low", "high"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a non-negative number, not {value}")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"an interval from {self.low} to {self.high} is upside down")


@dataclass(frozen=True)
class EstimateReport(Published):
    """What one change gains on ``device`` at ``sizes`` (name to value), in both scopes; ``scope`` is the chosen one.

    ``gpu`` is device time of one call, as in a replayed CUDA graph; ``call`` is wall time per call of an eager loop.
    ``assumptions`` say which facts did not come from code.
    """

    device: str
    scope: str
    sizes: Mapping[str, int]
    call: ScopeEstimate
    gpu: ScopeEstimate
    assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.scope not in SCOPES:
            raise ValueError(f"scope is one of {', '.join(SCOPES)}, not {self.scope!r}")

    @property
    def chosen(self) -> ScopeEstimate:
        """The estimate of the chosen scope."""
        return self.gpu if self.scope == "gpu" else self.call


@dataclass(frozen=True)
class FixReport(Published):
    """Whether `kernlint fix` can make the chosen change, and what it does beside making the code faster.

    ``applicability`` is safe or unsafe (needs --unsafe-fixes), ``numerics`` exact, reordered or changed, ``memory`` what
    becomes of peak device memory: less, same or more. Where it is not ``automatic`` these are None and ``reason`` says
    why; else ``reason`` says why it is unsafe, if it is.
    """

    automatic: bool
    applicability: str | None = None
    numerics: str | None = None
    memory: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class FollowUp(Published):
    """A further change worth doing once the chosen one is in: its gain is counted from there."""

    rule: RuleRef
    change: str
    estimate: EstimateReport


@dataclass(frozen=True)
class FindingReport(Published):
    """One finding of one rule. ``evidence`` lists the values that prove it; ``estimate`` is None where no time is at
    stake or none can be predicted."""

    rule: RuleRef
    severity: str
    message: str
    location: Location
    evidence: tuple[str, ...] = ()
    estimate: EstimateReport | None = None

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES:
            raise ValueError(f"severity is one of {', '.join(SEVERITIES)}, not {self.severity!r}")


@dataclass(frozen=True)
class MeasuredKernel(Published):
    """A kernel that the user has measured: the profiler's ``name``, the ``step`` of the call that it is (None: not
    recognised), mean microseconds of one of its ``calls`` runs, measured and predicted, and its counters."""

    name: str
    step: str | None
    time_us: float | None
    predicted_us: float | None
    calls: int
    counters: Mapping[str, float] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        counters = {name: round(value, 2) for name, value in sorted(self.counters.items())}
        return {**super().to_json(), "counters": counters}


@dataclass(frozen=True)
class MeasuredReport(Published):
    """What the user has measured: ``source`` is the form it came in, ``device`` the card as the tool names it (empty: not
    said), ``call_us`` and ``reference_us`` whole calls of the code and of the PyTorch reference."""

    source: str
    device: str = ""
    call_us: float | None = None
    reference_us: float | None = None
    kernels: tuple[MeasuredKernel, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "device": self.device or None}


@dataclass(frozen=True)
class CauseReport(Published):
    """One thing that keeps a call from its achievable time. ``us`` is its part of the gap where all causes are removed one after
    another, ``alone_us`` what removing it alone would save; microseconds of device time. ``step`` is the kernel or function."""

    cause: str
    category: str
    us: float
    alone_us: float
    step: str
    location: Location
    evidence: str = ""


@dataclass(frozen=True)
class HeadroomReport:
    """What the call could take: ``bound_us`` at the limits of the hardware, ``achievable_us`` (low, middle, high; an 80 % interval)
    in a well-written version of the same computation, ``library_us`` in torch's own kernels for the reference (None without one).
    ``changed_us`` is the achievable time where fp32 products may be made in tf32, None where that changes nothing. ``closed`` is
    the part of the gap between now and the achievable that the chosen change closes, 0 without one. ``witness`` says what a
    well-written version looks like. Microseconds of device time."""

    now_us: float
    bound_us: float
    achievable_us: tuple[float, float, float]
    library_us: float | None
    changed_us: float | None
    causes: tuple[CauseReport, ...]
    closed: float
    witness: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        low, middle, high = map(round_us, self.achievable_us)
        return {
            "now_us": round_us(self.now_us),
            "bound_us": round_us(self.bound_us),
            "achievable_us": {"low": low, "middle": middle, "high": high},
            "library_us": round_us(self.library_us),
            "changed_numerics": None if self.changed_us is None else {"achievable_us": round_us(self.changed_us)},
            "causes": [cause.to_json() for cause in self.causes],
            "closed": round(self.closed, 2),
            "witness": list(self.witness),
        }


@dataclass(frozen=True)
class AssumedFact(Published):
    """A fact that was assumed: the type or the size ``value`` of ``name``. ``source`` is the kind of evidence for it, ``evidence``
    what was seen."""

    name: str
    value: str | int
    source: str
    evidence: str

    def __str__(self) -> str:
        return f"{self.name} {self.value}" if isinstance(self.value, str) else f"{self.name}={self.value}"


@dataclass(frozen=True)
class Scenario:
    """A call with open facts assumed, and the answer for it: ``worth`` in the chosen scope, ``before_us`` microseconds of a call,
    the ``change`` that is best there (empty without one) and its ``speedup``."""

    name: str
    facts: tuple[AssumedFact, ...]
    worth: bool
    before_us: float | None
    change: str = ""
    speedup: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "facts": [fact.to_json() for fact in self.facts],
            "worth_optimizing": "yes" if self.worth else "no",
            "before_us": round_us(self.before_us),
            "change": self.change,
            "expected_speedup": self.speedup,
        }


@dataclass(frozen=True)
class Details:
    """What the answer rests on. ``location`` is that of the chosen change (None without one), ``rule`` and ``fix`` are None too where
    a cause was found that no rule knows; ``estimate`` is that of the chosen change, else of the best rejected one, else a speedup of
    1.0. ``certainty`` is one of :data:`CERTAINTIES`; where it is "assumed" the answer is that of the first of ``scenarios``.
    ``headroom`` is None while sizes are open, ``measured`` without performance data, ``verification`` until ``verify``."""

    file: str
    kernel: str | None
    category: str
    rule: RuleRef | None
    location: Location | None
    estimate: EstimateReport
    model_version: str
    follow_ups: tuple[FollowUp, ...] = ()
    findings: tuple[FindingReport, ...] = ()
    measured: MeasuredReport | None = None
    verification: Mapping[str, Any] | None = None
    fix: FixReport | None = None
    headroom: HeadroomReport | None = None
    certainty: str = "proven"
    scenarios: tuple[Scenario, ...] = ()
    kernlint_version: str = __version__
    schema_version: int = field(default=SCHEMA_VERSION)

    def __post_init__(self) -> None:
        if self.category not in CATEGORIES:
            raise ValueError(f"category is one of {', '.join(CATEGORIES)}, not {self.category!r}")
        if self.certainty not in CERTAINTIES:
            raise ValueError(f"certainty is one of {', '.join(CERTAINTIES)}, not {self.certainty!r}")

    def to_json(self) -> dict[str, Any]:
        names = (
            "schema_version kernlint_version model_version file kernel certainty scenarios category rule location fix estimate "
            "headroom follow_ups findings measured verification"
        )
        return published(self, names.split())


@dataclass(frozen=True)
class Verdict:
    """The answer: six texts and what they rest on.

    ``bottleneck``, ``optimisation_method``, ``modification_plan`` and ``expected_speedup`` are empty when it is not
    worth it.
    """

    worth_optimizing: bool
    reason: str
    details: Details
    bottleneck: str = ""
    optimisation_method: str = ""
    modification_plan: str = ""
    expected_speedup: str = ""

    def __post_init__(self) -> None:
        if not self.reason:
            raise ValueError("a verdict needs a reason")
        advice = (self.bottleneck, self.optimisation_method, self.modification_plan, self.expected_speedup)
        if not self.worth_optimizing and any(advice):
            raise ValueError("a verdict of no carries no advice")
        if self.worth_optimizing and not all(advice):
            raise ValueError("a verdict of yes names bottleneck, method, plan and what it gains")

    def to_json(self, details: bool = True) -> dict[str, Any]:
        """The verdict as JSON-ready data, keys in their published order; ``details=False`` leaves the six answers."""
        answer: dict[str, Any] = {
            "worth_optimizing": "yes" if self.worth_optimizing else "no",
            "reason": self.reason,
            "bottleneck": self.bottleneck,
            "optimisation method": self.optimisation_method,
            "modification plan": self.modification_plan,
            "expected_speedup": self.expected_speedup,
        }
        if details:
            answer["details"] = self.details.to_json()
        return answer
