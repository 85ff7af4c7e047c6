"""The bound against every measured micro-benchmark of one launch: physics holds for them too."""

from __future__ import annotations

import pytest
from bench_launches import bench_samples

from kernlint.cost.device import find_device
from kernlint.headroom.bound import bound_of
from kernlint.headroom.graph import graph_of
from kernlint.workload import Tensor, Workload

#: What a clock may be off by.
TOLERANCE = 1.005


def violations(step: int) -> list[tuple[str, float, float]]:
    """(name, bound, measured) of the rows below their bound, of every ``step``-th."""
    found = []
    for sample in bench_samples(step):
        device = find_device(sample.device)
        launch = sample.launch
        tensors = tuple(value for value in launch.arguments.values() if isinstance(value, Tensor))
        bound = bound_of(graph_of(Workload("fact", "fact.py", (launch,), tensors, tensors)), device).us
        if bound > TOLERANCE * sample.us:
            found.append((sample.name, round(bound, 2), sample.us))
    return found


def test_no_fact_is_below_its_bound() -> None:
    assert violations(40) == []


@pytest.mark.accuracy
def test_none_of_all_facts_is() -> None:
    assert violations(1) == []
