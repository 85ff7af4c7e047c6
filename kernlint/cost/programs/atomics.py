"""Atomics: operations on one address and on one line serialise."""

from __future__ import annotations

import math
from functools import cached_property, lru_cache

from kernlint.cost.programs.terms import Terms
from kernlint.cost.traffic.accesses import step_of_loads
from kernlint.cost.traffic.model import LINE_BYTES, SECTOR_BYTES, WARP_LANES, AccessTraffic
from kernlint.workload import Atomic, ProgramId, Store, concrete
from kernlint.workload.expr import simplify


class Atomics(Terms):
    """Microseconds of atomics."""

    def _atomics_us(self) -> float:
        total = 0.0
        c = self.c
        for access in self.moved.accesses:
            if access.kind != "atomic":
                continue
            node = access.access
            assert isinstance(node, Atomic)
            size = node.dtype.bytes
            operations = access.active_elements * access.executions * self.programs
            if not access.known:
                total += self._scattered_ns(access, node, operations)
                continue
            addresses = self._addresses(access)
            # Lanes of one request that meet in an address are as many requests more: the L2 adds them one by one.
            lanes = min(access.request_addresses, max(1.0, access.active_elements), addresses)
            lines = max(1.0, addresses * size / LINE_BYTES)
            # A request of one lane keeps its sector, one of several that of a line busy.
            places = max(1.0, addresses * size / SECTOR_BYTES) if lanes <= 1.0 else addresses
            same_address = operations / places * self._address_ns(node)
            if self._retries(node) and node.elements <= 1:
                # One of a program's: it seldom meets another that is under way, but waits for the line like all of them.
                same_address = operations / lines * c.half_scalar_ns
            request_ns = c.same_line_ns + c.same_line_lane_ns * (lanes - 1)
            pieces = min(self._pieces(node), lines)
            pair = 2 if node.dtype.is_float and node.dtype.bits == 16 and not self._retries(node) else 1
            # What goes to other lines is spread over other units of L2 (gradients of a weight and of a bias).
            same_line = operations / lanes / pair * pieces * request_ns / self._lines_added_to**c.line_exponent
            total += max(
                same_address,
                same_line,
                operations * pieces / self._rate(node),
                self._doubles_ns(node, operations, lines),
            )
        return total / 1000 / self.scale.clock

    def _rate(self, node: Atomic) -> float:
        """Additions a nanosecond that go to addresses of their own, by the lane or by the vector."""
        c = self.c
        if self._requests(node) * WARP_LANES >= node.elements:
            return c.atomics_per_ns
        return max(
            c.atomics_per_ns,
            c.row_atomics_per_ns * 4 / node.dtype.bytes / (1.0 if node.sem == "relaxed" else c.ordered),
        )

    def _addresses(self, access: AccessTraffic) -> float:
        """Addresses that an atomic goes to."""
        addresses = max(1.0, min(access.footprint_bytes / access.access.dtype.bytes, access.reach + 1))
        whole = self.launch.tensor(access.base)
        return min(addresses, float(whole.numel)) if whole is not None and whole.numel else addresses

    @cached_property
    def _lines_added_to(self) -> float:
        """Lines of all that is added to at known addresses."""
        lines: dict[str, float] = {}
        for access in self.moved.accesses:
            if access.kind == "atomic" and access.known:
                found = max(1.0, self._addresses(access) * access.access.dtype.bytes / LINE_BYTES)
                lines[access.base] = max(lines.get(access.base, 0.0), found)
        return sum(lines.values())

    def _address_ns(self, node: Atomic) -> float:
        """From one atomic on an address to the next: integers are done in one pass of the unit, fp32 and fp64 take longer, and
        16-bit floats are compared and exchanged until no other came between, unless a thread holds a pair (``change``)."""
        c = self.c
        if node.dtype.is_integer:
            return c.same_address_ns * c.integer_address
        return c.half_address_ns if self._retries(node) else c.same_address_ns

    def _retries(self, node: Atomic) -> bool:
        """An addition of 16-bit floats that no instruction does: there are those of two neighbours at once only."""
        pairs = min(self._vector(node) / node.dtype.bytes, node.elements / self.threads)
        return node.dtype.is_float and node.dtype.bits == 16 and node.op == "add" and pairs < 2

    def _scattered_ns(self, access: AccessTraffic, node: Atomic, operations: float) -> float:
        """Nanoseconds of atomics through loaded indices.

        A request visits each 32-byte sector that its lanes meet in, once for every lane on the same address; the sectors of a
        few hundred bytes share a unit. Requests are as long as the run of neighbours that an index is good for.
        """
        c = self.c
        size = node.dtype.bytes
        addresses = self._in_flight(access, operations)
        active = max(1.0, min(float(WARP_LANES), access.active_elements))
        run = max(1.0, min(active, access.contiguous_bytes / size, addresses))
        passes, deepest = _passes(active / run, max(1.0, run * size / SECTOR_BYTES), addresses * size, size)
        units = self._units(addresses * size)
        request_ns = passes * c.pass_ns * (c.compared if node.op == "cas" else 1.0) / units
        same_address = operations / addresses * self._address_ns(node)
        rate = min(c.scattered_atomics_per_ns * run, max(c.row_atomics_per_ns * 4 / size, c.scattered_atomics_per_ns))
        if self._retries(node):
            rate /= c.half_rate
        else:
            sectors = max(1.0, addresses * size / SECTOR_BYTES)
            request_ns = max(request_ns, deepest * self._address_ns(node) / sectors)
            waits = c.returned if node.op in ("cas", "xchg") or self._is_read(node) else 1.0
            rate /= max(waits, 1.0 if node.sem == "relaxed" else c.ordered)
        doubles = self._doubles_ns(node, operations, addresses * size / LINE_BYTES)
        return max(operations / rate, operations / active * request_ns, same_address, doubles)

    def _doubles_ns(self, node: Atomic, operations: float, lines: float) -> float:
        """Nanoseconds of the additions of doubles to so many ``lines``, which go one by one; 0 of anything else."""
        if not node.dtype.is_float or node.dtype.bits != 64:
            return 0.0
        apart = self._vector_elements(node) > 1 and node.elements > self.threads
        return operations * (_APART_NS if apart else _DOUBLE_NS) / min(_DOUBLE_UNITS, max(1.0, lines))

    def _is_read(self, node: Atomic) -> bool:
        """The old value is used: the request waits for an answer."""
        return any(
            node.id in other.depends or node.id in other.through or node.id in other.tested
            for other in self.launch.kernel.nodes((Store, Atomic))
            if isinstance(other, (Store, Atomic))
        )

    def _in_flight(self, access: AccessTraffic, operations: float) -> float:
        """Addresses that the programs which run at one time may go to: where each grid index has a part of the tensor to
        itself (a histogram an image), those of the indices that run together: the steps of the index are smaller than those of the
        grid then."""
        whole = self.launch.tensor(access.base)
        addresses = float(whole.numel) if whole is not None and whole.numel else operations
        offset = access.access.offset
        if offset is None:
            return addresses
        window, slots, order = math.inf, 1.0, 1
        for axis, size in enumerate(self.launch.grid):
            coefficient, extent = offset.coefficient(ProgramId(axis)), concrete(size) or 1
            stride = concrete(simplify(coefficient)) if coefficient is not None else None
            if stride is None:
                return addresses
            if stride and extent > 1 and abs(stride) > step_of_loads(offset):
                window = min(window, abs(stride))
                slots *= min(extent, self.active_programs / order + (order > 1))
            order *= extent
        return min(addresses, window * max(1.0, slots)) if window < math.inf else addresses


#: From one double that a unit of L2 adds to the next, of lanes that are neighbours and of others, and the units that lines are spread
#: over (``composed``).
_DOUBLE_NS, _APART_NS, _DOUBLE_UNITS = 0.67, 2.38, 152.0


@lru_cache(maxsize=1024)
def _passes(runs: float, run_sectors: float, table: float, size: int) -> tuple[float, float]:
    """(visits to sectors, visits to the busiest of its sectors) of a request that touches ``runs`` random places of ``table``
    bytes, each of ``run_sectors`` whole sectors or of one element: a sector is visited once for each lane on its most wanted
    address, the lanes being thrown at random."""
    if run_sectors > 1.0 or runs <= 1.0:
        return runs * run_sectors, 1.0
    sectors = max(1.0, table / SECTOR_BYTES)
    slots = max(1.0, min(table, SECTOR_BYTES) / size)
    rate = runs / sectors / slots
    deepest, reached, term = 0.0, 0.0, math.exp(-rate)
    for count in range(1, int(runs) + 2):
        reached = min(1.0, reached + term)
        deepest += 1.0 - reached**slots
        term *= rate / count
    if slots <= 1.0:
        deepest = runs / sectors
    return min(runs, sectors * deepest), min(runs, max(1.0, deepest))
