"""Bytes of each access that reach L2 and DRAM, and the mean latency of its loads."""

from __future__ import annotations

import math
from functools import cached_property

from kernlint.cost.programs.resources import Resources
from kernlint.cost.programs.scale import ramp
from kernlint.cost.traffic.model import SECTOR_BYTES, AccessTraffic
from kernlint.workload import Load


class Caches(Resources):
    """Which level of memory answers."""

    def _levels(self) -> None:
        """Bytes per access that reach L2 and DRAM, and the mean latency of one of its loads."""
        c = self.c
        cache = self.scale.cache_bytes
        l1 = self.device.shared_memory_bytes_per_sm
        live = self.active_programs * self.program_footprint
        live_miss = ramp(live, c.l2_keeps * cache, c.l2_drops * cache)
        on_an_sm = min(self.resident, max(1.0, self.programs / self.device.sm_count))
        sm_live = self._on_an_sm(on_an_sm)
        l1_miss = ramp(sm_live, c.l1_keeps * l1, c.l1_drops * l1)
        # What twins share is read by a warp right after each other, what the next turn comes back to only after others had theirs.
        passing = sum(
            min((on_an_sm if _walks(access) or access.gather else 1.0) * access.window_bytes, access.footprint_bytes)
            * access.line_share
            for access in self.moved.accesses
            if access.kind == "load"
        )
        windows = sum(
            min(self.active_programs * access.window_bytes, access.footprint_bytes)
            for access in self.moved.accesses
            if access.kind == "load" and not access.scattered
        )
        walked: dict[str, float] = {}
        for access in self.moved.accesses:
            if access.scattered:
                lines = min(self.active_programs * access.held_window, access.footprint_bytes)
                walked[access.base] = max(walked.get(access.base, 0.0), lines)
        windows += sum(walked.values())
        live_window = ramp(windows, c.l2_keeps * cache, c.l2_drops * cache)
        seen: set[tuple[object, ...]] = set()
        footprints = self.moved.footprints
        shares: dict[tuple[str, bool], float] = {}
        # A store is not the load of the same addresses come again: what was read must still be written back.
        for access in self.moved.accesses:
            key = (access.base, access.kind == "load", access.signature)
            side = key[:2]
            shares[side] = shares.get(side, 0.0) + (0.0 if key in seen else access.footprint_bytes)
            seen.add(key)
        seen.clear()
        self.l2_bytes: dict[int, float] = {}
        self.l2_share: dict[int, float] = {}
        self.dram_bytes = 0.0
        self.dram_share: dict[int, float] = {}
        for access in self.moved.accesses:
            key = (access.base, access.kind == "load", access.signature)
            again = key in seen
            seen.add(key)
            if not access.known and access.gather:
                self._gathered(access, footprints.get(access.base, access.footprint_bytes))
                continue
            distance = max(self.footprint, self.reuse_bytes.get(access.base, 0.0))
            cold = ramp(distance, c.l2_keeps * cache, c.l2_drops * cache)
            reread_miss = min(cold, live_miss)
            moved = access.moved_bytes
            if access.kind == "load":
                near = min(moved, access.near_bytes * self.programs) if access.base not in self._rewritten else moved
                # What all programs read they come back to so much sooner.
                sooner = min(1.0, access.footprint_bytes / max(1.0, on_an_sm * access.window_bytes))
                window = self._between_twins(access, on_an_sm, passing)
                moved = near + ramp(window * sooner, c.l1_keeps * l1, c.l1_drops * l1) * (moved - near)
            first = 0.0 if again else min(moved, access.program_bytes * self.programs)
            if access.base in self._rewritten:
                first = moved
            later = l1_miss * max(0.0, moved - first)
            if access.kind == "load" and access.known and access.program_bytes:
                # A small operand that every program reads (a bias, a norm's weights) stays in each SM's L1 where
                # little passes between two programs that read the same part of it.
                parts = max(1.0, access.footprint_bytes / access.program_bytes)
                period = min(parts, self._programs_between(access)) if access.shared_axes else parts
                kept = 1.0 - ramp(period * sm_live, c.l1_keeps * l1, c.l1_drops * l1)
                once = min(first, access.footprint_bytes * self.device.sm_count)
                first = kept * once + (1.0 - kept) * first
            reach_l2 = first + later
            if access.kind == "atomic" or access.base in self._rewritten:
                reach_l2 = moved
            part = 1.0
            if shares.get(key[:2]):
                part = min(1.0, footprints[access.base] / shares[key[:2]])
            own = min(access.footprint_bytes * part, moved)
            # DRAM answers in 64-byte pairs of sectors: isolated sectors cost double (strided_load, stride 16 and up).
            # Where other accesses fill the gaps, sectors are met again soon (``halve``).
            alone = own >= moved * 0.9 and self._filled(access.base) < 0.6
            granule = 2.0 if access.density < 0.6 and access.contiguous_bytes < 64 and alone else 1.0
            if access.wanted < 0.3 and alone:
                granule *= c.scattered_dram if access.kind == "load" else c.scattered_store
            dram = (reread_miss if again else cold) * own * granule
            shared = max(0.0, reach_l2 - own)
            # What a program walks over again and again past L1: L2 has it where the windows of all programs fit.
            back = (
                max(0.0, reach_l2 - access.program_bytes * self.programs) if _walks(access) or access.scattered else 0.0
            )
            # Sectors that stand alone are fetched, or filled and written, once for each part of them.
            parts = (
                2.0 * (c.scattered_dram if access.kind == "load" else c.scattered_store) if access.scattered else 1.0
            )
            dram += min(cold, live_window) * min(back, shared) * parts
            self.dram_bytes += dram
            self.l2_bytes[id(access.access)] = reach_l2
            self._set_shares(access, reach_l2, dram)

    def _between_twins(self, access: AccessTraffic, on_an_sm: float, passing: float) -> float:
        """What passes between two visits of ``access`` to a line: of twins their own bytes alone, as the compiler asks for all of them at
        once, else those that are ``passing``."""
        return passing if access.twins == 1 or _walks(access) else on_an_sm * access.window_bytes * access.twins

    @cached_property
    def _rewritten(self) -> frozenset[str]:
        """What a loop both reads and writes, a part of a sector at a time: L1 hands on what is written and keeps no copy of it. Of whole
        sectors it does (``warped_rows``)."""
        again = [a for a in self.moved.accesses if a.moved_bytes > 2 * a.program_bytes * self.programs]
        loaded = {a.base for a in again if a.kind == "load"}
        return frozenset(loaded & {a.base for a in again if a.kind == "store" and a.wanted < 0.6})

    def _filled(self, base: str) -> float:
        """The part of the tensor at ``base`` that all accesses together touch; 0 where its size is not known."""
        whole = self.launch.tensor(base)
        return self.moved.footprints[base] / whole.nbytes if whole is not None and whole.nbytes else 0.0

    def _set_shares(self, access: AccessTraffic, reach_l2: float, dram: float) -> None:
        """How much of what ``access`` asks for comes from L2 and from DRAM."""
        moved = access.moved_bytes
        self.l2_share[id(access.access)] = min(1.0, reach_l2 / moved) if moved else 0.0
        self.dram_share[id(access.access)] = min(1.0, dram / moved) if moved else 0.0

    def latency_ns(self, load: Load, together: float = 1.0, beside: int = 1) -> float:
        """The mean of the slowest of so many loads like ``load``, which are waited for ``together``; of twins all are, and of lanes
        that come to a new sector at different turns each of them. Loads ``beside`` each other of other memory, this one included, come
        to new sectors at the same turns, but L2 lacks them at others."""
        c, access = self.c, self.moved.by_node.get(id(load))
        if access is None:
            return 0.0
        count = together * access.twins * access.phases
        to_dram = min(1.0, self.dram_share.get(id(load), 0.0) * count * self._sharers(access))
        to_l2 = max(to_dram, min(1.0, self.l2_share.get(id(load), 0.0) * count))
        to_dram = min(to_l2, to_dram * beside)
        return c.l1_latency_ns * (1 - to_l2) + c.l2_latency_ns * (to_l2 - to_dram) + c.dram_latency_ns * to_dram

    def _sharers(self, access: AccessTraffic) -> float:
        """Programs at work that ask for the same bytes: they are at about the same place, and wait for one answer of memory together."""
        if not access.known or access.gather or not access.footprint_bytes or access.executions <= 1:
            return 1.0
        asked = access.program_bytes * self.active_programs
        return max(1.0, asked / min(asked, access.footprint_bytes))

    def _gathered(self, access: AccessTraffic, table: float) -> None:
        """Levels of a load, store or atomic through loaded indices into ``table`` bytes: each row is a new address.

        A table that fits a cache stays in it whatever streams by (``gather_elements``). One that does not fit L2 is found there
        by as many of the random indices as L2 holds of it: no cliff, as a sweep has (``pick``, 16 to 128 MB).
        """
        c = self.c
        cache, l1 = self.scale.cache_bytes, self.device.shared_memory_bytes_per_sm
        moved = access.moved_bytes
        past_l1, asked = 1.0, moved
        if access.kind == "load":
            past_l1 = ramp(table, c.l1_keeps * l1, c.l1_drops * l1)
            asked = min(moved, access.near_bytes * self.programs)
        reach_l2 = min(asked, past_l1 * asked + min(asked, table * self.device.sm_count))
        isolated = access.contiguous_bytes < 64
        kept = c.table_keeps * cache
        crowded = ramp(self.footprint, c.l2_keeps * cache, c.l2_drops * cache)
        miss = min(1.0 - kept / table, crowded) if table > kept else 0.0
        miss = max(miss, self._gone(access.base) * access.footprint_bytes / max(1.0, asked))
        granule = 1.0
        if isolated:
            granule = 2.0 * (c.scattered_dram if access.kind == "load" else c.scattered_store)
        dram = miss * asked * granule * (2.0 if access.kind == "atomic" else 1.0)
        self.dram_bytes += dram
        self.l2_bytes[id(access.access)] = reach_l2
        self._set_shares(access, reach_l2, dram)

    def _gone(self, base: str) -> float:
        """The part of a table at ``base`` that L2 has lost since its last use, to what other launches touched in between."""
        others = self.reuse_bytes.get(base, 0.0) - self.footprint
        cache = self.scale.cache_bytes
        return ramp(others, self.c.l2_keeps * cache, self.c.l2_drops * cache)

    def _programs_between(self, access: AccessTraffic) -> float:
        """Programs from one to the next that reads the same as ``access``, itself included: neighbours along the first axis follow each
        other."""
        extents = self.launch.grid[: min(access.shared_axes)]
        return float(math.prod(max(1, extent) if isinstance(extent, int) else 1 for extent in extents))


def _walks(access: AccessTraffic) -> bool:
    """Whether the next turn of a loop comes back to what a load has touched."""
    return access.kind == "load" and access.window_bytes > access.sectors * SECTOR_BYTES
