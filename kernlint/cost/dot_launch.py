"""From a launch whose kernel contains ``tl.dot`` to the :class:`~kernlint.cost.dots.DotLoop` that prices it.

The loop with the most tensor work is the loop of the :class:`DotLoop`; dots elsewhere (a second loop over the masked
blocks, a product after the loop) count as further iterations in proportion to their work. Loads inside those loops are
the loop's traffic, everything else is prologue and epilogue.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence

from kernlint import work
from kernlint.cost import gathers
from kernlint.cost.arithmetic import operations, slots_of_node
from kernlint.cost.combine import with_combined_dots
from kernlint.cost.device import Device
from kernlint.cost.dot_loop import DotLoop, DotOperand, DotStep
from kernlint.cost.dot_lowering import fed_class
from kernlint.cost.dots import dot_time, is_chained
from kernlint.cost.evaluate import Columns, origin
from kernlint.cost.gathers import gather_us, gathered_cycles
from kernlint.cost.layout import neighbours, vector_bytes
from kernlint.cost.programs.constants import constants as program_constants
from kernlint.cost.programs.price import SEGMENT_SIGMA, program_time
from kernlint.cost.programs.scale import widen
from kernlint.cost.result import KernelTime
from kernlint.cost.traffic.accesses import traffic
from kernlint.cost.traffic.model import SECTOR_BYTES, AccessTraffic, Traffic
from kernlint.records import dataclass, replace
from kernlint.workload import (
    Branch,
    Compute,
    Dot,
    Expr,
    Launch,
    Load,
    Loop,
    Node,
    Opaque,
    Operand,
    ProgramId,
    Reduce,
    Scan,
    Span,
    concrete,
)
from kernlint.workload.expr import Atom, lift

#: Programs looked at to tell the order in which the grid visits the tiles.
_WAVE_SAMPLE = 32
#: Row and column strips a group of programs must touch to count as two-dimensional.
_GROUP_SIDE = 4


@dataclass(frozen=True)
class _Found:
    """A dot with how often one program executes it and the loops around it, outermost first."""

    dot: Dot
    executions: float
    loops: tuple[Loop, ...]


def kernel_time(launch: Launch, device: Device, reuse_bytes: Mapping[str, float] | None = None) -> KernelTime:
    """Predicted device time of ``launch``: the dot model where the kernel has a ``tl.dot``, the program model else.

    Of an autotuned launch the fastest alternative counts, as the tuner would choose it. Never raises: what is not
    known is assumed and widens sigma. ``reuse_bytes`` is as in :func:`~kernlint.cost.programs.price.program_time` (the dot model
    takes its operands as replayed alone). Launches of a kernel that differ in nothing the time depends on are priced once.
    """
    best = _one_time(launch, device, reuse_bytes)
    for alternative in launch.alternatives:
        time = _one_time(alternative, device, reuse_bytes)
        if time.us < best.us:
            best = replace(time, configuration=alternative)
    return best


def _one_time(launch: Launch, device: Device, reuse_bytes: Mapping[str, float] | None) -> KernelTime:
    launch = launch.original
    known = launch.kernel.launched
    # The device is kept beside the answer, so that nothing else comes to have its identity.
    own = (id(device), launch.num_warps, launch.num_stages, launch.shapes)
    if ("dot", own) not in known:
        work.spend(work.LAUNCH)
        known["dot", own] = device, _dot_time(launch, device)
    time: KernelTime | None = known["dot", own][1]
    if time is None:
        distances = tuple((reuse_bytes or {}).items())
        if ("program", own, distances) not in known:
            work.spend(work.LAUNCH)
            moved = traffic(launch)
            launch = replace(launch, kernel=launch.kernel.once(with_combined_dots))
            known["program", own, distances] = program_time(launch, device, moved=moved, reuse_bytes=reuse_bytes)
        time = known["program", own, distances]
    return time


def _dot_time(launch: Launch, device: Device) -> KernelTime | None:
    """The time of a launch that does nothing, or whose kernel has a dot that runs; None for the program model's."""
    moved = traffic(launch)
    if moved.programs < 1:
        return KernelTime(0.0, widen(0.1, device), "launch", {})
    launch = replace(launch, kernel=launch.kernel.once(with_combined_dots))
    loop = dot_loop(launch, moved) if launch.kernel.dots() else None
    if loop is None:
        return None
    time = dot_time(loop, device)
    extra = [0.35 * moved.unknown_share]
    if moved.unknown_trips:
        extra.append(0.7)
    if moved.counted_trips:
        extra.append(SEGMENT_SIGMA)
    if not launch.kernel.complete:
        extra.append(0.2)
    if launch.programs is None:
        extra.append(1.0)
    if any(_layout_unknown(dot) for dot in launch.kernel.dots()):
        extra.append(0.3)
    gathered = gather_us(gathered_cycles(launch, moved, gathers.constants()), loop.programs, device)
    if gathered:
        extra.append(gathers.constants().sigma)
    sigma = math.sqrt(time.sigma**2 + sum(value**2 for value in extra))
    bound = "issue" if gathered > time.us else time.bound
    terms = {**time.terms, "gather": gathered} if gathered else time.terms
    us = (time.us + gathered) * _card_factor(loop, device)
    kind = _class(loop, gathered)
    return KernelTime(us, max(sigma, device.residuals.get(kind, 0.0)), bound, terms, kind=kind)


def _class(loop: DotLoop, gathered: float) -> str:
    """The class of kernels with dots that a loop belongs to."""
    return "convolution" if gathered else "attention" if is_chained(loop) else "dot"


def _card_factor(loop: DotLoop, device: Device) -> float:
    """What dots of the type that is fed take on this card over what follows from its data sheet."""
    step = max(loop.steps, key=lambda step: step.m * step.n * step.k)
    fed = f"dot_{fed_class(step.a, step.precision)}"
    return device.factor(fed if fed in device.factors else "dot")


def dot_loop(launch: Launch, moved: Traffic | None = None) -> DotLoop | None:
    """The :class:`DotLoop` of ``launch``, whose traffic may be ``moved``; None when its kernel has no dot that runs."""
    if moved is not None:
        return _dot_loop(launch, moved)
    known, key = launch.original.kernel.launched, ("loop", launch.num_warps, launch.num_stages, launch.shapes)
    if key not in known:
        known[key] = _dot_loop(launch.original, traffic(launch.original))
    loop: DotLoop | None = known[key]
    return loop


def _dot_loop(launch: Launch, moved: Traffic) -> DotLoop | None:
    found = [f for f in _dots(launch.kernel.body, 1.0, (), moved) if f.executions > 0]
    if not found:
        return None
    groups: dict[tuple[int, ...], list[_Found]] = {}
    for one in found:
        groups.setdefault(tuple(loop.id for loop in one.loops), []).append(one)
    work = {key: sum(f.dot.flops * f.executions for f in members) for key, members in groups.items()}
    main_key = max(work, key=lambda key: work[key])
    members = groups[main_key]
    iterations = max(f.executions for f in members)
    iterations *= sum(work.values()) / work[main_key] if work[main_key] else 1.0
    inner = members[0].loops[-1] if members[0].loops else None
    dot_loops = {loop_id for key in groups for loop_id in key}
    inside = _nodes_inside(launch.kernel.body, dot_loops)
    loop_loads = {node.id for node in inside if isinstance(node, Load)}
    loads = {node.id: node for node in inside if isinstance(node, Load)} if inner else {}
    dots = [f.dot for f in members]
    body = members[0].loops[-1].body if members[0].loops else launch.kernel.body
    # Without a loop, operands are worked on as they were loaded, each element once.
    made = _work_on_operands(dots, body) if inner is not None else {}
    steps = _once_each(dots, [_step(dot, loads, made, dots) for dot in dots])

    unique = loaded = epilogue = 0.0
    seen: dict[str, float] = {}
    for access in moved.accesses:
        if isinstance(access.access, Load) and (access.access.id in loop_loads or inner is None):
            loaded += max(access.moved_bytes, access.access.bytes * access.executions * moved.programs)
            seen[access.base] = moved.footprints.get(access.base, access.footprint_bytes)
        else:
            epilogue += access.moved_bytes * _write_penalty(access)
    unique = sum(seen.values())
    alu, special = _arithmetic(
        [node for node in body if not (isinstance(node, Compute) and node.elements in made)], moved
    )
    grid_m, grid_n, grouped, rows_first = _order(launch, members[0].dot, moved)
    return DotLoop(
        programs=max(1, moved.programs),
        iterations=max(0.0, iterations),
        steps=steps,
        num_warps=max(1, launch.num_warps),
        num_stages=max(1, _stages(inner, launch)),
        unique_bytes=unique,
        loaded_bytes=max(loaded, 0.0),
        epilogue_bytes=epilogue,
        pipelined=inner is not None and inner.kind in ("range", "tl.range") and _loads_plain(inner, loop_loads),
        grouped=grouped,
        grid_m=grid_m,
        grid_n=grid_n,
        rows_first=rows_first,
        extra_alu_elements_per_iteration=alu,
        special_elements_per_iteration=special,
        most_iterations=_most_iterations(members[0].loops, launch),
        masked=not loads or any(load.mask is not None for load in loads.values()),
        edge_work=_work_outside(launch.kernel.body, {key[-1] for key in groups if key}, moved)
        if inner is not None
        else 0.0,
        entries=max(1.0, members[0].executions / moved.trips.get(inner.id, 1.0)) if inner is not None else 1.0,
    )


def _most_iterations(loops: tuple[Loop, ...], launch: Launch) -> float:
    """Trip count of the program with the longest loop, where programs differ (causal attention); 0 where all are alike
    or it is not known. Trips are monotone in each program id, so a corner of the grid has the longest."""
    if not any(isinstance(loop.trip, Expr) and loop.trip.value is None for loop in loops):
        return 0.0
    extents = [max(1, extent) if (extent := concrete(size)) is not None else 1 for size in launch.grid]
    most = 0.0
    for corner in itertools.product(*((0, extent - 1) for extent in extents)):
        values: dict[Atom, float] = {ProgramId(axis): float(index) for axis, index in enumerate(corner)}
        trips = [lift(loop.trip).evaluate(values) if loop.trip is not None else None for loop in loops]
        if any(trip is None for trip in trips):
            return 0.0
        most = max(most, math.prod(max(0.0, trip) for trip in trips if trip is not None))
    return most


def _dots(body: tuple[Node, ...], executions: float, loops: tuple[Loop, ...], moved: Traffic) -> list[_Found]:
    result: list[_Found] = []
    for node in body:
        if isinstance(node, Dot):
            result.append(_Found(node, executions, loops))
        elif isinstance(node, Loop):
            result += _dots(node.body, executions * moved.trips.get(node.id, 1.0), (*loops, node), moved)
        elif isinstance(node, Branch):
            for arm, share in moved.arms(node):
                result += _dots(arm, executions * share, loops, moved)
    return result


def _nodes_inside(body: tuple[Node, ...], loop_ids: set[int]) -> list[Node]:
    """Nodes of the loops named, at any depth."""
    result: list[Node] = []
    for node in body:
        if isinstance(node, Loop):
            if node.id in loop_ids:
                result += _flatten(node.body)
            else:
                result += _nodes_inside(node.body, loop_ids)
        elif isinstance(node, Branch):
            for arm in node.arms:
                result += _nodes_inside(arm, loop_ids)
    return result


def _flatten(body: tuple[Node, ...]) -> list[Node]:
    result: list[Node] = []
    for node in body:
        result.append(node)
        if isinstance(node, Loop):
            result += _flatten(node.body)
        elif isinstance(node, Branch):
            for arm in node.arms:
                result += _flatten(arm)
    return result


def _stages(inner: Loop | None, launch: Launch) -> int:
    if inner is None:
        return 1
    return inner.num_stages if inner.num_stages is not None else launch.num_stages


def _loads_plain(inner: Loop, loads: set[int]) -> bool:
    """No load of the loop stands under a run-time ``if``, which the pipeliner does not lift."""
    for node in inner.body:
        if isinstance(node, Branch) and any(
            isinstance(deep, Load) and deep.id in loads for arm in node.arms for deep in _flatten(arm)
        ):
            return False
    return True


def _work_outside(body: Sequence[Node], innermost: set[int], moved: Traffic) -> float:
    """Instructions on single elements that a program has outside the loops around its dots, ``innermost``."""
    total = 0.0
    for node in body:
        if isinstance(node, Compute):
            total += node.elements * slots_of_node(node)
        elif isinstance(node, Reduce):
            total += math.prod(node.shape)
        elif isinstance(node, Loop) and node.id not in innermost:
            total += moved.trips.get(node.id, 1.0) * _work_outside(node.body, innermost, moved)
        elif isinstance(node, Branch):
            total += sum(share * _work_outside(arm, innermost, moved) for arm, share in moved.arms(node))
    return total


def _work_on_operands(dots: Sequence[Dot], body: Sequence[Node]) -> dict[int, float]:
    """Instructions that make an element of the operands that ``body`` computes from what it loads, by the elements of these; what one
    dot makes of the result of another is no such operand."""
    sizes: list[int] = []
    scaled: set[int] = set()
    loads = {node.id for node in body if isinstance(node, Load)}
    for dot in dots:
        for operand, elements in ((dot.a, dot.m * dot.k), (dot.b, dot.k * dot.n)):
            if not operand.direct and operand.loads & loads and not _is_result(operand, dots, loads):
                sizes.append(elements)
                # One that is cast and scaled reaches the tensor cores as one that is cast.
                scaled |= {elements} if operand.unscaled is not None else set()
    found = [node for node in body if isinstance(node, Compute)]
    # Of operands of one size each has its share.
    return {
        size: sum(slots_of_node(n) for n in found if n.elements == size and (n.kind != "cast" or size not in scaled))
        / sizes.count(size)
        for size in sizes
    }


def _is_result(operand: Operand, dots: Sequence[Dot], loads: Collection[int]) -> bool:
    """Whether a computed operand is what one of ``dots`` has made, in this iteration or, as a state, in those before: it depends on all
    that the other is made from. Of its own dot it is where that takes a tile loaded before the loop, whose ``loads`` these are."""

    def makes(dot: Dot) -> bool:
        if not dot.a.loads | dot.b.loads <= operand.loads:
            return False
        if operand not in (dot.a, dot.b):
            return bool(dot.a.loads or dot.b.loads)
        held = (dot.b if operand is dot.a else dot.a).loads
        return bool(held) and not held.intersection(loads)

    return not operand.direct and any(map(makes, dots))


def _step(dot: Dot, loads: Mapping[int, Load], work: Mapping[int, float], dots: Sequence[Dot]) -> DotStep:
    m, n, k = (max(1, extent) for extent in (dot.m, dot.n, dot.k))
    a, b = (
        _operand(operand, loads, (other, k), work, _is_result(operand, dots, loads))
        for operand, other in ((dot.a, m), (dot.b, n))
    )
    return DotStep(m=m * max(1, dot.batch), n=n, k=k, a=a, b=b, precision=dot.precision, out=dot.out)


def _once_each(dots: Sequence[Dot], steps: Sequence[DotStep]) -> tuple[DotStep, ...]:
    """``steps``, those of ``dots``, with the operands marked that an earlier dot has loaded and cast already, along either axis."""
    seen: dict[tuple[int | None, tuple[Span, ...]], set[bool | None]] = {}
    marked = []
    for dot, step in zip(dots, steps):
        pair = []
        for source, operand in ((dot.a, step.a), (dot.b, step.b)):
            tile = (source.load, tuple(cast.span for cast in source.casts))
            again = source.direct and source.load is not None and operand.reload and tile in seen
            orders = seen.setdefault(tile, set())
            pair.append(replace(operand, again=again, turned=again and operand.k_major not in orders))
            orders.add(operand.k_major)
        marked.append(replace(step, a=pair[0], b=pair[1]))
    return tuple(marked)


def _operand(
    operand: Operand, loop_loads: Mapping[int, Load], extents: tuple[int, int], work: Mapping[int, float], result: bool
) -> DotOperand:
    """An operand of the ``extents`` across and along k. ``loop_loads`` are the loads of the loop by id: an operand from one of them is
    loaded anew each iteration, but for the ``result`` of a dot. ``work`` as of :func:`_work_on_operands`."""
    if result:
        return DotOperand(operand.dtype, operand.dtype, None, reload=False)
    own, elements = [loop_loads[id] for id in operand.loads if id in loop_loads], math.prod(extents)
    reload = bool(own)
    vector = min((vector_bytes(load) for load in own), default=16)
    made = 0.0 if operand.direct else work.get(elements, 0.0)
    if operand.unscaled is not None and reload:
        operand = operand.unscaled
    if not operand.direct:
        tile = next((load for load in own if load.elements == elements), None)
        memory = operand.dtype if tile is None else tile.dtype
        along_k = (
            tile is not None and (lies := neighbours(tile)) is not None and tile.shape[lies] == extents[1] != extents[0]
        )
        return DotOperand(memory, operand.dtype, None, reload, vector, along_k=along_k, work=made)
    k_major = operand.k_major
    if k_major is None:
        # Neither stride is known to be one: strided along both axes, else taken as the better layout.
        strided = concrete(operand.k_stride) is not None and concrete(operand.other_stride) is not None
        k_major = not strided
    scattered = reload and _scattered(operand)
    return DotOperand(operand.memory_dtype, operand.dtype, k_major, reload, vector, scattered, work=made)


def _scattered(operand: Operand) -> bool:
    """Whether neighbours along both axes are in different sectors of memory."""
    strides = [concrete(stride) for stride in (operand.k_stride, operand.other_stride)]
    return all(stride is not None and abs(stride) * operand.memory_dtype.bytes >= SECTOR_BYTES for stride in strides)


def _layout_unknown(dot: Dot) -> bool:
    """The layout decides (8-bit or tf32 operands) and is not known."""
    return any(o.direct and o.k_major is None and o.dtype.bits != 16 for o in (dot.a, dot.b))


def _write_penalty(access: AccessTraffic) -> float:
    """How much dearer a byte of this store is than one read: sectors written in part, and read-modify-write."""
    c = program_constants()
    if access.kind == "atomic":
        return 2.0
    if access.kind == "store" and access.wanted < 0.6:
        return max(1.0, c.l2_read_gb_per_s / c.l2_partial_write_gb_per_s)
    return 1.0


def _counts_once(node: Compute) -> bool:
    """Arithmetic of softmax and the like: what the dot model's own rate of fp32 and half precision was fitted to."""
    return node.dtype.is_float and node.dtype.bits <= 32


def _arithmetic(body: Sequence[Node], moved: Traffic) -> tuple[float, float]:
    """(plain, special) elements of an iteration, casts of operands left out (the dot model has them). A function
    that takes longer than ``exp`` counts as more elements of it, double precision and integers as more fp32 elements."""
    measured = operations()
    plain = special = 0.0
    for node in body:
        if isinstance(node, Compute):
            if node.kind == "special":
                special += node.elements * measured.times(node, "exp")
            elif node.kind == "arith" and not node.accumulates:
                plain += node.elements * (1.0 if _counts_once(node) else measured.times(node, "+"))
        elif isinstance(node, (Reduce, Scan)):
            # Where each value carries its place along, both are compared and both selected, each step behind the one before it.
            pair = program_constants().indexed if isinstance(node, Reduce) and node.indexed else 1.0
            plain += pair**2 * math.prod(node.shape)
        elif isinstance(node, Loop):
            p, s = _arithmetic(node.body, moved)
            trip = moved.trips.get(node.id, 1.0)
            plain, special = plain + p * trip, special + s * trip
    return plain, special


def _order(launch: Launch, dot: Dot, moved: Traffic) -> tuple[int, int, bool, bool]:
    """(tiles along m, tiles along n, grouped, rows first) of one output matrix, read off the operands' offsets.

    The first programs of the grid are enumerated in launch order (axis 0 fastest) and the distinct row strips of A and
    column strips of B among them counted. Tiles are 0, 0 where that cannot be told or the grid is a batch.
    """
    a = next((moved_access for moved_access in _operand_accesses(dot.a, moved)), None)
    b = next((moved_access for moved_access in _operand_accesses(dot.b, moved)), None)
    if a is None or b is None or a.access.offset is None or b.access.offset is None:
        return 0, 0, False, False
    programs = moved.programs
    grid_m, grid_n = _strips(a, programs), _strips(b, programs)
    if grid_m * grid_n < programs * 0.75 or grid_m * grid_n > programs * 1.5:
        grid_m = grid_n = 0
    if programs < 16:
        return grid_m, grid_n, False, False
    count = min(_WAVE_SAMPLE, programs)
    first = _first_programs(launch, count)
    rows, columns = (len(set(first.values(offset) or ())) for offset in (a.access.offset, b.access.offset))
    mixed = any(_mixes(access.access.offset) for access in (a, b))
    grouped = mixed and min(rows, columns) >= _GROUP_SIDE and rows * columns <= 2 * count
    return grid_m, grid_n, grouped, rows > columns and not grouped


def _operand_accesses(operand: Operand, moved: Traffic) -> list[AccessTraffic]:
    return [a for a in moved.accesses if isinstance(a.access, Load) and a.access.id in operand.loads]


def _strips(access: AccessTraffic, programs: int) -> int:
    """Distinct strips of a matrix: what the grid reads over what one program reads."""
    if not access.program_bytes:
        return 1
    return max(1, min(programs, round(access.footprint_bytes / access.program_bytes)))


def _mixes(offset: Expr | None) -> bool:
    """The offset depends on a program id through a division, remainder or minimum."""
    if offset is None:
        return False
    return any(
        isinstance(atom, Opaque) and any(isinstance(inner, ProgramId) for arg in atom.args for inner in arg.atoms())
        for atom in offset.atoms()
    )


def _first_programs(launch: Launch, count: int) -> Columns:
    """The first lanes of the first ``count`` programs."""
    programs: dict[Atom, list[float]] = {}
    before = 1
    for axis, size in enumerate(launch.grid[:3]):
        extent = max(1, concrete(size) or 1)
        programs[ProgramId(axis)] = [float(index // before % extent) for index in range(count)]
        before *= extent
    return Columns(programs, count, origin())
