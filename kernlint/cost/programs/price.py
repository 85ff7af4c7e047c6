"""Device time of a kernel without tensor-core work: streaming, row reductions, gathers, scans, atomics, FMA loops.

The time is ``floor + (sum of term^p)^(1/p)`` over named terms: terms of different units overlap, so the largest decides
and a near tie costs a little more. Each term is a resource and what the kernel asks of it:

launch   programs x the interval at which the card starts programs (about 0.6 ns, whatever the warps: ``copy_block``
         with 32-element blocks streams 0.4 TB/s)
memory   bytes that miss L2 / DRAM bandwidth. In a warm graph replay a footprint under about two thirds of L2 misses
         nothing, one above L2 everything (``copy_block`` 33 MB: 5.3 TB/s, 67 MB: 2.9 TB/s)
l2       sectors x 32 bytes / L2 bandwidth, slower when a row is shorter than two sectors, slowest for partial writes
         (``tile_copy`` 1024 x 1: 4 TB/s read, 1.9 TB/s written)
latency  the dependent path of one program x the waves of resident programs. A load costs a round trip; a streaming
         loop keeps a few loads a thread in flight (ptxas unrolls), ``tl.range(num_stages)`` a stage each; a reduction
         inside the loop exposes the round trip and adds a barrier (``row_loop*``)
lines    what the requests of warps ask of L1: it looks up about three lines of 128 bytes a cycle (``gather_elements``) and reads a word
         from each of its 32 banks, so that lanes a multiple of 128 bytes apart take a cycle each (``walk_rows``, ``strided``)
issue    warp instructions / issue slots, the masked lanes' included (they still occupy their slots); a load that cannot
         be vectorised takes one for each element (``layout.py``)
shared   partial sums that warps exchange through shared memory, element by element (``upcast_product``, axis 1)
atomics  operations on one address, and on one 128-byte line, serialise; lanes that meet in one address as well (``atomic_*``).
         Through loaded indices a request visits each 32-byte sector that its lanes meet in, once for every lane on the same
         address; the sectors of some 450 neighbouring bytes share a unit that does one visit in 0.7 ns (``count``)

Loaded indices are taken to be random. Sigma then reaches down to the time of indices in order, where that is another one.

Tiles that do not fit the registers add their spills to ``l2`` (``registers.py``).

Constants and residuals: ``data/programs.json``, written by ``calibration/fit_memory.py`` from ``h100-micro.csv``,
``h100-micro-2.csv``, ``h100-spilling.csv``, ``h200-lanes.csv``, ``h100-scatter.csv`` and ``h100-stream.csv``.
Other devices scale by their datasheet (bandwidth, SMs, clock, L2 size).
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from kernlint.cost.arithmetic import Operations
from kernlint.cost.arithmetic import operations as measured_operations
from kernlint.cost.classes import class_of, unmeasured
from kernlint.cost.device import Device
from kernlint.cost.programs.atomics import Atomics
from kernlint.cost.programs.constants import INTERVAL_80, Constants, fitted_data, regime_sigma
from kernlint.cost.programs.scale import widen
from kernlint.cost.result import KernelTime
from kernlint.cost.traffic.accesses import in_order, traffic
from kernlint.cost.traffic.model import AccessTraffic, Traffic
from kernlint.records import replace
from kernlint.workload import Atomic, Launch

#: More sigma where loaded indices decide how many atomics meet: ``sorted``, ``near`` and ``few`` of ``h100-scatter.csv``.
_HOT_SIGMA = 0.5
#: How much further than the time of indices in order the interval reaches: some orders are better still (``few``, ``near``).
_ORDER = 1.1
#: More sigma where additions of 16-bit floats are tried until they succeed: fp16 and bf16 differ by up to three.
_RETRY_SIGMA = 0.5
#: More sigma where loops run as long as segments are in the mean: some are longer.
SEGMENT_SIGMA = 0.25


#: More sigma where special functions decide that were not measured or go without a name, by their share of the instructions:
#: ln 4 is the range, most are cheap.
_SPECIAL_SIGMA = 0.5
_UNMEASURED_SIGMA = 0.4


#: More sigma where tiles live in memory: in ``h100-spilling.csv`` such kernels err by a factor 1.5.
_COLLAPSE_SIGMA = 0.4


def program_time(
    launch: Launch,
    device: Device,
    constants: Constants | None = None,
    moved: Traffic | None = None,
    reuse_bytes: Mapping[str, float] | None = None,
    operations: Operations | None = None,
) -> KernelTime:
    """Predicted :class:`KernelTime` of a launch without ``tl.dot``.

    ``constants`` and ``operations`` replace the fitted ones (the fitting scripts' own use), ``moved`` is the launch's traffic where it
    is known already. ``reuse_bytes`` tells for each pointer parameter how many bytes the device touches from the last
    use of that memory to the end of this launch, which decides whether L2 still holds it; without it the launch is
    taken to be replayed alone, so that its own footprint is that distance.

    Symbolic extents count as 1 and unknown loop trips as 16; what was assumed widens sigma. A dot inside is priced as
    FMA work.
    """
    if constants is None:
        constants = fitted_data()[0]
    moved = traffic(launch) if moved is None else moved
    operations = measured_operations() if operations is None else operations
    return Price(launch, moved, device, constants, reuse_bytes or {}, operations).time()


def price_of(launch: Launch, device: Device) -> Price:
    """The terms of a launch without ``tl.dot`` that is replayed alone."""
    return Price(launch, traffic(launch), device, fitted_data()[0], {}, measured_operations())


class Price(Atomics):
    """The terms of one launch on one device."""

    def time(self) -> KernelTime:
        if self.programs == 0:
            return KernelTime(0.0, widen(0.1, self.device), "launch", {})
        us, terms = self.spent()
        bound = max(terms, key=lambda name: terms[name])
        sigma = self._sigma(bound, us)
        terms["floor"] = self._floor_us()
        asking = {access: count / self.instructions for access, count in self.asking.items()}
        kind = class_of(self.launch, self.moved)
        return KernelTime(us, sigma, bound, terms, norm=self.c.norm, kind=kind, asking=asking)

    def spent(self) -> tuple[float, dict[str, float]]:
        """Microseconds of the launch, and those of each term."""
        c, device = self.c, self.device
        # The first program starts with the kernel (floor); each later one on the same slot starts anew.
        path = self.path_ns(self.launch.kernel.body, 1.0)
        path += self._code_ns()
        rounds = self._waves() - 1
        terms = {
            "launch": self.programs * c.program_interval_ns / self.scale.clock / 1000,
            "memory": self.dram_bytes / (device.memory_bandwidth_gb_per_s * c.dram_efficiency) / 1000,
            "l2": self._l2_us(),
            "lines": self._lines_us(),
            "latency": max(self._longest_ns(path), path + rounds * (path + c.program_start_ns)) / 1000,
            "issue": self._issue_us(),
            "shared": self._shared_us(),
            "atomics": self._atomics_us(),
        }
        terms = {name: value * device.factor(name) for name, value in terms.items()}
        norm = self.c.norm
        return self._floor_us() + sum(value**norm for value in terms.values()) ** (1 / norm), terms

    def _longest_ns(self, path: float) -> float:
        """Nanoseconds of the program with the most to do, with which the launch ends, where the mean is ``path``."""
        longest = path
        for trips in self.moved.uneven:
            moved = replace(self.moved, trips={**self.moved.trips, **trips}, uneven=())
            one = Price(self.launch, moved, self.device, self.c, self.reuse_bytes, self.operations)
            longest = max(longest, one.path_ns(self.launch.kernel.body, 1.0) + one._code_ns())
        return longest

    def _floor_us(self) -> float:
        return self.c.floor_us * self.device.factor("floor")

    def _sigma(self, bound: str, us: float) -> float:
        kind = class_of(self.launch, self.moved)
        sigma = max(regime_sigma(bound, kind), self.device.residuals.get(kind, 0.0))
        if kind == "gather":  # where the order of the indices decides little, it still decides something
            sigma = max(sigma, regime_sigma(bound))
        extra = [0.35 * self._unfollowed_share(), self._locality_sigma(us)]
        if bound == "atomics" and any(a.kind == "atomic" and not a.known for a in self.moved.accesses):
            extra.append(_HOT_SIGMA)
        if any(
            a.kind == "atomic" and isinstance(a.access, Atomic) and self._retries(a.access) for a in self.moved.accesses
        ):
            extra.append(_RETRY_SIGMA)
        if self.moved.counted_trips:
            extra.append(SEGMENT_SIGMA)
        if self.moved.unknown_trips:
            extra.append(0.7)
        if not self.launch.kernel.complete:
            extra.append(0.25)
        if self.launch.programs is None:
            extra.append(1.0)
        if self.instructions and bound in ("issue", "latency"):
            extra.append(_SPECIAL_SIGMA * self.special / (self.instructions + self.special_unit))
        if any(self._collapsed(pressure) for pressure in self.pressures):
            extra.append(_COLLAPSE_SIGMA)
        if unmeasured(self.launch):
            extra.append(_UNMEASURED_SIGMA)
        return widen(sigma, self.device, *extra)

    def _unfollowed_share(self) -> float:
        """Share of the moved bytes at addresses that no loaded index explains."""
        total = sum(access.moved_bytes for access in self.moved.accesses)
        unknown = sum(access.moved_bytes for access in self.moved.accesses if not access.known and not access.gather)
        return unknown / total if total else 0.0

    def _locality_sigma(self, us: float) -> float:
        """Sigma for indices that are taken to be random and may be in order: the lower end of the interval is the time of
        those (``near`` and ``sorted`` rows of ``h100-scatter.csv``: up to five times less)."""
        accesses = tuple(in_order(a) if _unordered(a) else a for a in self.moved.accesses)
        if accesses == self.moved.accesses:
            return 0.0
        moved = replace(self.moved, accesses=accesses, by_node={id(access.access): access for access in accesses})
        local, _ = Price(self.launch, moved, self.device, self.c, self.reuse_bytes, self.operations).spent()
        return _ORDER * math.log(max(1.0, us / local)) / INTERVAL_80


def _unordered(access: AccessTraffic) -> bool:
    """A load or store whose time depends on the order of loaded indices."""
    return access.gather and not access.known and access.kind != "atomic"
