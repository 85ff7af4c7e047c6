"""What a launch asks of each resource: L2, the lines of L1, shared memory, issue slots."""

from __future__ import annotations

import math

from kernlint.cost.programs.loops import Loops
from kernlint.cost.programs.scale import ramp
from kernlint.cost.registers import COLLAPSE, Pressure
from kernlint.cost.traffic.model import SECTOR_BYTES

#: Bytes of code that an SM keeps, and those of which it keeps nothing until they come round again; bytes a nanosecond that a warp
#: fetches (``composed``, of sines).
_CODE_BYTES = (80_000.0, 190_000.0)
_CODE_PER_NS = 10.0


class Terms(Loops):
    """Microseconds of each resource."""

    def _l2_us(self) -> float:
        """Microseconds of L2 traffic: each access at the rate of its shape, or what the SMs in use can draw."""
        c, scale = self.c, self.scale
        total_ns = 0.0
        drawn = 0.0
        for access in self.moved.accesses:
            moved = self.l2_bytes.get(id(access.access), 0.0)
            written = access.program_bytes * self.programs
            short = access.contiguous_bytes < 2 * SECTOR_BYTES
            if access.kind == "load":
                rate = c.l2_short_row_gb_per_s if short else c.l2_read_gb_per_s
            elif access.kind == "store" and access.known and written > 16 * access.footprint_bytes:
                rate = c.l2_write_gb_per_s * c.hot_store
            elif access.kind == "store" and access.wanted < 0.6 and moved <= 2 * written:
                rate = c.l2_partial_write_gb_per_s
            else:
                rate = c.l2_short_row_gb_per_s if short else c.l2_write_gb_per_s
                if access.kind == "store" and access.efficiency < 0.6:
                    # Other stores fill the sector, each by a write of its own.
                    rate = min(rate, c.l2_field_write_gb_per_s)
            if access.kind == "store" and access.gather and not access.known:
                # What meets in a few sectors is written there one after the other, as atomics are (``put``).
                units = self._units(self.moved.footprints.get(access.base, 0.0))
                rate = min(rate, SECTOR_BYTES * units / (c.store_passes * c.pass_ns))
            total_ns += moved / (rate * scale.fabric)
            drawn += moved
        spilled = sum(self._spilled_bytes(pressure) for pressure in self.pressures)
        total_ns += spilled / (c.l2_read_gb_per_s * scale.fabric)
        drawn += spilled
        used = min(self.programs, self.device.sm_count)
        return max(total_ns, drawn / (used * c.sm_gb_per_s * scale.clock)) / 1000

    def _units(self, size: float) -> float:
        """Units of L2 that neighbouring ``size`` bytes are spread over: each does one sector at a time."""
        return max(1.0, (size / self.c.unit_bytes) ** self.c.unit_exponent)

    def _lines_us(self) -> float:
        """Microseconds that L1 takes to look up the lines of all loads and stores, one after the other on each SM."""
        cycles = sum(
            access.executions * self._line_cycles(access) for access in self.moved.accesses if access.kind != "atomic"
        )
        used = max(1, min(self.programs, self.device.sm_count))
        return cycles * self.programs / used / self.scale.clock_ghz / 1000

    def _spilled_bytes(self, pressure: Pressure) -> float:
        """Bytes that registers in memory move past L1 in the whole launch."""
        runs = math.prod(self.moved.trips.get(loop.id, 1.0) for loop in pressure.loops)
        if self._collapsed(pressure):
            words = pressure.words * pressure.passes * self.c.collapse_traffic
        else:
            words = max(0.0, pressure.registers - self.register_limit) * self.c.spill_traffic
        return words * 4 * self.threads * self.programs * runs

    def _collapsed(self, pressure: Pressure) -> bool:
        """The tiles of this body live in memory, not in registers."""
        return pressure.registers > COLLAPSE * self.register_limit / 255

    def _shared_us(self) -> float:
        """Microseconds of what warps exchange through shared memory."""
        used = min(1.0, self.programs / self.device.sm_count)
        parts = self.exchanged * self.programs / (self.device.sm_count * used)
        return parts * self.c.exchange_pass_ns / self.scale.clock / 1000

    def _code_ns(self) -> float:
        """How long a warp waits for its instructions, where its code does not stay on the SM: that of all elements of a thread stands
        one after the other (sines of 64 elements a thread take three times as long as of 8 times as many warps)."""
        return self.fetched * ramp(self.code, *_CODE_BYTES) / _CODE_PER_NS / self.scale.clock

    def _issue_us(self) -> float:
        """Four issue slots an SM and cycle, beside which the special function unit works; with half the fp32 lanes an fp32 instruction
        takes two of them."""
        slots = 4 * self.scale.clock_ghz * self.c.issue_efficiency
        lanes = self.instructions - self.arithmetic + self.c.warp_start_instructions * self.warps
        lanes += self.arithmetic / self.scale.lanes
        return max(lanes, self.special_unit) * self._on_busiest() / slots / 1000
