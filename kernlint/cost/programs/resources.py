"""What one launch has of a device: layouts of its tiles, registers, programs on an SM at a time."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Mapping
from functools import cached_property, lru_cache

from kernlint.cost.arithmetic import Operations
from kernlint.cost.device import Device
from kernlint.cost.held import held
from kernlint.cost.layout import Layout, blocked, fastest_axis, neighbours
from kernlint.cost.programs.constants import Constants
from kernlint.cost.programs.scale import Scale
from kernlint.cost.registers import TileSizes, pressures
from kernlint.cost.traffic.model import LINE_BYTES, SECTOR_BYTES, WARP_LANES, AccessTraffic, Traffic
from kernlint.workload import Atomic, Branch, Kernel, Launch, Load, Loop, Store

#: What an asynchronous copy fetches at least, and how long an SM is busy with one of a warp and with reading it back
#: (``h100-row-stages.csv``: where threads copy 4 bytes at a time, a pipelined loop takes as long as it has copies).
_LEAST_COPY = 4
#: How many more lines and words of a bank lanes meet that are displaced by a little than those that are not (``moved_volume``).
_DISPLACED = 2.0


class Resources(TileSizes):
    """What a launch has of a device, and counters of what its programs issue."""

    def __init__(
        self,
        launch: Launch,
        moved: Traffic,
        device: Device,
        c: Constants,
        reuse_bytes: Mapping[str, float],
        operations: Operations,
    ) -> None:
        self.launch = launch
        self.moved = moved
        self.reuse_bytes = reuse_bytes
        self.device = device
        self.c = c
        self.operations = operations
        self.scale = Scale(device)
        self.programs = max(0, moved.programs)
        self.warps = max(1, launch.num_warps)
        self.threads = 32 * self.warps
        self._layouts: dict[tuple[int, ...], Layout] = {}
        self.largest_tile = self._largest_tile()
        self.held = launch.kernel.once(held)
        self.pressures = list(pressures(launch.kernel.body, self))
        self.register_limit = min(float(device.max_registers_per_thread), device.registers_32bit_per_sm / self.threads)
        self.registers = max((p.registers for p in self.pressures), default=28.0)
        self.exchanged = 0.0
        self.resident = self._resident()
        self.working = self._working()
        self.active_programs = min(self.programs, self.resident * device.sm_count)
        # L2 keeps lines, so sectors that stand alone crowd it out four times as fast (``stride_copy``).
        self.footprint = sum(moved.held_storages(launch).values())
        self.program_footprint = self._on_an_sm(1.0)
        self.instructions = 0.0
        self.asking: dict[int, float] = {}
        self.arithmetic = 0.0
        self.special = 0.0
        self.special_unit = 0.0
        self.code = 0.0
        self.fetched = 0.0
        self._levels()

    @abstractmethod
    def _levels(self) -> None:
        """Which level of memory answers each access."""

    def whole_vectors(self, load: Load) -> bool:
        return self._vector(load) >= min(4, load.bytes)

    def layout(self, shape: tuple[int, ...]) -> Layout:
        """How a tile is dealt out: as the widest access of that shape is, else last axis first, an element a thread."""
        found = self._layouts.get(shape)
        if found is None:
            found = self._layouts[shape] = self._layout(shape)
        return found

    def _layout(self, shape: tuple[int, ...]) -> Layout:
        made = [node for node in self.launch.kernel.nodes((Load, Store)) if node.shape == shape]
        if not made:
            return blocked(shape, len(shape) - 1, 4 if len(shape) == 1 else 1, self.warps)
        widest = max(made, key=self._vector_elements)  # type: ignore[arg-type]
        return blocked(shape, fastest_axis(widest), self._vector_elements(widest), self.warps)  # type: ignore[arg-type]

    def _vector(self, node: Load | Store | Atomic) -> int:
        """Bytes one thread moves at once."""
        access = self.moved.by_node.get(id(node))
        return node.dtype.bytes if access is None else max(node.dtype.bytes, access.vector_bytes)

    def _vector_elements(self, node: Load | Store | Atomic) -> int:
        """Elements of a thread's one fetch."""
        return self._vector(node) // max(1, node.dtype.bytes)

    def _vectors(self, node: Load | Store | Atomic) -> float:
        """Memory instructions of a thread for one execution."""
        in_rows = self._in_rows.get(node.id) if isinstance(node, Load) else None
        each = node.elements / self.threads if in_rows is None else in_rows[0].values[in_rows[1]]
        return max(1.0, each * node.dtype.bytes / self._vector(node))

    def _pieces(self, node: Atomic) -> float:
        """Requests that the neighbours of a thread take: floating point is added by the vector from Hopper on, all else element by
        element, the lanes a vector apart."""
        if node.elements <= 1 or (node.dtype.is_float and node.dtype.bits < 64 and (self.device.sm_major or 0) >= 9):
            return 1.0
        return float(max(1, self._vector_elements(node)))

    @cached_property
    def _in_rows(self) -> dict[int, tuple[Layout, int]]:
        """The layouts of the tiles that few loaded numbers are spread over, with the axis of these, by the load: each lane fetches those
        that it needs, so that lanes of all rows do (``short_filter``; ``isExpensiveLoadOrStore`` of ``TritonGPU/Transforms``)."""
        found = self.launch.kernel.once(spread)
        return {
            load.id: (self.layout(found[load.id][0][0]), found[load.id][0][1])
            for load in self.launch.kernel.loads()
            if 1 < load.elements < self.threads and found.get(load.id)
        }

    def _requests(self, node: Atomic) -> float:
        """Instructions of all warps for one execution of an atomic."""
        together = self._vector_elements(node) if self._pieces(node) == 1.0 else 1
        return self._asked(node) / node.dtype.bytes / together / WARP_LANES

    def _largest_tile(self) -> int:
        """Elements of the largest tile loaded (stored, where nothing is): larger ones are made by broadcasting."""
        loads = [node.elements for node in self.launch.kernel.loads()]
        nodes = self.launch.kernel.walk((Store, Atomic))
        return max(loads or [node.elements for node, _ in nodes], default=1) or 1

    def _ahead(self, loop: Loop) -> bool:
        """Whether the loads of ``loop`` are copied to shared memory some iterations ahead: a copy takes 4 bytes or more, so
        that smaller pieces are loaded as ever."""
        loads = (node for node in loop.body if isinstance(node, Load))
        return _pipelined(loop) and all(self._vector(load) >= _LEAST_COPY for load in loads)

    def _resident(self) -> int:
        """Programs resident on one SM."""
        device = self.device
        granted = min(max(32.0, self.registers), self.register_limit)
        by_registers = device.registers_32bit_per_sm / (granted * self.threads)
        by_warps = device.max_warps_per_sm / (self.threads / device.warp_size_threads)
        by_blocks = device.max_blocks_per_sm or device.max_warps_per_sm
        staged = 0.0
        for node, loops in self.launch.kernel.walk(Load):
            if loops and self._ahead(loops[-1]):
                staged += node.bytes * (loops[-1].num_stages or 1)
        by_shared = device.shared_memory_bytes_per_sm / staged if staged else math.inf
        return max(1, int(min(by_registers, by_warps, by_blocks, by_shared)))

    def _working(self) -> float:
        """The part of programs that do not return at once: those that take the arm which the whole kernel stands in."""
        part, body = 1.0, self.launch.kernel.body
        while (
            body and isinstance(body[-1], Branch) and not any(isinstance(n, (Store, Atomic, Loop)) for n in body[:-1])
        ):
            arms = [(arm, share) for arm, share in self.moved.arms(body[-1]) if arm]
            if len(arms) != 1:
                break
            body, share = arms[0]
            part *= share
        return max(part, 1 / max(1, self.programs))

    def _waves(self) -> float:
        """Rounds of resident programs; a started round counts in part, as programs end one by one."""
        waves = self.programs * self.working / (self.resident * self.device.sm_count)
        return max(1.0, waves)

    def _on_busiest(self) -> float:
        """Programs of the SM that has the most. They are as many as fit evenly: with one more than that, one SM works alone at
        the end (``same_work``: 267 programs on 132 SMs take as long as 396). Programs that return early do not count."""
        working = self.programs * self.working / self.device.sm_count
        return math.ceil(working) if self.working == 1.0 else max(1.0, working)

    def _on_an_sm(self, programs: float) -> float:
        """Distinct bytes that so many programs touch: what they all read is there once, and what neighbours along the first axis read
        once for as many of these as there are."""
        seen: dict[tuple[object, ...], float] = {}
        first = self.launch.grid[0] if self.launch.grid else 1
        rows = programs * self.device.sm_count / max(1, first if isinstance(first, int) else 1)
        for access in self.moved.accesses:
            key = (access.base, access.signature)
            apart = min(programs, max(1.0, rows)) if 0 in access.shared_axes else programs
            together = min(apart * access.program_bytes, max(access.program_bytes, access.footprint_bytes))
            seen[key] = max(seen.get(key, 0.0), together)
        return sum(seen.values())

    def _asked(self, node: Load | Store | Atomic) -> float:
        access = self.moved.by_node.get(id(node))
        return node.bytes if access is None else min(node.bytes, access.asked_bytes)

    def _line_cycles(self, access: AccessTraffic) -> float:
        """Cycles of L1 that one execution takes: those of its requests' lines, or of the banks in which words meet."""
        requests, lines, words = self._requests_of(access)
        return requests * max(lines / self.c.lines_per_cycle, words / self.c.words_of_a_bank_per_cycle)

    def _requests_ns(self, node: Load | Store) -> float:
        """Time that a warp takes for its own requests: to issue what they are made from, and in L1 beyond that of its bytes, where its
        lanes lie apart; other warps go on meanwhile."""
        issued = self._asking_slots(node) * max(1.0, self.warps / 4)
        access = self.moved.by_node.get(id(node))
        cycles = 0.0 if access is None else self._line_cycles(access) - access.asked_bytes / LINE_BYTES - self.warps
        return (issued + max(0.0, cycles) / self.warps) / self.scale.clock_ghz

    def _asking_slots(self, node: Load | Store | Atomic) -> float:
        """Instructions of a warp for one execution: the requests, and what works out addresses and masks."""
        per_thread = max(1.0, node.elements / self.threads)
        return self.c.instructions_per_access * self._vectors(node) + self.c.instructions_per_element * per_thread

    def _requests_of(self, access: AccessTraffic) -> tuple[float, float, float]:
        """Requests of warps for one execution, the 128-byte lines that one touches, and the words of it that lie in one bank of L1.

        A load that cannot be vectorised still has its elements dealt out as the widest access of its shape: its lanes are
        as far apart as the vectors of that one. Of lanes in no order only the lines are told.
        """
        node, vector = access.access, access.vector_bytes
        active = access.active_elements / node.elements if node.elements else 0.0
        requests = active * self.warps * max(1.0, node.elements / self.threads * node.dtype.bytes / vector)
        if node.elements <= 1:
            return requests, 1.0, 1.0
        if node.id in self._in_rows and access.strides is not None:
            layout, axis = self._in_rows[node.id]
            requests = self.warps * max(1.0, layout.values[axis] * node.dtype.bytes / vector)
            step = int(abs(access.strides[-1])) * layout.vector[axis]
            return requests, *_lines_and_banks((step,), (layout.lanes[axis],), node.shape, vector)
        lanes = min(float(WARP_LANES), max(1.0, node.elements / self.warps))
        strides = access.strides
        if strides is None and len(node.shape) > 1 and neighbours(node) is None:
            strides = access.inner
        if strides is not None:
            dealt = self._dealt(access)
            steps = tuple(int(abs(stride)) * held for stride, held in zip(strides, dealt.vector))
            fetched = min(vector, math.prod(dealt.vector) * node.dtype.bytes)
            found, words = _lines_and_banks(steps, dealt.lanes, node.shape, fetched)
            more = _DISPLACED if access.displaced else 1.0
            return requests, found * more, words * more
        if access.request_lines:
            return requests, access.request_lines, 1.0
        run = max(vector, min(LINE_BYTES, access.contiguous_bytes))
        lines = lanes * vector / run
        if access.gather:
            # Random lines of those that there are.
            there = max(1.0, access.within / LINE_BYTES)
            return requests, max(1.0, there * -math.expm1(-lines / there) if there < math.inf else lines), 1.0
        # Lanes that share addresses or follow each other closely (``i // 2``) meet in lines all the same.
        held = math.prod(self._dealt(access).vector)
        touched = access.sectors * SECTOR_BYTES * access.line_share / node.elements * held * lanes
        lines = max(1.0, min(lines, touched / LINE_BYTES))
        return requests, lines, lines

    def _dealt(self, access: AccessTraffic) -> Layout:
        """How the lanes of a load are dealt out. In two dimensions one without neighbours in memory goes by another order of the axes
        than the others of its shape, and so its own way (``taps``, and ``blur`` of ``h200-orders.csv``)."""
        shape = access.access.shape
        if len(shape) > 1 and neighbours(access.access) is None:
            return blocked(shape, 0, 1, self.warps)
        return self.layout(shape)


def spread(kernel: Kernel) -> dict[int, list[tuple[tuple[int, ...], int]]]:
    """The shapes of the tiles that vectors are spread over, with the axes of these, by the load that a vector is (0: by anything else).
    All lanes of a row work it out (angles of places that all heads share, ``rotate_by_place``)."""
    values, found = kernel.values, dict[int, list[tuple[tuple[int, ...], int]]]()
    for value in values or ():
        if values is None or value.op != "axes" or len(value.shape) != 2 or math.prod(value.shape) <= 1:
            continue
        made = values.operands(value)[0]
        while made.op == "cast":
            made = values.operands(made)[0]
        axis = max((0, 1), key=lambda one: value.shape[one])
        tiles = {user.shape for user in values.users(value) if len(user.shape) == 2 and min(user.shape) > 1}
        places = [(shape, axis) for shape in sorted(tiles) if shape[axis] == value.shape[axis]]
        found.setdefault(made.node if made.op == "load" else 0, []).extend(places)
    return found


#: Words of L1 and of shared memory, which are one memory, that are read or written at a time, each in a bank of its own.
BANKS, _WORD_BYTES = 32, 4


def most_in_a_bank(words: Collection[int]) -> int:
    """How many of ``words``, by their numbers in memory, lie in the bank that has most of them."""
    return max(Counter(word % BANKS for word in words).values())


@lru_cache(maxsize=4096)
def _lines_and_banks(
    steps: tuple[int, ...], lanes: tuple[int, ...], shape: tuple[int, ...], vector: int
) -> tuple[float, float]:
    """The lines that a warp's request touches, its lanes ``steps`` bytes apart along each axis with ``vector`` bytes each, and the most
    words in one bank: lanes 16 bytes apart meet in eight of the banks, such three words apart in none (``strided`` of
    ``h200-banks.csv``)."""
    places = {0}
    for step, count, extent in zip(steps, lanes, shape):
        places = {place + lane * step for place in places for lane in range(min(count, extent))}
    words = {(place + byte) // _WORD_BYTES for place in places for byte in range(0, vector, _WORD_BYTES)}
    lines = {word * _WORD_BYTES // LINE_BYTES for word in words}
    return float(len(lines)), float(most_in_a_bank(words))


def _pipelined(loop: Loop) -> bool:
    return loop.kind == "tl.range" and (loop.num_stages or 0) > 1
