"""Whole programs as strangers write them, against ``h200-medley.csv`` and ``h200-medley-later.csv``, and the terms that they showed to be
missing: hashes, members of structures, places that are counted, numbers that all lanes load."""

from __future__ import annotations

import errors
import pytest
from bench_launches import bench_module, read

from kernlint.cost.device import find_device
from kernlint.cost.dot_launch import kernel_time
from kernlint.cost.programs.constants import constants
from kernlint.cost.traffic.accesses import traffic
from kernlint.workload import Compute, Launch

H200 = find_device("h200")


def launch(kernel: str, number: int = 0, module: str = "medley") -> Launch:
    """The first launch of the ``number``-th case of ``kernel``."""
    cases = [case for case in bench_module(module).cases() if case.term == kernel]
    return read(cases[number].launches[0])


def operations(made: Launch) -> list[str]:
    return [node.op for node in made.kernel.nodes(Compute) if node.elements > 1]


def test_a_hash_of_the_place_is_work() -> None:
    assert {"^", "<<", ">>"} <= set(operations(launch("xorshift")))
    drawn = operations(launch("hashed_drop", module="medley_later"))
    assert drawn.count("^") >= 3


def test_what_only_says_where_to_read_is_none() -> None:
    assert operations(launch("swap_bytes")) == []


def test_multiplications_of_integers_go_on_beside_the_rest() -> None:
    made = launch("mixed_hash", number=3)
    assert 0.7 < kernel_time(made, H200).us / 17.2 < 1.4


def stores(made: Launch) -> list[float]:
    return [access.wanted for access in traffic(made).accesses if access.kind == "store"]


def test_members_of_a_structure_fill_sectors_together() -> None:
    assert min(stores(launch("rotate_points", number=1))) > 0.99
    assert min(stores(launch("complex_product", number=1))) > 0.99
    alone = bench_module("columns").stride_case(1 << 20, "float32", 1, 8, 256)
    assert max(stores(read(alone.launches[0]))) < 0.2


def test_loads_of_members_are_twins() -> None:
    loads = [access for access in traffic(launch("morton", number=1)).accesses if access.kind == "load"]
    assert {access.twins for access in loads} == {3}


def test_what_is_counted_lies_beside_what_was_counted_before() -> None:
    (made,) = [
        access for access in traffic(launch("compact", 1)).accesses if access.kind == "store" and access.access.shape
    ]
    assert made.known and made.sectors * 32 < 2 * made.asked_bytes


def test_a_scatter_through_what_was_read_stays_one() -> None:
    moved = traffic(launch("add_rows"))
    assert [access.gather for access in moved.accesses if access.kind == "atomic"] == [True]


def test_a_number_that_all_lanes_load_is_not_spread_through_shared_memory() -> None:
    made = launch("splat", module="medley_later")
    assert kernel_time(made, H200).terms["latency"] < 64 * 2 * constants().l2_latency_ns / 1000 / 3


@pytest.mark.parametrize(("file", "share"), [("h200-medley.csv", 0.92), ("h200-medley-later.csv", 0.88)])
def test_most_are_within_one_and_a_half(file: str, share: float) -> None:
    found = list(errors.rows(file, step=1 if "later" in file else 4))
    near = sum(abs(row.error) < 0.4055 for row in found)
    assert near / len(found) >= share
