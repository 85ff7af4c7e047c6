"""The dependent path of one program, and the instructions that it issues on the way."""

from __future__ import annotations

import math

from kernlint.cost.arithmetic import slots_of
from kernlint.cost.programs.lanes import Lanes
from kernlint.workload import (
    Atomic,
    Branch,
    Compute,
    Dot,
    Expr,
    Lane,
    Load,
    Loop,
    LoopIndex,
    Node,
    Opaque,
    Reduce,
    Scan,
    Store,
)
from kernlint.workload.dtype import INT32

#: A computed tile this many times larger than any loaded one is the product of a broadcast.
_BROADCAST = 4
#: Turns of a loop of known length that the compiler lays out one after the other.
_UNROLLED = 16
#: Turns of a laid-out loop that are gone through one by one.
_LAID_OUT = 256


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
        return latency + sum(self._serial_ns(load) + self._lookups_ns(load) for load in loads) if latency else 0.0

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
            return (c.store_ns if executions <= 1 else c.loop_store_ns) + self._serial_ns(node) + self._lookups_ns(node)
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
        per_thread = max(1.0, node.elements / self.threads)
        cost = self.c.instructions_per_access * self._vectors(node) + self.c.instructions_per_element * per_thread
        self.instructions += cost * self.warps * executions
        self.asking[id(node)] = self.asking.get(id(node), 0.0) + cost * self.warps * executions

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

    def _count_indices(self) -> None:
        """Adds the instructions that work out masks and divided indices, element by element where a load is not vectorised. What
        does not change in a loop is worked out before it, and the same bound or quotient once for all accesses."""
        c, seen = self.c, set[object]()
        for node, loops in self.launch.kernel.walk((Load, Store, Atomic)):
            assert isinstance(node, (Load, Store, Atomic))
            if node.elements <= 1 or self._vector(node) > node.dtype.bytes:
                continue
            bounds = [left - right for left, right in node.mask or () if _on_lanes(left) or _on_lanes(right)]
            for bound in bounds[1:]:
                if (bound, node.shape) not in seen:
                    seen.add((bound, node.shape))
                    self.instructions += c.condition_slots * self._over(node, bound) * self._runs_of(bound, loops)
            for expr in (node.offset, *bounds):
                for atom in expr.atoms() if expr is not None else ():
                    if isinstance(atom, Opaque) and atom.op in ("floordiv", "mod") and _on_lanes(*atom.args):
                        key = (atom.args, node.shape)
                        if key not in seen:
                            seen.add(key)
                            slots = self._division_slots(atom.args[1].value)
                            self.instructions += (
                                slots * self._over(node, *atom.args) * self._runs_of(atom.args[0], loops)
                            )

    def _division_slots(self, divisor: int | None) -> float:
        """Slots of a division of indices: by a number that is known to the compiler a shift or a multiplication."""
        if divisor is None or divisor not in self.launch.kernel.divisors:
            return self.c.division_slots
        return slots_of(">>" if divisor.bit_count() == 1 else "// constant", INT32)

    def _over(self, node: Load | Store | Atomic, *exprs: Expr) -> float:
        """Instructions of all warps to work out ``exprs`` for the tile of ``node``: along the axes on which they depend."""
        axes = {atom.dim for expr in exprs for atom in expr.atoms() if isinstance(atom, Lane)}
        layout = self.layout(node.shape)
        return self.warps * math.prod(layout.values[axis] for axis in axes if axis < len(layout.values))

    def _runs_of(self, expr: Expr, loops: tuple[Loop, ...]) -> float:
        """How often a program works out ``expr``: once for each turn of the loops outside the innermost that it changes in. Short
        loops of a known length are unrolled, so that what changes in them alone is worked out before the loops around them."""
        atoms = expr.atoms()
        changing = [place for place, loop in enumerate(loops) if LoopIndex(loop.id) in atoms]
        if not changing:
            return self.working
        if len(changing) == 1 and loops[changing[0]].kind == "tl.static_range":
            return _values(expr, loops[changing[0]]) * self.working
        unrolled = all(isinstance(loops[place].trip, int) and loops[place].trip <= _UNROLLED for place in changing)  # type: ignore[operator]
        around = [loops[place] for place in changing] if unrolled else loops[: changing[-1] + 1]
        return math.prod(self.moved.trips.get(loop.id, 1.0) for loop in around) * self.working


def _values(expr: Expr, loop: Loop) -> int:
    """How many values ``expr`` takes over the turns of a loop that is laid out one after the other: each is worked out once."""
    turns = loop.trip if isinstance(loop.trip, int) else 1
    if turns > _LAID_OUT:
        return turns
    index = LoopIndex(loop.id)
    return len({expr.substitute({index: Expr.constant(turn)}) for turn in range(turns)})


def _on_lanes(*exprs: Expr) -> bool:
    """Lanes have different values of one of these."""
    return any(isinstance(atom, Lane) for expr in exprs for atom in expr.atoms())


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
