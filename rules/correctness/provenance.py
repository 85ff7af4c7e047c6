"""Where the contents of a tensor come from: which steps of a call feed it, and whether all of them were followed."""

from __future__ import annotations

from kernlint.workload import HostSync, Launch, TorchOp, Workload


def is_followed(workload: Workload) -> bool:
    """Whether nothing in the call escaped the interpreter, so that the absence of a flow is proven.

    A value that the host reads back may choose what happens, so a call with a host sync does not count.
    """
    for step in workload.all_steps:
        if isinstance(step, Launch) and not step.kernel.complete:
            return False
        if isinstance(step, TorchOp) and step.kind == "unknown":
            return False
        if isinstance(step, HostSync):
            return False
    return not workload.unknowns


def replaces_model(workload: Workload) -> bool:
    """Whether the call stands in for a PyTorch model that is at hand, so that it owes that model's result."""
    return workload.reference is not None and bool(workload.reference.outputs)
