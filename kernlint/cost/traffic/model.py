"""What each access of a launch asks of memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property

from kernlint.records import dataclass
from kernlint.workload import Atomic, Branch, Launch, Load, Node, Store

#: The unit in which L2 and DRAM answer on NVIDIA hardware (CUDA C++ Best Practices Guide, "Coalesced access").
SECTOR_BYTES = 32


#: The unit in which caches keep an address: one touched sector holds the place of four.
LINE_BYTES = 128


#: Lanes of a warp, whose addresses travel in one request.
WARP_LANES = 32


@dataclass(frozen=True)
class AccessTraffic:
    """What one load, store or atomic of a launch moves.

    ``executions`` counts per program (mean over the grid); ``active_elements`` and ``sectors`` count per execution, a
    mask taken into account in the mean. ``program_bytes`` are the distinct bytes (whole sectors) one program touches
    through this access, ``footprint_bytes`` those of the whole grid, ``moved_bytes`` what the grid asks of the caches
    (sectors x executions x programs). ``contiguous_bytes`` is the run of neighbouring bytes in the tile and so the
    widest vector a thread can move at once; ``aligned`` that rows begin on a sector. ``known`` is false where the
    offset could not be evaluated, ``gather`` where it contains a loaded value. ``signature`` is equal for two accesses
    of one base that walk the same addresses in a program. ``shared_axes`` are the grid axes it does not depend on.
    ``density`` is the share of the memory between the grid's first and last address that it touches. ``near_bytes`` are the
    bytes one program asks of L2 where L1 still holds what the iteration before touched: as moved, but that counts once.
    ``window_bytes`` are the bytes that L1 must hold for that.
    ``vector_bytes`` is what one thread fetches at once, ``strides`` the bytes from lane to lane along each axis of the tile
    (None where they are not constant). ``twins`` counts the loads of the same iteration that see the
    same window of memory shifted, this one included (the taps of a convolution); the distinct bytes of a twin are its
    part of what they touch together, which over the sum of what each touches is ``together`` (of stores as well: the members of
    a structure). ``request_addresses`` are the distinct addresses that one warp's request of an atomic
    goes to, the mask left aside (32 where it cannot be evaluated): lanes beyond these meet in one address.
    """

    access: Load | Store | Atomic
    base: str
    executions: float
    active_elements: float
    sectors: float
    program_bytes: float
    footprint_bytes: float
    moved_bytes: float
    contiguous_bytes: float
    aligned: bool
    known: bool
    gather: bool
    signature: tuple[float, ...]
    shared_axes: frozenset[int]
    density: float = 1.0
    near_bytes: float = 0.0
    window_bytes: float = 0.0
    vector_bytes: int = 16
    twins: int = 1
    together: float = 1.0
    request_addresses: float = float(WARP_LANES)
    strides: tuple[float, ...] | None = None
    #: Elements between the first and the last address of the whole grid.
    reach: float = math.inf
    #: Lines that a request of 32 lanes meets, where the strides between these are not constant; 0 where it is not told.
    request_lines: float = 0.0
    #: The same in the middle of the tile, where they are not constant.
    inner: tuple[float, ...] | None = None
    #: Whether it goes somewhere near what ``strides`` say: its addresses have loaded displacements in them.
    displaced: bool = False
    #: Bytes that the loaded indices of one execution lead to at the most.
    within: float = math.inf
    #: Whether a program comes to it as often as ``executions`` says: not behind a condition on what is read.
    certain: bool = True

    @property
    def line_share(self) -> float:
        """Bytes of cache lines taken over bytes of sectors touched, 1 to 4: isolated sectors hold a line each."""
        if self.contiguous_bytes >= LINE_BYTES:
            return 1.0
        run = SECTOR_BYTES * math.ceil(max(1.0, self.contiguous_bytes) / SECTOR_BYTES)
        touched = self.density * run / max(1.0, self.contiguous_bytes)
        return max(1.0, min(LINE_BYTES / run, 1 / touched if touched > 0 else 1.0))

    @property
    def scattered(self) -> bool:
        """Whether later turns of a loop come back to sectors that each lane has to itself, as a walk along rows does."""
        asked = self.sectors * SECTOR_BYTES * self.executions
        return self.known and self.contiguous_bytes < SECTOR_BYTES and self.program_bytes < 0.9 * asked

    @property
    def held_window(self) -> float:
        """Bytes of lines that caches hold for that in a program: lanes with a row each take a line each."""
        apart = min((abs(step) for step in self.strides or () if step), default=0.0)
        return self.window_bytes * min(LINE_BYTES, max(SECTOR_BYTES, apart)) / SECTOR_BYTES

    @cached_property
    def phases(self) -> float:
        """Turns between two of one lane that meet a new sector over those of any lane: lanes that walk along rows of 2,049 floats come
        to a new one after each other, of 2,048 all at once (``level_by_row``)."""
        steps = [int(abs(step)) for step in self.strides or () if abs(step) >= SECTOR_BYTES]
        if self.executions > 1 and self.near_bytes / self.executions >= self.contiguous_bytes >= SECTOR_BYTES:
            # Of a window of rows that moves, one row is new each turn, and its warp waits for it.
            return max(1.0, self.sectors * SECTOR_BYTES * self.executions / self.near_bytes)
        return float(SECTOR_BYTES // math.gcd(SECTOR_BYTES, *steps))

    @cached_property
    def kind(self) -> str:
        return "load" if isinstance(self.access, Load) else "store" if isinstance(self.access, Store) else "atomic"

    @property
    def asked_bytes(self) -> float:
        """Bytes the active lanes of one execution ask for."""
        return self.active_elements * self.access.dtype.bytes

    @property
    def place(self) -> tuple[float, ...]:
        """The signature without what tells twins apart that coincide."""
        return self.signature[:3]

    @property
    def wanted(self) -> float:
        """Bytes that twins ask for over bytes of the sectors that they touch together, at most 1."""
        return min(1.0, self.efficiency / self.together)

    @property
    def efficiency(self) -> float:
        """Bytes asked over bytes of the sectors touched, at most 1."""
        touched = self.sectors * SECTOR_BYTES
        return min(1.0, self.asked_bytes / touched) if touched else 1.0


@dataclass(frozen=True)
class Traffic:
    """All accesses of a launch, by access object identity in program order, and totals in bytes over the grid. Of the loops,
    ``unknown_trips`` run an assumed number of times, or as often as an axis is long at the most, and ``counted_trips`` as often as
    segments are long in the mean. Where the trips differ between programs, ``uneven`` has those of some that have more than others."""

    programs: int
    accesses: tuple[AccessTraffic, ...]
    trips: Mapping[int, float]
    unknown_trips: int
    counted_trips: int = 0
    uneven: tuple[Mapping[int, float], ...] = ()
    footprints: Mapping[str, float] = field(default_factory=dict)
    by_node: Mapping[int, AccessTraffic] = field(default_factory=dict)
    #: The part of programs that take each arm of a branch, by the identity of the branch.
    shares: Mapping[int, tuple[float, ...]] = field(default_factory=dict)

    def arms(self, branch: Branch) -> Iterator[tuple[tuple[Node, ...], float]]:
        """The arms of ``branch`` with the part of programs that take each."""
        yield from zip(branch.arms, self.shares.get(id(branch)) or [branch.share] * len(branch.arms))

    @property
    def footprint_bytes(self) -> float:
        """Distinct bytes read or written by the launch."""
        return sum(self.footprints.values())

    @cached_property
    def held_bytes(self) -> dict[str, float]:
        """Bytes of cache lines that the launch takes, by base."""
        held: dict[str, float] = {}
        for access in self.accesses:
            lines = min(access.footprint_bytes, self.footprints[access.base]) * access.line_share
            held[access.base] = max(held.get(access.base, 0.0), lines)
        return {base: max(size, held.get(base, 0.0)) for base, size in self.footprints.items()}

    def held_storages(self, launch: Launch) -> dict[int | str, float]:
        """Bytes of cache lines that ``launch`` takes, by storage (by base where that is not known): what reads and writes the same
        tensor takes its place once, and what walks two parts of a storage both."""
        held: dict[tuple[int | str, object], float] = {}
        for base, size in self.held_bytes.items():
            tensor = launch.tensor(base)
            key = (base, None) if tensor is None else (tensor.storage.id, (tensor.offset, tensor.shape, tensor.strides))
            held[key] = max(held.get(key, 0.0), size)
        total: dict[int | str, float] = {}
        for (storage, _), size in held.items():
            total[storage] = total.get(storage, 0.0) + size
        return total

    @property
    def loaded_bytes(self) -> float:
        return sum(a.moved_bytes for a in self.accesses if a.kind == "load")

    @property
    def stored_bytes(self) -> float:
        return sum(a.moved_bytes for a in self.accesses if a.kind != "load")

    @property
    def unknown_share(self) -> float:
        """Share of the moved bytes that belongs to accesses with an unknown offset."""
        total = sum(a.moved_bytes for a in self.accesses)
        return sum(a.moved_bytes for a in self.accesses if not a.known) / total if total else 0.0
