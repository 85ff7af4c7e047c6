"""What verification found: plain frozen data that knows how to become JSON (``details.verification`` of the verdict)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from kernlint.records import dataclass
from kernlint.verdict.published import Published, published

BACKENDS = ("gpu", "interpreter", "compile")
#: The answers, and whether the change is proven by them. What the compiler makes of a change says nothing of its results.
OUTCOMES = {
    "faster": True,
    "inconclusive": True,
    "slower": False,
    "correct": True,
    "incorrect": False,
    "failed": False,
    "lowered": False,
    "unchanged": False,
    "worse": False,
    "not_checkable": False,
}


@dataclass(frozen=True)
class CaseResult(Published):
    """One set of sizes. ``outcome`` is correct, incorrect, failed, not_checkable or skipped; the errors are relative to
    the reference (None: not measured), ``tolerance`` is what that of the changed version may be where it is worst.
    ``factor`` is that from the reference to its result. ``note`` says what is to be said of the version as it was, or why
    the case was skipped."""

    name: str
    sizes: Mapping[str, Any]
    outcome: str
    error_before: float | None = None
    error_after: float | None = None
    tolerance: float | None = None
    factor: float | None = None
    message: str = ""
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        errors = {name: _small(getattr(self, name)) for name in ("error_before", "error_after", "tolerance")}
        factor = None if self.factor is None else round(self.factor, 9)
        return {**super().to_json(), **errors, "factor": factor}


@dataclass(frozen=True)
class Timing(Published):
    """Median times of one call, microseconds, and the ratio of before to after: median and the interval that holds the
    middle 80 % of the pairs."""

    before_us: float
    after_us: float
    speedup: float
    low: float
    high: float
    samples: int


@dataclass(frozen=True)
class Timings(Published):
    """``gpu``: warm, device time; ``gpu_cold``: the same with L2 overwritten before; ``call``: wall time of an eager call.
    ``captured`` is false where the call cannot be captured in a CUDA graph, so that device times hold its gaps."""

    gpu: Timing | None
    gpu_cold: Timing | None
    call: Timing | None
    captured: bool
    peak_bytes_before: int
    peak_bytes_after: int


@dataclass(frozen=True)
class Prediction(Published):
    """What the cost model said of one scope before anything ran; None where it could not tell."""

    before_us: float | None = None
    after_us: float | None = None
    speedup: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class KernelBinary(Published):
    """What the compiler made of one launch. ``mma`` counts matrix instructions by name, ``load_bytes``, ``store_bytes`` and
    ``async_copy_bytes`` memory instructions by width in bytes; ``error`` is set, and nothing else, where it did not compile."""

    version: str
    kernel: str
    num_warps: int | None = None
    num_stages: int | None = None
    registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    mma: Mapping[str, int] = field(default_factory=dict)
    load_bytes: Mapping[str, int] = field(default_factory=dict)
    store_bytes: Mapping[str, int] = field(default_factory=dict)
    async_copy_bytes: Mapping[str, int] = field(default_factory=dict)
    tensor_copies: int = 0
    dot: bool = False
    error: str = ""

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in super().to_json().items() if name != "dot"}


@dataclass(frozen=True)
class ChangeReport(Published):
    """What was proven: the automatic fix with the ``rules`` it followed, or a ``file`` of the user's (then no rules).
    ``numerics`` is the class of rounding differences that is allowed: exact, reordered or changed; ``format`` what the user
    says that the changed version computes in."""

    file: str | None
    rules: tuple[str, ...]
    numerics: str
    format: str | None = None


@dataclass(frozen=True)
class Verification:
    """The answer. ``outcome`` is one of ``OUTCOMES``; ``summary`` one sentence; ``machine`` names releases and, where one
    ran it, the card; ``target`` is the architecture compiled for."""

    backend: str
    outcome: str
    summary: str
    change: ChangeReport
    torch: str
    triton: str
    machine: str | None = None
    target: str | None = None
    reference: str = ""
    cases: tuple[CaseResult, ...] = ()
    timings: Timings | None = None
    predictions: Mapping[str, Prediction] = field(default_factory=dict)
    kernels: tuple[KernelBinary, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS or self.outcome not in OUTCOMES:
            raise ValueError(f"no such backend or outcome: {self.backend}, {self.outcome}")

    @property
    def proven(self) -> bool:
        return OUTCOMES[self.outcome]

    def to_json(self) -> dict[str, Any]:
        names = "backend outcome proven summary change torch triton machine target reference cases timings predictions kernels notes"
        return published(self, names.split())


def _small(value: float | None) -> float | str | None:
    """An error with three significant digits; not a number where nothing finite can say it."""
    if value is None:
        return None
    return float(f"{value:.3g}") if value < float("inf") else "infinite"
