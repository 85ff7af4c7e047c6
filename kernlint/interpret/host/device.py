"""What a program learns of the device that it runs on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kernlint.interpret.values import Unknown
from kernlint.records import dataclass

if TYPE_CHECKING:
    from kernlint.interpret.host.evaluator import HostEvaluator


@dataclass(frozen=True)
class HostFacts:
    """What the analysed program would learn of the device by asking torch."""

    sm_count: int = 132
    capability: tuple[int, int] = (9, 0)
    backend: str = "cuda"
    #: The most shared memory that a program may have, and that a multiprocessor has, in bytes.
    shared_block: int = 232448
    shared_sm: int = 233472


#: What code learns that asks whether there is a GPU: there is one, the device in question.
OF_THE_GPU: Mapping[str, Any] = {
    "torch.cuda.is_available": True, "torch.cuda.is_bf16_supported": True, "torch.cuda.device_count": 1,
    "torch.cuda.current_device": 0,
}  # fmt: skip


def device_properties(h: HostEvaluator) -> dict[str, Any]:
    return {
        "multi_processor_count": h.facts.sm_count,
        "multiprocessor_count": h.facts.sm_count,
        "major": h.facts.capability[0],
        "minor": h.facts.capability[1],
        "warp_size": 32,
        "warpSize": 32,
        "sm_count": h.facts.sm_count,
        "max_shared_mem": h.facts.shared_block,
        "shared_memory_per_block_optin": h.facts.shared_block,
        "shared_memory_per_multiprocessor": h.facts.shared_sm,
    }


def current_target(h: HostEvaluator) -> dict[str, Any]:
    """What ``triton.runtime.driver.active.get_current_target()`` says."""
    major, minor = h.facts.capability
    known = h.facts.backend == "cuda"
    arch: Any = major * 10 + minor if known else Unknown("arch")
    return {"backend": h.facts.backend, "arch": arch, "warp_size": 32 if known else 64}
