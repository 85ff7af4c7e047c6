"""How full a launch makes the multiprocessors, as predicted: what a profiler calls its theoretical and achieved occupancy."""

from __future__ import annotations

from kernlint.cost.device import Device
from kernlint.cost.dot_launch import dot_loop
from kernlint.cost.dot_occupancy import resident_programs
from kernlint.cost.programs.price import price_of
from kernlint.cost.traffic.accesses import traffic
from kernlint.records import dataclass
from kernlint.workload import Launch


@dataclass(frozen=True)
class Occupancy:
    """``programs`` in the grid, of ``warps`` each, of which ``resident`` fit on a multiprocessor at a time. ``possible`` is the share of
    its warps that these are, ``filled`` the share that the grid is enough for, over all multiprocessors."""

    programs: int
    warps: int
    resident: int
    possible: float
    filled: float


def occupancy_of(launch: Launch, device: Device) -> Occupancy | None:
    """The :class:`Occupancy` of ``launch``; None where its grid is open, or it launches nothing."""
    programs = launch.programs
    if not programs or launch.num_warps < 1:
        return None
    loop = dot_loop(launch, traffic(launch)) if launch.kernel.dots() else None
    resident = price_of(launch, device).resident if loop is None else resident_programs(loop, device)
    most = max(1, device.max_warps_per_sm // launch.num_warps)
    resident = min(resident, most)
    filled = min(float(resident), programs / device.sm_count)
    share = launch.num_warps / device.max_warps_per_sm
    return Occupancy(programs, launch.num_warps, resident, min(1.0, resident * share), min(1.0, filled * share))
