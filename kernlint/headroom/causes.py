"""Where the time between now and the achievable goes: causes, each the same call with one thing removed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from kernlint.cost.device import Device
from kernlint.cost.dot_launch import kernel_time
from kernlint.cost.estimate import Estimate
from kernlint.cost.programs.constants import launch_floor_us
from kernlint.cost.result import StepTime
from kernlint.cost.segments import loaded
from kernlint.cost.traffic.accesses import traffic
from kernlint.headroom import kernels
from kernlint.headroom.graph import COLUMN, KERNEL, LIBRARY, PRODUCT, TOTAL, Graph, Node, graph_of, product_extents
from kernlint.headroom.groups import group_of
from kernlint.headroom.readers import read_by_many
from kernlint.headroom.witness import Witness
from kernlint.records import dataclass, replace
from kernlint.workload import Branch, HostSync, Kernel, Launch, Repeat, Span, Step, Store, Tensor, TorchOp, Workload
from kernlint.workload import dtype as dt
from kernlint.workload.access import Bounds
from kernlint.workload.steps import walk_steps

#: The category of the remedy of each facet of a kernel.
_CATEGORY = {
    kernels.UNIT: "precision", kernels.WORK: "algorithm", kernels.REPEATED: "algorithm", kernels.SECTORS: "memory",
    kernels.ATOMICS: "memory", kernels.IDLE: "tiling", kernels.FEW: "tiling", kernels.MANY: "tiling",
    kernels.SERIAL: "algorithm", kernels.EXCHANGE: "tiling", kernels.LATENCY: "tiling", kernels.TILE: "tiling", kernels.SPILLS: "tiling",
}  # fmt: skip


#: Kernels with less of a call's time than this are not looked into.
_LEAST_SHARE = 0.02


@dataclass(frozen=True)
class Cause:
    """``alone_us`` is what the call would save if this alone were removed; ``us`` its part of the gap where all are removed one
    after another. ``symbol`` is the kernel or host function to blame, at ``span``."""

    name: str
    category: str
    alone_us: float
    span: Span
    symbol: str
    kernel: str = ""
    evidence: str = ""
    us: float = 0.0
    #: Whether what is left without it is known to be reached: the time of the same kernel, which does the same work, or what a rule
    #: has proven.
    reachable: bool = field(default=False, compare=False)
    #: The steps that hang together, of a cause of several.
    steps: tuple[Step, ...] = field(default=(), compare=False, repr=False)

    @property
    def tunes(self) -> bool:
        """Whether the same work is only to be dealt out differently: a larger tile that reads less does less."""
        return self.category == "tiling" and self.name != kernels.REPEATED


def causes_of(
    workload: Workload, now: Estimate, device: Device, wanted: Sequence[Witness], achievable_us: float
) -> list[Cause]:
    """The causes of the gap between ``now`` and ``achievable_us``, the largest alone first. ``wanted`` are the witnesses of what is
    asked for."""
    found = [*_syncs(now), *_loops(workload, now, device), *_round_trips(workload, now, device)]
    found += _in_kernels(now, device, wanted)
    found = _together(cause for cause in found if cause.alone_us > 0)
    gap = (now.gpu_us or 0.0) - achievable_us
    found = waterfall([*found, *_unexplained(waterfall(found, gap), now, gap)], gap)
    return sorted(found, key=_rank)


#: The shares of a gap, and of the call, that have to be left over for other kernels to be the answer.
_MOSTLY, _MUCH = 0.5, 0.2


def _unexplained(found: Sequence[Cause], now: Estimate, gap: float) -> Iterator[Cause]:
    """What the causes ``found`` leave of a ``gap`` that is mostly without one: well-written launches take less, whatever it is that the
    dearest kernel does otherwise."""
    left = gap - sum(cause.us for cause in found)
    launches = [row for row in now.steps if isinstance(row.step, Launch)]
    if not launches:
        return
    dearest = max(launches, key=lambda row: row.total_gpu_us)
    assert isinstance(dearest.step, Launch)
    # What the launches take anyway is no gap.
    floors = launch_floor_us() * sum(row.count for row in now.steps if row.gpu_us > 0)
    if left < max(_MOSTLY * gap, _MUCH * (now.gpu_us or 0.0), floors):
        return
    kernel = dearest.step.kernel.name
    text = f"{left:.1f} us of the gap of {gap:.1f} us have no other cause; most goes to {dearest.bound}"
    yield Cause(OTHER, "algorithm", left, dearest.step.span, kernel, kernel, text)


#: Structure comes before tuning: what only deals out the same work differently is the largest cause where it is so much larger.
_TUNING = 0.8


def _rank(cause: Cause) -> float:
    return -cause.alone_us * (_TUNING if cause.tunes else 1.0)


def _together(causes: Iterable[Cause]) -> list[Cause]:
    """Causes of one kind in one function as one, at the place of the largest."""
    found: dict[tuple[str, str, str], list[Cause]] = {}
    for cause in causes:
        found.setdefault((cause.name, cause.category, cause.symbol), []).append(cause)
    merged = []
    for group in found.values():
        largest = max(group, key=lambda cause: cause.alone_us)
        merged.append(replace(largest, alone_us=sum(cause.alone_us for cause in group)))
    return merged


#: What kernels in other forms are tried for where nothing that is known holds a call back.
OTHER = "other kernels"

#: What is removed first: what changes the steps, then what changes a kernel, in the order of its facets.
ORDER = ("sync", "launches in a Python loop", "launches step by step", "unused result", "copies", "round trips",
          "needless product", "no tensor cores", *kernels.ORDER, OTHER)  # fmt: skip


def waterfall(causes: Sequence[Cause], gap: float) -> list[Cause]:
    """``causes`` with their parts of ``gap``: each takes what is left of it, up to what it takes alone."""
    parts, left = {}, max(0.0, gap)
    for cause in sorted(causes, key=lambda cause: (ORDER.index(cause.name), -cause.alone_us)):
        parts[id(cause)] = min(cause.alone_us, left)
        left -= parts[id(cause)]
    return [replace(cause, us=parts[id(cause)]) for cause in causes]


def _syncs(now: Estimate) -> Iterator[Cause]:
    for row in now.steps:
        if isinstance(row.step, HostSync):
            yield Cause("sync", "launch", row.total_gpu_us, row.step.span, row.step.function, evidence=row.step.what)


def _loops(workload: Workload, now: Estimate, device: Device) -> Iterator[Cause]:
    """Python loops whose launches could be one."""
    times = {id(row.step): row for row in now.steps}
    for step in workload.steps:
        if not isinstance(step, Repeat):
            continue
        rows = [times[id(inner)] for inner, _ in walk_steps(step.body) if id(inner) in times]
        spent = sum(row.total_gpu_us for row in rows)
        once = 0.0
        for row in rows:
            if isinstance(row.step, Launch) and row.step.grid:
                once += min(row.total_gpu_us, kernel_time(kernels.as_one(row.step, row.count), device).us)
            elif isinstance(row.step, TorchOp):
                once += max(row.gpu_us, row.total_gpu_us - (row.count - 1) * 1.2)
        first_row = next((row for row in rows if row.total_gpu_us > 0), None)
        if first_row is not None:
            text = f"{first_row.count:.0f} rounds of {spent / max(1.0, first_row.count):.1f} us"
            yield Cause("launches in a Python loop", "launch", spent - once, step.span, step.function, evidence=text)


def _round_trips(workload: Workload, now: Estimate, device: Device) -> Iterator[Cause]:
    """Steps that could share a kernel: what goes through memory between them, and their launches."""
    graph = workload.once(graph_of)
    times: dict[int, StepTime] = {id(row.step): row for row in now.steps}
    for node in graph.nodes:
        if _dead(graph, node) and id(node.step) in times:
            text = f"`{node.name}` writes {_size(sum(use.bytes for use in node.writes))} that nobody reads"
            us = times[id(node.step)].total_gpu_us
            yield Cause("unused result", "memory", us, node.step.span, node.step.function, evidence=text)
    for members in _chains(graph):
        spent = sum(times[id(node.step)].total_gpu_us for node in members if id(node.step) in times)
        fused = _fused_us(graph, members, times, device)
        moved = sum(times[id(node.step)].total_gpu_us for node in members if _moves(node) and id(node.step) in times)
        functions = {node.step.function for node in members}
        symbol = functions.pop() if len(functions) == 1 else workload.entry
        node = max((n for n in members if isinstance(n.step, TorchOp)), default=members[-1], key=lambda n: n.elements)
        name, category = "round trips", "fusion"
        if moved > 0.5 * (spent - fused):
            name, category = "copies", "memory"
        elif _repeats(members):
            name, category = "launches step by step", "launch"
        steps = tuple(member.step for member in members)
        yield Cause(
            name, category, spent - fused, node.step.span, symbol, evidence=_flow_text(graph, members), steps=steps
        )


def _flow_text(graph: Graph, members: list[Node]) -> str:
    """Which steps hang together, and through how much memory."""
    group = group_of(graph, members)
    outside = {use.value for use in group.writes}
    inner = sum(use.bytes for node in members for use in node.writes if use.value not in outside)
    names = list(dict.fromkeys(f"`{node.name}`" for node in members))
    shown = ", ".join(names[:5]) + (" ..." if len(names) > 5 else "")
    return f"{len(members)} steps ({shown}) pass {_size(inner)} on through memory"


def _size(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} bytes"


def _repeats(members: list[Node]) -> bool:
    """Whether most of the chain is one kernel again and again, each on what the one before made."""
    if any(node.serial > 1 and isinstance(node.step, Launch) for node in members):
        return True
    longest: dict[int, int] = {}
    makers = {use.value: node for node in members for use in node.writes}
    for node in members:
        before = [
            makers[use.value] for use in node.reads if use.value in makers and makers[use.value].index < node.index
        ]
        same = [longest[maker.index] for maker in before if maker.name == node.name and maker.index in longest]
        longest[node.index] = 1 + max(same, default=0)
    launches = [node for node in members if isinstance(node.step, Launch)]
    return max((longest[node.index] for node in launches), default=0) >= max(3, len(launches) / 2)


def _dead(graph: Graph, node: Node) -> bool:
    """Whether nobody reads what the node makes: a fill of what is written anyway."""
    values = {use.value for use in node.writes}
    return (
        isinstance(node.step, TorchOp) and bool(values)
        and not any(graph.readers.get(value) or value in graph.kept or _shows_through(graph, *value) for value in values)
    )  # fmt: skip


def _shows_through(graph: Graph, storage: int, version: int) -> bool:
    """Whether the step that writes the storage next leaves elements as they are: a part of it is written, a launch picks the elements by
    what it reads, or whether to write any."""
    writer = graph.makers.get((storage, version + 1))
    if writer is None:
        return False
    if isinstance(writer.step, TorchOp):
        return sum(use.bytes for use in writer.writes if use.value[0] == storage) < graph.whole.get(storage, 0.0)
    own = writer.step.accesses(storage, Store)
    picked = any(s.through or s.tested or s.offset is None or not s.offset.is_followed for s in own)
    return picked or any(_left_out(writer.step.kernel, base) for base in {s.base for s in own})


def _left_out(kernel: Kernel, base: str) -> bool:
    """Whether ``kernel`` stores to ``base`` in one arm alone of an ``if`` on what it loads, such as a label."""
    for branch in kernel.nodes(Branch):
        if isinstance(branch, Branch) and any(map(_by_data, branch.conditions)):
            arms = [replace(kernel, body=arm).walk(Store) for arm in branch.arms]
            storing = [any(isinstance(s, Store) and s.base == base for s, _ in arm) for arm in arms]
            if any(storing) and not all(storing):
                return True
    return False


def _by_data(bounds: Bounds | None) -> bool:
    """Whether values from memory may decide if ``bounds`` hold; those that were not followed are taken for such."""
    return bounds is None or any(loaded(side) for bound in bounds for side in bound)


def _moves(node: Node) -> bool:
    """Whether a step only moves, converts or fills."""
    return isinstance(node.step, TorchOp) and node.step.kind in ("copy", "transpose", "cast", "fill", "cat", "gather")


def _chains(graph: Graph) -> list[list[Node]]:
    """Nodes that hang together through values, library calls left out; at least two each."""
    home = {node.index: node.index for node in graph.nodes}
    members = {node.index: [node] for node in graph.nodes}
    for node in graph.nodes:
        for use in node.reads:
            maker = graph.makers.get(use.value)
            if maker is None or maker.index >= node.index:
                continue
            if _is_barrier(maker, node):
                continue
            a, b = home[maker.index], home[node.index]
            together = (*members[a], *members[b])
            products = sum(
                n.form in (PRODUCT, LIBRARY) or (isinstance(n.step, Launch) and bool(n.step.kernel.dots()))
                for n in together
            )
            if a == b or products > 2 or any(n.form == LIBRARY for n in together):
                continue
            members[b] = sorted([*members.pop(a), *members[b]], key=lambda n: n.index)
            for n in members[b]:
                home[n.index] = b
    return [group for group in members.values() if len(group) > 1 or group[0].serial > 1]


#: A value of this share of what its maker reads is the result of a reduction.
_REDUCED = 0.25


def _is_barrier(maker: Node, reader: Node) -> bool:
    """Whether ``reader`` needs what all, or several, programs of ``maker`` have made: no kernel can hand that on on chip."""
    taken = {use.value for use in reader.reads}
    handed = sum(one.bytes for one in maker.writes if one.value in taken)
    reduced = handed <= _REDUCED * sum(one.bytes for one in maker.reads)
    if maker.form in (COLUMN, TOTAL) and reduced:
        return True
    if isinstance(maker.step, Launch) and reduced:
        if any(access.kind == "atomic" for access in traffic(maker.step).accesses):
            return True
        if reader.form in (COLUMN, TOTAL):
            return True
        before, after = maker.step.programs, reader.step.programs if isinstance(reader.step, Launch) else None
        return before is not None and after is not None and before >= 2 * after
    return False


#: The part of its time that a step keeps at least when what it writes stays on chip.
_LEAST_KEPT = 0.3


def _fused_us(graph: Graph, members: list[Node], times: dict[int, StepTime], device: Device) -> float:
    """What the chain would take as one kernel: its dearest step, less what that need not move any more, and what the others
    read and write outside."""
    group = group_of(graph, members)

    def us(node: Node) -> float:
        row = times.get(id(node.step))
        return row.gpu_us if row is not None else 0.0

    # What is only moved is read where it lies.
    heavy = max(members, key=lambda node: (_is_product(node), not _moves(node), us(node)))
    # Rounds of a Python loop stay launches of their own: bytes are those of all of them.
    rounds = min(node.count for node in members)
    outside = sum(use.bytes for use in (*group.reads, *group.writes)) / rounds
    own = sum(use.bytes for use in (*heavy.reads, *heavy.writes)) / rounds
    written = {use.value for use in group.writes}
    # What the dearest step reads of the others' results it reads of their operands instead; what it wrote for them it keeps.
    dropped = sum(use.bytes for use in heavy.writes if use.value not in written) / rounds
    per_us = device.memory_bandwidth_gb_per_s * 1000
    kept = max(us(heavy) - dropped / per_us, _LEAST_KEPT * us(heavy), 1.0)
    return rounds * (kept + max(0.0, outside - (own - dropped)) / per_us)


def _is_product(node: Node) -> bool:
    """Whether ``node`` is a matrix product, of torch or in a kernel."""
    return node.form == PRODUCT or (isinstance(node.step, Launch) and bool(node.step.kernel.dots()))


def _in_kernels(now: Estimate, device: Device, wanted: Sequence[Witness]) -> Iterator[Cause]:
    nodes = [node for w in wanted for node in w.group.nodes]
    products = [w for w in wanted if any(_fills_tiles(node) for node in w.group.nodes)]
    flops = sum(float(n.step.flops or 0) for n in nodes if isinstance(n.step, TorchOp) and _fills_tiles(n))
    fair = sum(w.us for w in products)
    asked = any(node.form == PRODUCT for node in nodes)
    picked = _picked_runs(nodes)
    needed = _operations(nodes)
    rows = [row for row in now.steps if isinstance(row.step, Launch) and row.total_gpu_us > 0]
    total = sum(row.total_gpu_us for row in now.steps)
    by_kernel: dict[str, list[StepTime]] = {}
    for row in rows:
        assert isinstance(row.step, Launch)
        by_kernel.setdefault(row.step.kernel.name, []).append(row)
    for name, launches in by_kernel.items():
        spent = sum(row.total_gpu_us for row in launches)
        if spent < _LEAST_SHARE * total:
            continue
        removed: dict[str, float] = {}
        known: dict[object, tuple[kernels.Counterfactuals, dict[str, float]]] = {}
        for row in launches:
            launch = row.configuration or row.step
            assert isinstance(launch, Launch)
            key = (launch.grid, row.gpu_us, launch.kernel.span)
            if key not in known:
                share = _needed_share(launch, row.count, needed)
                runs = {base: picked.get(_kind(tensor), 0.0) for base, tensor in launch.arguments.items()}
                tried = kernels.Counterfactuals(launch, device, runs, share)
                full = tried.us()
                known[key] = tried, {facet: full - tried.us(facet) for facet in tried.facets}
            for facet, us in known[key][1].items():
                removed[facet] = removed.get(facet, 0.0) + us * row.count
        largest = max(launches, key=lambda row: row.total_gpu_us)
        launch = largest.configuration or largest.step
        assert isinstance(launch, Launch)
        tried, _ = known[launch.grid, largest.gpu_us, launch.kernel.span]
        for facet, us in removed.items():
            symbol, span = (name, launch.span) if facet != kernels.UNIT else _where_cast(launch)
            category = _CATEGORY[facet]
            if facet == kernels.IDLE and launch.kernel.dots():
                category = "algorithm"  # whole blocks are left out, not lanes
            if facet == kernels.REPEATED and us > 0 and read_by_many(tried.launch):
                category = "tiling"
            same_work = facet == kernels.EXCHANGE or (facet == kernels.UNIT and not launch.kernel.dots())
            said = kernels.evidence(launch, facet, tried)
            if facet == kernels.WORK:
                said = f"{kernels.operations(launch) * largest.count:.3g} operations, where {needed or 0.0:.3g} do"
            yield Cause(facet, category, us, span, symbol, name, said, reachable=same_work)
        if not launch.kernel.dots() and flops and kernels.arithmetic(launch) * largest.count >= 0.25 * flops:
            done = f"{kernels.arithmetic(launch):.3g} multiply-adds one by one, {flops:.3g} operations asked for as a product"
            yield Cause("no tensor cores", "algorithm", spent - fair, launch.span, name, name, done)
        if launch.kernel.dots() and wanted and not asked and not any(n.form in (KERNEL, LIBRARY) for n in nodes):
            text = "a matrix product where the reference has none"
            yield Cause("needless product", "algorithm", spent - 1.0, launch.span, name, name, text)


#: What a kernel may do for each operation of torch: its indices and masks, and functions that are one call.
_OWN_OPERATIONS = 8


def _needed_share(launch: Launch, count: float, needed: float | None) -> float:
    """The part of the operations of ``count`` runs of ``launch`` that is called for where torch's calls do ``needed``."""
    done = kernels.operations(launch) * count if needed is not None else 0.0
    return min(1.0, _OWN_OPERATIONS * needed / done) if needed is not None and done else 1.0


def _operations(nodes: Sequence[Node]) -> float | None:
    """Operations of torch's calls, elements that are only moved counted too, and of what searches or sorts each step; None where there
    are none, or some of them are not known."""
    total = 0.0
    for node in nodes:
        step, sizes = node.step, [use.tensor.numel for use in (*node.reads, *node.writes)]
        if not isinstance(step, TorchOp) or step.kind == "unknown" or step.flops is None or None in sizes or not sizes:
            return None
        each = math.log2(2 + max(size or 0 for size in sizes)) if step.kind in ("scan", "gather") else 1.0
        total += max(step.flops * node.count, node.elements) * node.serial * each
    return total or None


def _picked_runs(nodes: Iterable[Node]) -> dict[object, float]:
    """The least bytes side by side that calls pick through indices from tensors of each kind."""
    found: dict[object, float] = {}
    for node in nodes:
        if isinstance(node.step, TorchOp) and node.step.kind == "gather" and node.step.reads:
            table = node.step.reads[0]
            run = float(node.step.dims.get("run", 1) * (table.dtype or dt.FLOAT32).bytes)
            found[_kind(table)] = min(run, found.get(_kind(table), run))
    return found


def _kind(tensor: object) -> object:
    """By what a parameter is taken for the tensor of the reference: its shape and type."""
    return (tensor.shape, tensor.dtype) if isinstance(tensor, Tensor) else None


#: Extents from which on a product fills a tile of the tensor cores.
_TILE = 16


def _fills_tiles(node: Node) -> bool:
    """Whether ``node`` is a product that tensor cores are made for: none with a vector, none over a few coordinates."""
    extents = product_extents(node.step) if isinstance(node.step, TorchOp) else None
    return extents is not None and min(extents[1:]) >= _TILE


def _where_cast(launch: Launch) -> tuple[str, Span]:
    """The function and place that widens an operand of a dot, or the kernel."""
    for dot in launch.kernel.dots():
        for operand in (dot.a, dot.b):
            for cast in operand.casts:
                if cast.target.bits > cast.source.bits:
                    return cast.function or launch.kernel.name, cast.span
    return launch.kernel.name, launch.span
