"""The dependent path of one program, and the instructions that it issues on the way."""

from __future__ import annotations

from kernlint.cost.programs.lanes import Lanes
from kernlint.workload import (
    Atomic,
    Branch,
    Compute,
    Dot,
    Load,
    Loop,
    Node,
    Opaque,
    Reduce,
    Scan,
    Store,
)

#: A computed tile this many times larger than any loaded one is the product of a broadcast.
_BROADCAST = 4


class Paths(Lanes):
    """Dependent nanoseconds of one program; counts issued instructions."""

    def path_ns(self, body: tuple[Node, ...], executions: float) -> float:
        """Dependent nanoseconds of one program through ``body``; counts issued instructions on the way.

        ``executions`` is how often the body runs in one program. Loads are in flight together until something waits
        for all of them: a reduction, a store, a loop; those whose address is made from others follow these. Arithmetic between them
        does not wait, as ptxas moves loads up.
        """
        total = 0.0
        waiting: list[Load] = []
        issued = waited = 0.0
        for node in body:
            if isinstance(node, Compute):
                # A thread goes on with its next element where one operation waits for another.
                issue, wait = self._compute_ns(node, executions)
                issued, waited = issued + issue, waited + wait
                continue
            if isinstance(node, Load):
                self._count_access(node, executions)
                waiting.append(node)
                continue
            total += self._arrivals_ns(waiting) + max(issued, waited)
            waiting, issued, waited = [], 0.0, 0.0
            total += self._node_ns(node, executions)
        return total + self._arrivals_ns(waiting) + max(issued, waited)

    def _arrivals_ns(self, loads: list[Load]) -> float:
        """From the issue of the first of ``loads`` to the arrival of the last, each as soon as what its address is made from is there."""
        return sum(self._arrival_ns(level) for level in levels(loads))

    def _arrival_ns(self, loads: list[Load]) -> float:
        """From the issue of ``loads`` to the arrival of the last."""
        latency = max((self.latency_ns(load) for load in loads), default=0.0)
        return latency + sum(self._serial_ns(load) + self._requests_ns(load) for load in loads) if latency else 0.0

    def _serial_ns(self, node: Load | Store | Atomic) -> float:
        """Time of the data of one access through the port of its SM; what L1 holds comes at three times the rate."""
        share = max(0.33, self.l2_share.get(id(node), 1.0))
        return self._asked(node) * share / (self.c.sm_gb_per_s * self.scale.clock)

    def _node_ns(self, node: Node, executions: float) -> float:
        c = self.c
        if isinstance(node, (Store, Atomic)):
            self._count_access(node, executions)
            if isinstance(node, Atomic):
                # One after the other, where they order what stands around them.
                each = c.atomic_ns * (1.0 if node.sem == "relaxed" else c.ordered)
                return each * max(1.0, self._requests(node) / self.warps) / self.scale.clock
            return (
                (c.store_ns if executions <= 1 else c.loop_store_ns) + self._serial_ns(node) + self._requests_ns(node)
            )
        if isinstance(node, Reduce):
            return self._reduce_ns(node, executions)
        if isinstance(node, Scan):
            return self._scan_ns(node, executions)
        if isinstance(node, Dot):
            return self._arithmetic_ns("arith", node.m * node.n * node.k * node.batch, None, executions)
        if isinstance(node, Branch):
            # An arm that few programs take is met once, not in each wave.
            return max(
                (
                    self.path_ns(arm, executions * share) * min(1.0, share * self.active_programs)
                    for arm, share in self.moved.arms(node)
                    if arm
                ),
                default=0.0,
            )
        if isinstance(node, Loop):
            return self._loop_ns(node, executions)
        return 0.0

    def _loop_ns(self, loop: Loop, executions: float) -> float:
        """Nanoseconds of all turns of ``loop``."""
        raise NotImplementedError

    def _count_access(self, node: Load | Store | Atomic, executions: float) -> None:
        issued = self._asking_slots(node) * self.warps * executions
        self.instructions += issued
        self.asking[id(node)] = self.asking.get(id(node), 0.0) + issued

    def _broadcast(self, node: Node) -> bool:
        """Whether ``node`` works on a block that smaller tiles are spread over, which come to their lanes through shared memory: a number
        is loaded by every lane."""
        if not isinstance(node, Compute) or node.kind != "arith" or self.largest_tile == 1:
            return False
        return node.elements > _BROADCAST * self.largest_tile

    def _spread_ns(self, loads: list[Load], block: int, executions: float) -> float:
        """Time to bring the operands of a ``block`` to its lanes, element by element; adds the issue slots."""
        slots = (self.c.product_slots / 2 - self.c.arithmetic_cost) * len(loads)
        self.instructions += self._issued(slots, block, executions)
        return self._issue_ns(slots, block)


def levels(loads: list[Load]) -> list[list[Load]]:
    """``loads`` by how many others their address waits for one after the other."""
    found: list[list[Load]] = []
    for load in loads:
        depth = max((place + 1 for place, level in enumerate(found) if depends(load, level)), default=0)
        if depth == len(found):
            found.append([])
        found[depth].append(load)
    return found


def depends(load: Load, earlier: list[Load]) -> bool:
    """The address of ``load`` waits for one of ``earlier`` (for an integer one where the offset was not followed)."""
    if load.offset is None:
        return any(other.dtype.is_integer for other in earlier)
    keys = {atom.key for atom in load.offset.atoms() if isinstance(atom, Opaque) and atom.op == "load"}
    return bool(keys) and any(other.id in keys for other in earlier)
