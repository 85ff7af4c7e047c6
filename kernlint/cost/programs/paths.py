"""The dependent path of one program, and the instructions that it issues on the way."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from kernlint.cost.arithmetic import on_special_unit
from kernlint.cost.layout import Layout
from kernlint.cost.programs.caches import Caches
from kernlint.workload import (
    Atomic,
    Branch,
    Compute,
    Dot,
    Dtype,
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

#: A computed tile this many times larger than any loaded one is the product of a broadcast.
_BROADCAST = 4


#: Functions that branch for arguments of another size: the elements of a thread follow one another (``pairs``). Of 64 bits all do.
_BRANCHING = frozenset({"sin", "cos", "tanh", "pow"})


#: Functions whose results are floats and whose work is done by the integer lanes, which cards with fewer fp32 lanes have all of.
_INTEGER_INSIDE = frozenset({"rand", "rand4x", "randint", "randint4x"})


#: Words of shared memory that are read or written at a time, each from a bank of its own.
_BANKS = 32


#: Turns of a loop of known length that the compiler lays out one after the other.
_UNROLLED = 16


class Paths(Caches):
    """Dependent nanoseconds of one program; counts issued instructions."""

    def path_ns(self, body: tuple[Node, ...], executions: float) -> float:
        """Dependent nanoseconds of one program through ``body``; counts issued instructions on the way.

        ``executions`` is how often the body runs in one program. Loads are in flight together until something waits
        for all of them: an address made from one, a reduction, a store, a loop. Arithmetic between them does not, as
        ptxas moves loads up.
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
                if depends(node, waiting):
                    total += self._arrival_ns(waiting)
                    waiting = []
                self._count_access(node, executions)
                waiting.append(node)
                continue
            total += self._arrival_ns(waiting) + max(issued, waited)
            waiting, issued, waited = [], 0.0, 0.0
            total += self._node_ns(node, executions)
        return total + self._arrival_ns(waiting) + max(issued, waited)

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
                return c.atomic_ns * max(1.0, self._asked(node) / node.dtype.bytes / self.threads) / self.scale.clock
            return (c.store_ns if executions <= 1 else c.loop_store_ns) + self._serial_ns(node) + self._lookups_ns(node)
        if isinstance(node, (Reduce, Scan)) and _along_one(node):
            return 0.0
        if isinstance(node, Reduce):
            elements = math.prod(node.shape)
            pair = self.c.indexed if node.indexed else 1.0
            work = pair * self._arithmetic_ns("arith", elements, node.dtype, pair * executions)
            if elements <= 1:
                return work
            # Registers, shuffles and banks are of 32 bits.
            words = 2 if node.dtype is not None and node.dtype.bits == 64 else 1
            return work + self._exchange_ns(node.shape, node.axis, pair * words * executions)
        if isinstance(node, Scan):
            extent = node.shape[node.axis] if node.shape else 1
            elements = math.prod(node.shape)
            if node.op in ("sort", "topk"):
                return self._sort_ns(extent, elements, executions)
            work = 2 * self._arithmetic_ns("arith", node.tensors * elements, None, executions)
            exchange = self._exchange_ns(node.shape, node.axis, node.tensors * executions)
            return work + c.scan_step_ns * math.log2(max(2, extent)) + exchange
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

    def _sort_ns(self, extent: int, elements: int, executions: float) -> float:
        """A bitonic network: each of its steps exchanges every element with another one, compares and selects."""
        depth = math.log2(max(2, extent))
        slots = depth * (depth + 1) / 2 * self.c.sort_slots
        self.instructions += self._issued(slots, elements, executions)
        return self._issue_ns(slots, elements)

    def _exchange_ns(self, shape: tuple[int, ...], axis: int | None, executions: float) -> float:
        """A reduction across the lanes of a warp (shuffles), then across warps (shared memory and a barrier)."""
        if not shape:
            return 0.0
        layout = self.layout(shape)
        axes = range(len(shape)) if axis is None else [axis % len(shape)]
        lanes = math.prod(layout.lanes[a] for a in axes)
        warps = math.prod(layout.warps[a] for a in axes)
        kept = math.prod(value for a, value in enumerate(layout.values) if a not in axes)
        steps = math.log2(lanes) if lanes > 1 else 0.0
        self.instructions += self.c.shuffle_slots * steps * kept * self.warps * executions
        cost = self.c.shuffle_ns * steps / 5
        if warps > 1 and math.prod(shape[a] for a in axes) > lanes * math.prod(layout.values[a] for a in axes):
            # Each warp writes its part of every output to shared memory and reads the results back, an element of each thread at a
            # time; between that the parts of as many outputs as there are threads for are put together in a round.
            passes = kept * self.warps * _bank_conflicts(shape, layout, axes, warps)
            rounds = max(1.0, math.prod(shape) / math.prod(shape[a] for a in axes) * warps / self.threads)
            self.exchanged += passes * executions
            cost += self.c.barrier_ns * (1 + 0.25 * math.log2(warps)) * rounds + passes * self.c.exchange_pass_ns
        return cost / self.scale.clock

    def _crosses_warps(self, node: Reduce) -> bool:
        """The reduction waits at a barrier: warps hold different parts of the reduced axis."""
        if not node.shape:
            return False
        if node.axis is None:
            return self.warps > 1
        return self.layout(node.shape).warps[node.axis % len(node.shape)] > 1

    def _compute_ns(self, node: Compute, executions: float) -> tuple[float, float]:
        """Nanoseconds to issue an elementwise operation for all elements of a thread, and those until one has its result; adds its
        issue slots."""
        measured = self.operations.price(node)
        if measured is None:
            return self._arithmetic_ns(node.kind, node.elements, node.dtype, executions), 0.0
        share = self.scale.fp64_share if _is_double(node.dtype) else 1.0
        issued = self._issued(measured.slots * share, node.elements, executions)
        if on_special_unit(node):
            self.special_unit += issued
        else:
            self.instructions += issued
            if node.dtype.is_float and node.op not in _INTEGER_INSIDE:
                self.arithmetic += issued
        branches = node.op in _BRANCHING or node.dtype.bits == 64
        wait = measured.wait_ns * (max(1.0, node.elements / self.threads) if branches else 1.0)
        return self._issue_ns(measured.slots * share, node.elements), wait / self.scale.clock

    def _arithmetic_ns(self, kind: str, elements: int, dtype: Dtype | None, executions: float) -> float:
        """Latency of one program's elementwise step of a kind; adds its issue slots."""
        cost = self.c.special_cost if kind == "special" else self.c.arithmetic_cost
        if _is_double(dtype):
            cost *= self.scale.fp64_cost
        issued = self._issued(cost, elements, executions)
        self.instructions += issued
        self.arithmetic += issued
        if kind == "special":
            self.special += issued
        return self._issue_ns(cost, elements)

    def _issued(self, slots: float, elements: int, executions: float) -> float:
        """Slots that all warps of one program take, at ``slots`` for each of their threads' elements."""
        return max(1.0, elements / self.threads) * slots * self.warps * executions

    def _issue_ns(self, slots: float, elements: int) -> float:
        """Time of one program alone to issue them."""
        per_thread = max(1.0, elements / self.threads)
        return per_thread * slots * self.c.dependent_issue_ns * max(1.0, self.warps / 4) / 4 / self.scale.clock

    def _count_access(self, node: Load | Store | Atomic, executions: float) -> None:
        per_thread = max(1.0, node.elements / self.threads)
        cost = self.c.instructions_per_access * self._vectors(node) + self.c.instructions_per_element * per_thread
        self.instructions += cost * self.warps * executions

    def _broadcast(self, node: Node) -> bool:
        """Whether ``node`` works on a block that smaller operands are spread over, which come to their lanes through shared memory."""
        return isinstance(node, Compute) and node.kind == "arith" and node.elements > _BROADCAST * self.largest_tile

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
            each = max(1.0, node.elements / self.threads) * self.warps
            bounds = [left - right for left, right in node.mask or () if _on_lanes(left) or _on_lanes(right)]
            for bound in bounds[1:]:
                if (bound, node.shape) not in seen:
                    seen.add((bound, node.shape))
                    self.instructions += c.condition_slots * each * self._runs_of(bound, loops)
            for expr in (node.offset, *bounds):
                for atom in expr.atoms() if expr is not None else ():
                    if isinstance(atom, Opaque) and atom.op in ("floordiv", "mod") and _on_lanes(*atom.args):
                        key = (atom.args, node.shape)
                        if key not in seen:
                            seen.add(key)
                            self.instructions += c.division_slots * each * self._runs_of(atom.args[0], loops)

    def _runs_of(self, expr: Expr, loops: tuple[Loop, ...]) -> float:
        """How often a program works out ``expr``: once for each turn of the loops outside the innermost that it changes in. Short
        loops of a known length are unrolled, so that what changes in them alone is worked out before the loops around them."""
        atoms = expr.atoms()
        changing = [place for place, loop in enumerate(loops) if LoopIndex(loop.id) in atoms]
        if not changing:
            return self.working
        unrolled = all(isinstance(loops[place].trip, int) and loops[place].trip <= _UNROLLED for place in changing)  # type: ignore[operator]
        around = [loops[place] for place in changing] if unrolled else loops[: changing[-1] + 1]
        return math.prod(self.moved.trips.get(loop.id, 1.0) for loop in around) * self.working


def _is_double(dtype: Dtype | None) -> bool:
    return dtype is not None and dtype.is_float and dtype.bits == 64


def _bank_conflicts(shape: tuple[int, ...], layout: Layout, axes: Sequence[int], warps: int) -> int:
    """How many lanes of a warp meet in one bank of shared memory when they write partial results of a reduction along ``axes``: the
    parts of the ``warps`` lie beside each other, then the outputs, the first axis fastest."""
    places, apart = [0], warps
    for axis, extent in enumerate(shape):
        if axis not in axes:
            step = apart * layout.vector[axis]
            places = [place + lane * step for place in places for lane in range(layout.lanes[axis])]
            apart *= extent
    return max(Counter(place % _BANKS for place in set(places)).values())


def _along_one(node: Reduce | Scan) -> bool:
    """The axis that is gone along holds one element."""
    return bool(node.shape) and node.axis is not None and node.shape[node.axis] == 1


def _on_lanes(*exprs: Expr) -> bool:
    """Lanes have different values of one of these."""
    return any(isinstance(atom, Lane) for expr in exprs for atom in expr.atoms())


def depends(load: Load, earlier: list[Load]) -> bool:
    """The address of ``load`` waits for one of ``earlier`` (for an integer one where the offset was not followed)."""
    if load.offset is None:
        return any(other.dtype.is_integer for other in earlier)
    keys = {atom.key for atom in load.offset.atoms() if isinstance(atom, Opaque) and atom.op == "load"}
    return bool(keys) and any(other.id in keys for other in earlier)
