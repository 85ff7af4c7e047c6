"""Kernels that go step by step, each from where the one before came to: what scanning the steps in chunks would take."""

from __future__ import annotations

import math

from kernlint.cost.traffic.accesses import traffic
from kernlint.workload import Atomic, Kernel, Launch, Load, Loop, LoopIndex, Reduce, Store

#: Elements of a program's tile below which a loop over it is a walk of single elements.
_SCALAR = 2
#: Rounds of a loop from which on what goes from one to the next counts as serial.
_LONG = 16


#: Nanoseconds a step where steps are scanned in chunks: of time across the rows of a tile, and along what lies side by side
#: (``scan_strip`` and ``scan_line`` of ``h200-walks.csv``, tiles of 64 x 32 and lines of 4,096).
_CHUNK_STEP_NS, _LINE_STEP_NS = 25.0, 0.5


def is_serial(launch: Launch) -> bool:
    """Whether the kernel walks over elements one by one, or stores in each round of a loop what the next goes on from."""
    return _serial_loop(launch) is not None


def chunks_us(launch: Launch) -> float:
    """Microseconds of the longest chain of a serial kernel whose steps are scanned in chunks; 0 where it is none."""
    found = _serial_loop(launch)
    if found is None:
        return 0.0
    rounds, in_line = found
    return rounds * (_LINE_STEP_NS if in_line else _CHUNK_STEP_NS) / 1000


def is_stepwise(launch: Launch) -> bool:
    """Whether rounds of a loop, one after another, work on all that the rounds before left: no stream of programs and no scan does that.
    They find it in registers (a factorisation, a bisection: what a round reduces was loaded before the first one) or in memory (a table
    of which each row is made from the row before)."""
    trips, kernel = traffic(launch).trips, launch.kernel
    inside = {id(node): loops for node, loops in kernel.walk((Load, Store, Reduce))}

    def rounds(node: Load | Reduce) -> list[Loop]:
        return [loop for loop in inside[id(node)] if trips.get(loop.id, 1.0) >= _LONG]

    for reduce in kernel.nodes(Reduce):
        before = {load.id for load in kernel.nodes(Load)} & reduce.depends
        if before and any(loop.carried and not before & _loaded_in(kernel, loop) for loop in rounds(reduce)):
            return True
    return any(
        store.base == load.base and loop in inside[id(store)] and _stays(load, loop) and _stays(store, loop)
        for load in kernel.nodes(Load)
        for loop in rounds(load)
        for store in kernel.nodes(Store)
    )


def _loaded_in(kernel: Kernel, loop: Loop) -> set[int]:
    """The loads of a round of ``loop``."""
    return {load.id for load, around in kernel.walk(Load) if loop in around}


def _stays(access: Load | Store, loop: Loop) -> bool:
    """Whether each round of ``loop`` comes to the same addresses."""
    return access.offset is not None and access.offset.is_followed and LoopIndex(loop.id) not in access.offset.atoms()


def _serial_loop(launch: Launch) -> tuple[float, bool] | None:
    """(rounds, whether the steps' values lie side by side, for each lane of what walks) of the loop that makes ``launch`` serial."""
    found = traffic(launch)

    def rounds(loops: tuple[Loop, ...]) -> float:
        return math.prod(found.trips.get(loop.id, 1.0) for loop in loops)

    inside = {id(node): loops for node, loops in launch.kernel.walk((Load, Store))}
    for access in found.accesses:
        loops = inside.get(id(access.access), ())
        single = access.access.elements <= _SCALAR
        walks = single and access.kind == "load" and bool(loops) and _scalars_alone(loops[-1])
        around = loops if walks else loops[-1:] if access.kind == "store" else ()
        if any(loop.carried for loop in around) and rounds(around) >= _LONG:
            return rounds(around), _steps_by_one(access.access, around[-1])
    return None


def _steps_by_one(access: Load | Store | Atomic, loop: Loop) -> bool:
    """Whether a turn of ``loop`` takes ``access`` to the neighbour of what it took before."""
    step = access.offset.coefficient(LoopIndex(loop.id)) if access.offset is not None else None
    return step is not None and step.value in (1, -1)


def _scalars_alone(loop: Loop) -> bool:
    """Whether all that ``loop`` itself loads are single elements."""
    return all(node.elements <= _SCALAR for node in loop.body if isinstance(node, Load))
