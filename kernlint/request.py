"""What is asked about a program, as one record: the arguments of :func:`kernlint.analyze`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from kernlint.records import dataclass

if TYPE_CHECKING:
    from kernlint.interpret.recorded.recording import Recording

DEFAULT_DEVICE = "h100-sxm"


@dataclass(frozen=True)
class Request:
    """What is asked; :func:`kernlint.analyze` says what each field means, and :func:`kernlint.analysis.read_program` checks them."""

    source: str
    path: str = "kernel.py"
    reference: str | None = None
    reference_path: str = "reference.py"
    device: str | None = None
    scope: str = "gpu"
    entry: str | None = None
    overrides: Mapping[str, Any] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    performance: str | None = None
    performance_path: str = "performance data"
    recording: Recording | None = None
    project: bool = False
