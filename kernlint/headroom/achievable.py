"""The time of a well-written version of the same computation."""

from __future__ import annotations

from kernlint.cost.device import Device
from kernlint.headroom.graph import graph_of
from kernlint.headroom.groups import groups_of
from kernlint.headroom.witness import Witness, witness_of
from kernlint.workload import Workload


def witnesses(workload: Workload, device: Device, precise: bool) -> list[Witness]:
    """A well-written launch, or a few, for each fusion group of ``workload``."""
    graph = graph_of(workload)
    return [witness_of(graph, group, device, precise) for group in groups_of(graph)]
