"""What every cost term answers with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kernlint.records import dataclass
from kernlint.workload import Launch


@dataclass(frozen=True)
class KernelTime:
    """Predicted device time of one kernel.

    ``us`` is microseconds in a replayed CUDA graph with a warm L2, the kernel's own launch time on the device included.
    ``sigma`` is the standard deviation of ln(measured / predicted) of the model that made it, from its residuals.
    ``bound`` names the term that decides: tensor, memory, l2, latency, issue, launch or atomics. ``terms`` gives each
    term's own microseconds, for people who want to check the sum. ``configuration`` is the alternative of an autotuned
    launch that the time is of, None where it is of the launch itself.
    """

    us: float
    sigma: float
    bound: str
    terms: Mapping[str, float] = field(default_factory=dict)
    configuration: Launch | None = None
    #: The terms come together as the norm of this exponent, above the floor among them.
    norm: float = 4.0
    #: The class of kernels whose residuals make ``sigma``.
    kind: str = ""
