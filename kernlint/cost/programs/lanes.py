"""Operations on the elements of a tile: arithmetic in each thread, and what lanes and warps exchange in reductions, scans and sorts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

from kernlint.cost.arithmetic import BRANCHING, beside, on_special_unit
from kernlint.cost.layout import Layout
from kernlint.cost.programs.caches import Caches
from kernlint.cost.programs.resources import BANKS, most_in_a_bank, spread
from kernlint.cost.traffic.model import WARP_LANES
from kernlint.workload import Compute, Dtype, Reduce, Scan

#: Bytes of an instruction, how much more code a function that branches has than it runs through, and the slots from which it is called,
#: as functions of doubles are.
_INSTRUCTION, _BRANCHES, _CALLED = 16, 3, 100.0
#: Functions whose results are floats and whose work is done by the integer lanes, which cards with fewer fp32 lanes have all of.
_INTEGER_INSIDE = frozenset({"rand", "randint"})
#: Reductions of integers that a whole warp has an instruction for from compute capability 8.0 on (``redux.sync``, which Triton writes for
#: up to 32 bits), and the lanes whose shuffles take as long: 16 of them against 32 shuffles a clock and multiprocessor (CUDA C++
#: Programming Guide, throughput of native arithmetic instructions); none is measured here.
_REDUX, _LANES_OF_REDUX = frozenset({"sum", "max", "min", "xor_sum"}), 4


class Lanes(Caches):
    """Nanoseconds of operations in one program; counts what its warps issue and exchange."""

    def _reduce_ns(self, node: Reduce, executions: float) -> float:
        """A reduction: in each thread, across the lanes of a warp (shuffles), then across warps (shared memory and a barrier)."""
        shape, pair = node.shape, self.c.indexed if node.indexed else 1.0
        axes = range(len(shape)) if node.axis is None else [node.axis % len(shape)]
        extent, elements = math.prod(shape[axis] for axis in axes), math.prod(shape)
        if shape and extent == 1:
            return 0.0
        work = pair * self._arithmetic_ns("arith", elements, node.dtype, pair * executions)
        if elements <= 1:
            return work
        # Registers, shuffles and banks are of 32 bits.
        executions *= pair * (2 if node.dtype is not None and node.dtype.bits == 64 else 1)
        layout = self.layout(shape)
        lanes, warps = (math.prod(dealt[axis] for axis in axes) for dealt in (layout.lanes, layout.warps))
        kept = math.prod(value for axis, value in enumerate(layout.values) if axis not in axes)
        cost = self._shuffle_ns(_LANES_OF_REDUX if self._has_redux(node, lanes) else lanes, kept, executions)
        if warps > 1 and extent > lanes * math.prod(layout.values[axis] for axis in axes):
            # Each warp writes its part of every output and reads the results back, an element of each thread at a time; between
            # that the parts of as many outputs as there are threads for are put together in a round.
            rounds = max(1.0, elements / extent * warps / self.threads)
            passes = kept * self.warps * (1.0 + self._meeting(_bank_conflicts(shape, layout, axes, warps)))
            cost += self._barrier_ns(warps) * rounds
            cost += self._pass_ns(passes + 2 * rounds * self.warps, executions)
        return work + cost

    def _has_redux(self, node: Reduce, lanes: int) -> bool:
        """Whether one instruction brings the elements of ``lanes`` together."""
        narrow = node.dtype is not None and node.dtype.is_integer and node.dtype.bits <= 32
        whole = lanes == WARP_LANES and node.op in _REDUX and not node.indexed
        return narrow and whole and (self.device.sm or (0, 0)) >= (8, 0)

    def _scan_ns(self, node: Scan, executions: float) -> float:
        """A scan: in each thread, across lanes, then each warp adds what all those before it have left in shared memory."""
        extent, elements = node.shape[node.axis] if node.shape else 1, math.prod(node.shape)
        if extent == 1:
            return 0.0
        layout = self.layout(node.shape)
        values, lanes, warps = (dealt[node.axis] for dealt in (layout.values, layout.lanes, layout.warps))
        if node.op in ("sort", "topk"):
            return self._sort_ns(layout, node.axis, extent, elements, executions)
        work = 2 * self._arithmetic_ns("arith", node.tensors * elements, None, executions)
        # Each run of neighbours in a thread is carried on by itself.
        runs = math.prod(layout.values) / layout.vector[node.axis] * node.tensors
        cost = self._shuffle_ns(lanes, runs, executions)
        if warps > 1 and extent > lanes * values:
            cost += self._barrier_ns(warps) + self._pass_ns(runs * self.warps * (1 + warps) / 2, executions)
        return work + cost

    def _sort_ns(self, layout: Layout, axis: int, extent: int, elements: int, executions: float) -> float:
        """A bitonic network: each of its steps compares and selects every element with one at a distance of a power of two, the next
        smaller ones after each. Its partner is in the same thread, in another lane or in another warp."""
        depth = math.ceil(math.log2(extent))
        near, lanes, warps = (int(math.log2(dealt[axis])) for dealt in (layout.vector, layout.lanes, layout.warps))
        across = sum(depth - bit for bit in range(near, min(depth, near + lanes)))
        far = sum(depth - bit for bit in range(near + lanes, min(depth, near + lanes + warps)))
        slots = depth * (depth + 1) / 2 * self.c.sort_slots + across * self.c.shuffle_slots
        self.instructions += self._issued(slots, elements, executions)
        cost = self._issue_ns(slots, elements) + across * self.c.shuffle_ns / 5 / self.scale.clock
        if far:
            # Triton sorts a tile with an axis for each bit of the place: neighbours in memory are far apart in shared memory.
            apart = 2 * elements / extent * 2 ** (depth - near - lanes - 1)
            meet = min(2**lanes, max(1.0, apart * 2**lanes / BANKS))
            cost += far * self._barrier_ns(2) * max(1.0, elements / self.threads)
            cost += self._pass_ns(far * math.prod(layout.values) * self.warps * self._meeting(meet), executions)
        return cost

    def _shuffle_ns(self, lanes: int, values: float, executions: float) -> float:
        """Time to bring together so many ``values`` of a thread across ``lanes``; adds the issue slots."""
        steps = math.log2(max(1, lanes))
        self.instructions += self.c.shuffle_slots * steps * values * self.warps * executions
        return self.c.shuffle_ns * steps / 5 / self.scale.clock

    def _barrier_ns(self, warps: int) -> float:
        return self.c.barrier_ns * (1 + 0.25 * math.log2(warps)) / self.scale.clock

    def _meeting(self, lanes: float) -> float:
        """Accesses to shared memory that one takes as long as whose ``lanes`` meet in one bank: the further ones take a cycle each."""
        return 1.0 + self.c.bank_conflict * (lanes - 1.0)

    def _pass_ns(self, passes: float, executions: float) -> float:
        """Time of so many accesses of warps to shared memory; adds them up."""
        self.exchanged += passes * executions
        return passes * self.c.exchange_pass_ns / self.scale.clock

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
        called = measured.slots >= _CALLED or node.dtype.bits == 64
        code = 0.0 if called else measured.slots * self._each(node.elements) * _INSTRUCTION
        code *= _BRANCHES if node.op in BRANCHING else 1
        self.code += code
        self.fetched += code * executions
        share = self.scale.fp64_share if _is_double(node.dtype) else 1.0
        issued = self._issued(measured.slots * share, node.elements, executions)
        if on_special_unit(node):
            self.special_unit += issued
            self.instructions += self._issued(beside(node), node.elements, executions)
        else:
            self.instructions += issued
            if node.dtype.is_float and node.op not in _INTEGER_INSIDE:
                self.arithmetic += issued
        branches = node.op in BRANCHING or node.dtype.bits == 64
        wait = measured.wait_ns * (self._each(node.elements) if branches else 1.0)
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

    def _each(self, elements: int) -> float:
        """Elements of each thread. What a reduction of a tile leaves stays with the lanes that had a part of it: all of them hold it."""
        return self._left.get(elements) or max(1.0, elements / self.threads)

    @cached_property
    def _left(self) -> dict[int, float]:
        """What each thread holds of the results of the reductions of tiles, and of what is spread over tiles, by how many there are."""
        kernel = self.launch.kernel
        shapes = [
            (node.shape, 1 - node.axis % len(node.shape))
            for node in kernel.nodes(Reduce)
            if len(node.shape) == 2 and node.axis is not None
        ]
        # What is loaded as a vector is worked on as such first; few numbers are loaded by all lanes that need them.
        loaded = {load.elements for load in kernel.loads() if load.elements >= self.threads}
        whole = {math.prod(shape) for shape, _ in shapes} | loaded
        others = [place for places in kernel.once(spread).values() for place in places]
        found = {shape[axis]: float(self.layout(shape).values[axis]) for shape, axis in [*others, *shapes]}
        return {elements: each for elements, each in found.items() if elements > 1 and elements not in whole}

    def _issued(self, slots: float, elements: int, executions: float) -> float:
        """Slots that all warps of one program take, at ``slots`` for each of their threads' elements."""
        return self._each(elements) * slots * self.warps * executions

    def _issue_ns(self, slots: float, elements: int) -> float:
        """Time of one program alone to issue them."""
        return (
            self._each(elements) * slots * self.c.dependent_issue_ns * max(1.0, self.warps / 4) / 4 / self.scale.clock
        )


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
    return most_in_a_bank(set(places))
