"""The fitted constants, and how far times go astray."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache

from kernlint.cost.fitted import fitted
from kernlint.records import dataclass

#: Two-sided 80 % quantile of the normal distribution.
INTERVAL_80 = 1.2816


#: Sigma where nothing like it was measured, and what comes to that of its class where a kernel does something that was not.
_UNKNOWN_SIGMA = 0.4


@dataclass(frozen=True)
class Constants:
    """Fitted constants of the H100; ``*_ns`` nanoseconds, ``*_gb_per_s`` 10^9 bytes per second, else pure numbers."""

    floor_us: float = 1.0
    norm: float = 4.0
    program_interval_ns: float = 0.604
    program_start_ns: float = 300.0
    words_of_a_bank_per_cycle: float = 1.0
    lines_per_cycle: float = 4.0
    dram_efficiency: float = 0.90
    scattered_dram: float = 1.2
    scattered_store: float = 2.2
    l2_read_gb_per_s: float = 6500.0
    l2_write_gb_per_s: float = 6500.0
    l2_short_row_gb_per_s: float = 4300.0
    l2_partial_write_gb_per_s: float = 1950.0
    #: Not fitted: the middle of ``fields`` in ``h200-orders.csv``.
    l2_field_write_gb_per_s: float = 2750.0
    l2_keeps: float = 0.64
    l2_drops: float = 1.0
    l1_keeps: float = 0.6
    l1_drops: float = 1.4
    sm_gb_per_s: float = 80.0
    l1_latency_ns: float = 30.0
    l2_latency_ns: float = 270.0
    dram_latency_ns: float = 600.0
    step_least: float = 0.18
    step: float = 0.5
    step_exponent: float = 1.3
    vector_exponent: float = 0.75
    step_most: float = 4.0
    stored_step: float = 0.7
    pipelined_iteration_ns: float = 100.0
    loop_iteration_ns: float = 4.0
    loop_slots: float = 0.9
    strided_step: float = 0.65
    sort_slots: float = 6.0
    shuffle_ns: float = 30.0
    barrier_ns: float = 40.0
    store_ns: float = 60.0
    loop_store_ns: float = 20.0
    atomic_ns: float = 190.0
    dependent_issue_ns: float = 2.3
    warp_start_instructions: float = 60.0
    instructions_per_access: float = 4.0
    instructions_per_element: float = 1.0
    arithmetic_cost: float = 0.6
    special_cost: float = 6.0
    issue_efficiency: float = 0.9
    product_slots: float = 4.0
    shuffle_slots: float = 5.0
    indexed: float = 2.5
    exchange_pass_ns: float = 1.5
    bank_conflict: float = 0.5
    spill_traffic: float = 6.5
    collapse_traffic: float = 6.0
    same_address_ns: float = 1.8
    same_line_ns: float = 1.05
    same_line_lane_ns: float = 0.043
    hot_store: float = 0.25
    line_exponent: float = 0.5
    atomics_per_ns: float = 280.0
    scattered_atomics_per_ns: float = 84.0
    row_atomics_per_ns: float = 480.0
    pass_ns: float = 0.73
    unit_bytes: float = 300.0
    unit_exponent: float = 0.8
    integer_address: float = 0.41
    returned: float = 1.35
    compared: float = 1.5
    half_address_ns: float = 4500.0
    half_scalar_ns: float = 18.0
    half_rate: float = 2.6
    ordered: float = 1.6
    store_passes: float = 2.2
    table_keeps: float = 0.43


@lru_cache(maxsize=1)
def fitted_data() -> tuple[Constants, Mapping[str, float]]:
    try:
        data = fitted("programs")
    except FileNotFoundError:
        return Constants(), {}
    known = {field.name for field in fields(Constants)}
    constants = {name: entry["value"] for name, entry in data["constants"].items() if name in known}
    tables = {**data["regimes"], **data["classes"]}
    return Constants(**constants), {name: entry["sigma"] for name, entry in tables.items()}


def constants() -> Constants:
    """The fitted constants."""
    return fitted_data()[0]


def regime_sigma(bound: str, kind: str = "") -> float:
    """Sigma of the ln error of a time that the term ``bound`` decides, for a kernel of the class ``kind`` on a measured device: that of
    kernels of the class that the term decides, else of the class, else of all that the term decides."""
    sigmas = fitted_data()[1]
    found = sigmas.get(f"{kind}|{bound}") or sigmas.get(kind)
    return sigmas.get(bound, _UNKNOWN_SIGMA) if found is None else found


def launch_floor_us() -> float:
    """Microseconds that one empty kernel takes in a replayed graph."""
    return fitted_data()[0].floor_us
