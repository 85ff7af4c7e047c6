"""What every cost term answers with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property

from kernlint.records import dataclass
from kernlint.workload import Launch, Step, TorchOp


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
    #: The share of the instructions that each access takes, by its identity.
    asking: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True)
class StepTime:
    """One step's part in a call.

    ``count`` is how often it runs in one call, ``gpu_us`` and ``host_us`` are microseconds of one run, ``bound`` the
    deciding term, ``sigma`` the standard deviation of ln(measured / predicted) of ``gpu_us``, ``terms`` the named
    microseconds behind it, ``family`` the group of steps whose errors move together, ``configuration`` the alternative of
    an autotuned launch that the time is of, ``kind`` the class of kernels whose residuals make ``sigma``.
    """

    step: Step
    count: float
    gpu_us: float
    host_us: float
    bound: str
    sigma: float
    terms: Mapping[str, float] = field(default_factory=dict)
    family: str = ""
    configuration: Launch | None = None
    kind: str = ""

    @cached_property
    def total_gpu_us(self) -> float:
        """Device microseconds of all runs in one call."""
        return self.count * self.gpu_us

    @cached_property
    def total_host_us(self) -> float:
        """Host microseconds of all runs in one call."""
        return self.count * self.host_us

    @cached_property
    def action(self) -> str:
        """The kind of what the host does for it."""
        return f"torch {self.step.kind}" if isinstance(self.step, TorchOp) else type(self.step).__name__
