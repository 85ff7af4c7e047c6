"""The turns of a loop: how much of the round trips to memory they wait for."""

from __future__ import annotations

import math

from kernlint.cost.programs.paths import Paths, levels
from kernlint.workload import Atomic, Branch, Compute, Dot, Expr, Load, Loop, Node, ProgramId, Reduce, Scan, Store

_COPY_NS = 2.95
#: Bytes of a thread's widest fetch.
_WIDEST = 16
#: Turns of a streaming loop whose loads ptxas issues together.
_UNROLLED_LOADS = 4.0


class Loops(Paths):
    """Dependent nanoseconds of loops."""

    def _loop_ns(self, loop: Loop, executions: float) -> float:
        c = self.c
        trip = self.moved.trips.get(loop.id, 1.0)
        if trip <= 0:
            return 0.0
        runs = executions * trip
        if loop.kind != "tl.static_range":
            self.instructions += c.loop_slots * self.warps * runs
        body = loop.body
        loads = [node for node in body if isinstance(node, Load)]
        others = tuple(node for node in body if not isinstance(node, Load))
        if not loads:
            return trip * (self.path_ns(body, runs) + c.loop_iteration_ns)
        chained = len(levels(loads)) > 1
        streaming = not chained and not any(isinstance(node, (Loop, Scan, Dot, Branch, Atomic)) for node in others)
        latency = max(self.latency_ns(load) for load in loads)
        serial = sum(self._serial_ns(load) for load in loads)
        requests = sum(self._requests_ns(load) for load in loads)
        if streaming and self._ahead(loop):
            for load in loads:
                self._count_access(load, 2 * runs)
            rest = self.path_ns(others, runs)
            stages = max(1, (loop.num_stages or 2) - 1)
            copies = sum(self._vectors(load) for load in loads) * self.warps * _COPY_NS / self.scale.clock
            step = max(c.pipelined_iteration_ns + rest, latency / stages, serial, copies)
            return latency + trip * step
        exposed = any(isinstance(node, Reduce) and self._crosses_warps(node) for node in others)
        exchange = 0.0
        block = max(
            (node.elements for node in others if isinstance(node, Compute) and self._broadcast(node)), default=0
        )
        if block:
            # The operands change their layout through shared memory, behind a barrier each.
            exposed = True
            exchange = 2 * trip * self._barrier_ns(self.warps)
            exchange += trip * self._spread_ns(loads, block, runs)
        if any(load.id in load.through for load in loads):
            # Each turn begins where the last one's load has led: a list that is walked.
            return trip * (self.path_ns(body, runs) + c.loop_iteration_ns)
        if loop.kind == "tl.static_range" and (streaming or (chained and not exposed)):
            # All indices are on their way together, then all that they name.
            for load in loads:
                self._count_access(load, runs)
            return self._chain_ns(loads) + trip * (serial + self.path_ns(others, runs))
        unrolled = chained and not exposed and all(isinstance(node, (Compute, Reduce)) for node in others)
        if unrolled:
            # ptxas unrolls this as well: the indices of a few iterations arrive together, then what they name.
            for load in loads:
                self._count_access(load, runs)
            rest = self.path_ns(others, runs)
            chain = self._chain_ns(loads)
            step = chain * min(1.0, self._exposed_share(loads))
            return chain + serial + rest + (trip - 1) * (max(step, serial) + rest + c.loop_iteration_ns)
        if streaming and not exposed:
            for load in loads:
                self._count_access(load, runs)
            rest = self.path_ns(others, runs)
            share = self._exposed_share(loads)
            together, beside = min(_UNROLLED_LOADS, 1 / share), 1
            if _strided(loop):
                # A step that is known at run time only: ptxas does not unroll (``walk_sum``).
                share = max(share, c.strided_step)
            if any(isinstance(node, Store) for node in others):
                # The next load may alias this store, so ptxas cannot move it ahead (gather_rows, scalar_chain).
                share = max(share, c.stored_step)
                together, beside = 1.0, len(loads)
            # What is unrolled is waited for together, for as long as the slowest takes.
            step = share * max(self.latency_ns(load, max(1.0, together), beside) for load in loads)
            each = max(step, serial) + requests + rest + c.loop_iteration_ns
            return latency + serial + rest + (trip - 1) * each if trip > 1 else latency + trip * each
        if exposed and self._used_later(loads, others):
            exchange += trip * latency
        return trip * (self.path_ns(body, runs) + c.loop_iteration_ns) + exchange

    def _used_later(self, loads: list[Load], others: tuple[Node, ...]) -> bool:
        """Whether some of ``loads`` are met first in a sum after warps have exchanged another one: their registers are taken until
        then, so that they are on their way later (the values of an attention after its scores, ``one_query``)."""
        met, exchanged = set[int](), False
        for node in others:
            if isinstance(node, Reduce):
                fresh = node.depends - met
                if exchanged and any(load.id in fresh and load.elements >= self.largest_tile for load in loads):
                    return True
                met |= node.depends
                exchanged = exchanged or self._crosses_warps(node)
        return False

    def _chain_ns(self, loads: list[Load]) -> float:
        """The latencies of loads that wait for each other, one after the other."""
        return sum(max(self.latency_ns(load) for load in level) for level in levels(loads))

    def _exposed_share(self, loads: list[Load]) -> float:
        """Round trips of memory that one iteration of a plain streaming loop waits for.

        Measured, not derived: ptxas unrolls a loop with one or two loads a thread about four times, and keeps the
        fewer loads in flight the more registers one iteration fills, down to one after the other (``row_loop_masked``,
        ``col_reduce``). The measure is elements a thread x sqrt(bytes / 4). Whole vectors of a line of elements wait for less: a
        thread has few fetches of them (``row_loop_stages``, ``deep_sum``).
        """
        filled = sum(
            max(1.0, self._asked(load) / load.dtype.bytes / self.threads) * math.sqrt(load.dtype.bytes / 4)
            for load in loads
        )
        vectors = all(len(load.shape) == 1 and self._vector(load) == _WIDEST for load in loads)
        exponent = self.c.vector_exponent if vectors and filled > 8 else self.c.step_exponent
        share = self.c.step * (filled / 8) ** exponent
        return min(max(self.c.step_least, share), self.c.step_most, sum(self._vectors(load) for load in loads))


def _strided(loop: Loop) -> bool:
    """The loop goes on by as much as there are programs: its step is known at run time only."""
    return isinstance(loop.trip, Expr) and any(isinstance(atom, ProgramId) for atom in loop.trip.atoms())
